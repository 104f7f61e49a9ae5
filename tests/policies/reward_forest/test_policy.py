"""The reward forest: bounded memory, growth that changes nothing, its stacking, and removed actions."""

import copy
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import assert_same_play, assert_same_state, copy_of_state

import stumpery as st
from stumpery.array_forest import forest_kernels as trees
from stumpery.compiling.pointers import pinned
from stumpery.drift.reward_drop_kernels import DROP_CONCEPT_START
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.reward_forest import capacity as reward_forest_sizes
from stumpery.policies.reward_forest.capacity import capacity_within, default_n_trees
from stumpery.policies.reward_forest.growth import with_capacity
from stumpery.policies.reward_forest.policy_kernels import CLOCK_NEXT_REBALANCING, is_stored
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers
from stumpery.policies.reward_forest.state import folded, stored_events
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE, EVENT_ACTION, FLOAT
from stumpery.types import Decision, State

N_TREES = 5
ACTIONS = ("a", "b", "c")


def stream(n, seed=1):
    """Numbers, a bit and a name, and what each of three actions pays."""
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {
            "x": rng.random(n),
            "y": rng.random(n),
            "bit": rng.integers(0, 2, n),
            "name": rng.choice(["red", "green", "blue", "grey"], n),
        }
    )
    best = (rows["x"].to_numpy() > 0.5).astype(int) + (rows["name"].to_numpy() == "red")
    return rows, (rng.random((n, 3)) < 0.2 + 0.6 * (best[:, None] == np.arange(3))).astype(float)


def endless(n):
    """Another one, without noise, in which every leaf has something to tell."""
    rows, _ = stream(n)
    best = (rows["x"].to_numpy() * 40).astype(int) % 3
    return rows, (best[:, None] == np.arange(3)).astype(float)


def new(**options):
    return st.RewardForest(**{"actions": ACTIONS, "n_trees": N_TREES, "seed": 3, **options})


@pytest.fixture(scope="module")
def problem():
    """A stream whose best policy is a tree."""
    problem = st.streams.TreeProblem(n_columns=6, n_names=2, depth=3, n_actions=3, missing=0.05)
    return next(problem.batches(seed=7, size=200_000))


def test_twenty_megabytes_are_enough_for_a_long_stream(problem):
    small, large = (new(actions=range(3), **options) for options in ({"max_bytes": 20_000_000}, {}))
    places = np.arange(len(problem.rewards))
    paid = [
        problem.rewards[places, policy.play(problem.contexts, problem.rewards).actions].mean()
        for policy in (small, large)
    ]
    best = problem.rewards[places, problem.expected.argmax(axis=1)].mean()
    assert small.n_bytes <= 20_000_000
    assert large.n_bytes <= large.max_bytes
    assert paid[0] > paid[1] - 0.02
    assert paid[1] > best - 0.1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_forest_at_its_maximum_capacity_follows_a_drift(seed):
    rows, rewards = stream(24_000, seed)
    rewards[8000:] = rewards[8000:, ::-1]  # what paid best now pays least
    policy = new(max_bytes=150_000)
    actions = policy.play(rows[:8000], rewards[:8000]).actions
    assert not policy._arena.may_grow
    assert len(policy._arena.state.ring.bytes) < 8000
    before = rewards[np.arange(5000, 8000), actions[5000:]].mean()
    later = policy.play(rows[8000:], rewards[8000:]).actions
    assert rewards[np.arange(21_000, 24_000), later[-3000:]].mean() > before - 0.02


def test_a_forest_at_its_maximum_capacity_follows_contexts_that_move_on():
    n = 100_000
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.arange(n) / 20_000 + rng.random(n), rng.random((n, 2))])
    best = ((rows[:, 1] * 3).astype(int) + np.floor(rows[:, 0] * 4).astype(int)) % 3
    rewards = (best[:, None] == np.arange(3)).astype(float)
    policy = new(max_bytes=1_000_000)
    actions = policy.play(rows, rewards).actions
    assert policy._arena.state.forest.counters[trees.COUNTER_LAST_COLLECTED] > 0
    assert rewards[np.arange(n), actions][-20_000:].mean() > 0.85


@pytest.mark.parametrize("has_drift", [False, True], ids=["no drift", "drift"])
def test_numbers_of_events_begin_anew_before_they_run_out(monkeypatch, tmp_path, has_drift):
    rows, rewards = stream(7000)
    if has_drift:
        rewards[1400:] = np.roll(rewards[1400:], 1, axis=1)
    straight, renumbered = (new(max_bytes=200_000) for _ in range(2))
    expected = straight.play(rows, rewards)
    monkeypatch.setattr(trees, "MAX_EVENT_NUMBER", 1500)
    actions = []
    for start in range(0, len(rows), 50):
        actions += renumbered.play(rows[start : start + 50], rewards[start : start + 50]).actions.tolist()
    assert (
        len(renumbered._arena.state.ring.bytes)
        <= renumbered._arena.state.forest.counters[trees.COUNTER_TIME]
        < len(rows)
    )
    assert actions == expected.actions.tolist()
    assert straight.n_drifts == renumbered.n_drifts == int(has_drift)
    st.save(renumbered, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    assert loaded.play(rows, rewards).actions.tolist() == straight.play(rows, rewards).actions.tolist()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_leaves_that_have_not_noticed_a_change_notice_it_after_events_are_numbered_anew(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    rows, places = rng.random((6000, 3)), np.arange(6000)
    is_away = (rng.random(6000) < 0.3) & ((places < 1300) | (places >= 4500))  # nobody comes there when it happens
    rows[:, 2] = np.where(is_away, 5.0, rows[:, 2] / 2)
    best = ((rows[:, 0] * 3).astype(int) + is_away + (places >= 1400)) % 3
    rewards = (rng.random((6000, 3)) < 0.1 + 0.8 * (best[:, None] == np.arange(3))).astype(float)
    straight, renumbered = (new(max_bytes=200_000) for _ in range(2))
    expected = straight.play(rows, rewards).actions.tolist()
    monkeypatch.setattr(trees, "MAX_EVENT_NUMBER", 4000)
    actual, n_waiting = [], 0
    for start in range(0, 6000, 50):
        if renumbered._arena is not None and renumbered._arena.state.forest.counters[trees.COUNTER_TIME] >= 4000:
            newest = renumbered._arena.state.forest.leaves[: renumbered.n_leaves, trees.LEAF_NEWEST]
            n_waiting += (newest < renumbered._arena.state.drift[DROP_CONCEPT_START]).sum()
        actual += renumbered.play(rows[start : start + 50], rewards[start : start + 50]).actions.tolist()
    assert n_waiting > 0
    assert actual == expected


def widening(n, seed=1):
    """A stream whose columns turn out to be wider and wider: bits, small and large numbers, fractions, and gaps."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (n, 5)).astype(float)
    rows[n // 4 :, 1] *= 40
    rows[n // 2 :, 2] *= -4000
    rows[n // 2 :, 3] *= 40_000
    rows[3 * n // 4 :, 1:3] += 0.25
    rows[rng.random((n, 5)) < 0.02] = np.nan
    best = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0)
    return rows, (rng.random((n, 3)) < 0.2 + 0.6 * (best[:, None] == np.arange(3))).astype(float)


def test_how_many_bytes_columns_take_changes_nothing(monkeypatch):
    rows, rewards = widening(4000)
    rows[0] = 2.0  # no column of bits, which take a byte always
    narrow = new()
    played = narrow.play(rows, rewards)
    monkeypatch.setattr("stumpery.policies.reward_forest.policy.BYTE", FLOAT)
    wide = new()
    expected = wide.play(rows, rewards)
    assert narrow._arena.state.ring.widths.tolist() == [BYTE, FLOAT, FLOAT, FLOAT, BYTE]
    assert wide._arena.state.ring.widths.tolist() == [FLOAT] * 5
    assert_same_play(played, expected)


@pytest.mark.parametrize("max_bytes", [130_000, 200_000, 1_000_000])
def test_columns_that_turn_out_to_be_wide_stay_within_the_bytes(max_bytes, tmp_path):
    rows, rewards = widening(8000)
    whole, parts = (new(max_bytes=max_bytes) for _ in range(2))
    expected = whole.play(rows, rewards).actions.tolist()
    actual = []
    for start in range(0, len(rows), 250):
        actual += parts.play(rows[start : start + 250], rewards[start : start + 250]).actions.tolist()
        assert parts.n_bytes <= max_bytes
        st.save(parts, tmp_path / "policy.safetensors")
        parts = st.load(tmp_path / "policy.safetensors")
    assert actual == expected
    remembered = stored_events(parts._arena.state)
    latest = np.where(np.isnan(rows), -np.inf, rows)[-len(remembered) :].astype(np.float32)
    assert np.array_equal(ring.event_rows(parts._arena.state.ring, remembered), latest)


@pytest.mark.parametrize(("n_trees", "max_bytes", "n_columns"), [(None, 1_000_000, 8), (20, 200_000, 5)])
def test_columns_that_are_wide_only_after_memory_was_shared_anew_stay_within_the_bytes(n_trees, max_bytes, n_columns):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (16_000, n_columns)).astype(float)
    rewards = rng.integers(0, 2, (16_000, 3)).astype(float)
    policy = new(n_trees=n_trees, max_bytes=max_bytes)
    policy.play(rows, rewards)
    n_before = len(policy._arena.state.ring.bytes)
    assert n_before > capacity_within(max_bytes, policy._arena.n_trees, 3, 0, policy._arena.state.ring.widths).n_events
    for start in range(0, 16_000, 1000):
        policy.play(rows[start : start + 1000] + 0.5, rewards[start : start + 1000])
        assert policy.n_bytes <= max_bytes
    assert len(policy._arena.state.ring.bytes) < n_before


def test_a_column_that_becomes_wider_when_memory_is_due_to_be_shared_anew_keeps_nothing_from_it():
    found = []
    for value in (1.0, 300.0):
        policy, half = new(n_trees=20, max_bytes=200_000), np.full((20_000, 3), 0.5)
        policy.play(np.zeros((1, 2)), half[:1])
        due = int(policy._arena.state.clock[CLOCK_NEXT_REBALANCING])
        assert due > 0
        policy.play(np.zeros((due - 1, 2)), half[: due - 1])
        policy.play(np.full((1, 2), value), half[:1])
        policy.play(np.full((1, 2), 300.0), half[:1])
        policy.play(np.zeros((9000, 2)), half[:9000])
        found.append(len(policy._arena.state.ring.bytes))
    assert found[0] == found[1]


def test_what_nodes_do_not_need_goes_to_events(tmp_path):
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (12_000, 20)).astype(float)
    rows[:, 7] = np.nan  # a column that nobody has seen stays one
    best = rows[:, 0].astype(int)
    rewards = (rng.random((12_000, 3)) < 0.2 + 0.3 * (best[:, None] == np.arange(3))).astype(float)
    whole, parts = (new(max_bytes=400_000) for _ in range(2))
    expected = whole.play(rows, rewards).actions.tolist()
    actual, sizes = [], []
    for start in range(0, len(rows), 400):
        actual += parts.play(rows[start : start + 400], rewards[start : start + 400]).actions.tolist()
        assert parts.n_bytes <= 400_000
        sizes.append((len(parts._arena.state.ring.bytes), len(parts._arena.state.forest.nodes)))
        st.save(parts, tmp_path / "policy.safetensors")
        parts = st.load(tmp_path / "policy.safetensors")
        known = parts.explain().rows
        remembered = stored_events(parts._arena.state)
        assert sum(row["n"] for row in known) == len(remembered) <= sizes[-1][0]
        numbers = start + 400 - len(remembered) + np.arange(len(remembered))
        expected_rows = np.where(np.isnan(rows[numbers]), -np.inf, rows[numbers])
        assert np.array_equal(ring.event_rows(parts._arena.state.ring, remembered), expected_rows)
    assert actual == expected
    assert sizes[-1][0] > 1.2 * sizes[5][0]
    assert sizes[-1][1] < sizes[5][1]
    assert len(remembered) == sizes[-1][0]
    parts.add_action("d")
    parts.remove_action("a")
    parts.play(rows, rewards)
    assert parts.n_bytes <= 400_000


@kernel
def n_kept_of(models, statistics, action, concept_start, n):
    """How many of `n` events like this would be stored."""
    found = 0
    for number in range(n):
        found += is_stored(models, statistics, action, concept_start, splitmix64(np.uint64(number)))
    return found


@pytest.mark.kernels
def test_of_what_seemed_best_fewer_are_remembered_when_trees_cannot_grow():
    policy = new(max_bytes=60_000)
    rows, rewards = stream(60 if INTERPRETED else 2000)
    policy.play(rows, rewards)
    counters, n_places = policy._arena.state.forest.counters, len(policy._arena.state.ring.bytes)
    statistics = np.zeros((2, 3))
    statistics[rules.ACTION_SCORE] = 0.2, 0.8, 0.8
    n_nodes, n = len(policy._arena.state.forest.nodes), 1000

    def kept(action, laps, n_free, concept_start=0):
        counters[trees.COUNTER_TIME], counters[trees.COUNTER_NODES] = laps * n_places, n_nodes - n_free
        return n_kept_of(pinned(policy._arena.state), statistics, action, concept_start, n)

    for laps in (0, 1, 2, 3, 4, 50):
        assert kept(0, laps, n_free=1) == n
        assert kept(1, laps, n_free=2) == n
        assert kept(1, laps, n_free=1) == kept(2, laps, n_free=1)
        assert kept(1, laps, n_free=1) == pytest.approx(n / min(max(laps, 1), 4), rel=0.1)
    assert kept(1, 9, n_free=0, concept_start=8 * n_places) == n


def test_a_forest_that_keeps_fewer_events_is_saved_and_goes_on(tmp_path):
    rows, rewards = endless(30_000)
    policy = new(max_bytes=60_000)
    policy.play(rows[:20_000], rewards[:20_000])
    assert policy._arena.state.forest.counters[trees.COUNTER_TIME] < 0.9 * 20_000
    st.save(policy, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    played, expected = (each.play(rows[20_000:], rewards[20_000:]) for each in (loaded, policy))
    assert played.actions.tolist() == expected.actions.tolist()
    assert np.array_equal(stored_events(loaded._arena.state), stored_events(policy._arena.state))


@pytest.fixture
def recycled():
    """A forest in which splits were undone, whose nodes others have or nobody."""
    rows, rewards = endless(30_000)
    policy = new(max_bytes=100_000)
    policy.play(rows[:10_000], rewards[:10_000])
    for start in range(10_000, len(rows), 10):
        if policy._arena.state.forest.counters[trees.COUNTER_FREE_PAIR] != trees.NO_INDEX:
            break
        policy.play(rows[start : start + 10], rewards[start : start + 10])
    forest = policy._arena.state.forest
    n_nodes = forest.counters[trees.COUNTER_NODES]
    assert forest.counters[trees.COUNTER_FREE_PAIR] != trees.NO_INDEX
    assert (
        forest.nodes[:n_nodes, trees.NODE_CHILD] < np.arange(n_nodes)
    ).any()  # else children come after their parents
    return policy


def test_a_forest_with_pruned_splits_is_saved_and_goes_on(recycled, tmp_path):
    rows, rewards = stream(4000, seed=2)
    st.save(recycled, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    played, expected = (policy.play(rows, rewards) for policy in (loaded, recycled))
    assert_same_play(played, expected)
    others = recycled.state().arrays
    assert all(array.tobytes() == others[name].tobytes() for name, array in loaded.state().arrays.items())


def test_nodes_that_go_round_in_a_circle_which_no_root_leads_to_are_refused(recycled):
    options, arrays = copy.deepcopy(recycled.state())
    children = arrays["forest.nodes"][:, trees.NODE_CHILD]
    counters, free = arrays["forest.counters"], set()
    pair = counters[trees.COUNTER_FREE_PAIR]
    while pair != trees.NO_INDEX:
        free |= {pair, pair + 1}
        pair = children[pair]
    inner = [node for node in range(counters[trees.COUNTER_NODES]) if children[node] != node and node not in free]
    node, last = next(
        (node, last)
        for node in inner
        for child in inner
        for last in inner
        if child - children[node] in (0, 1) and last - children[child] in (0, 1)
    )
    children[[node, last]] = children[[last, node]]  # still each but the roots is below one other
    with pytest.raises(ValueError, match=r"^corrupt file: [^\n]+$"):
        st.RewardForest.from_state(State(options, arrays))


@pytest.mark.parametrize("max_bytes", [200_000, 1_000_000, 5_000_000])
def test_memory_stays_within_its_bytes_at_every_size(max_bytes):
    policy = new(max_bytes=max_bytes)
    rows, rewards = stream(4000)
    for start in range(0, 4000, 1000):
        policy.play(rows[start : start + 1000], rewards[start : start + 1000])
        assert policy.n_bytes <= max_bytes


def least_bytes(n_trees, n_actions, n_columns):
    """The smallest `max_bytes` that is accepted."""
    low, high = 0, 2**30
    while high - low > 1:
        middle = (low + high) // 2
        try:
            capacity_within(middle, n_trees, n_actions, 0, np.ones(n_columns, np.uint8))
            high = middle
        except ValueError:
            low = middle
    return high


@pytest.mark.parametrize("n_columns", [1, 2, 13, 14, 15, 200])
@pytest.mark.parametrize("n_actions", [1, 10, 100])
def test_a_full_forest_stays_within_its_bytes_however_few(n_columns, n_actions):
    n_trees = default_n_trees(n_columns)
    least = least_bytes(n_trees, n_actions, n_columns)
    for max_bytes in (least, int(1.3 * least), 3 * least):
        schema = st.Schema.of({f"x{column}": "numerical" for column in range(n_columns)})
        policy = st.RewardForest(actions=range(n_actions), schema=schema, max_bytes=max_bytes)
        policy._arena.state = with_capacity(policy._arena.state, policy._arena._limit)
        assert policy.n_bytes <= max_bytes


@pytest.mark.parametrize("n_trees", [5, 48])
@pytest.mark.parametrize("n_columns", [2, 5, 54])
def test_what_is_enough_for_some_actions_is_enough_for_fewer(n_trees, n_columns):
    least = [least_bytes(n_trees, n_actions, n_columns) for n_actions in range(1, 60)]
    assert least == sorted(least)
    for n_actions, enough in enumerate(least, start=1):
        for share in np.geomspace(1.0, 8.0, 40):  # more is enough as well
            capacity_within(int(enough * share), n_trees, n_actions, 0, np.ones(n_columns, np.uint8))


def test_a_refused_first_context_leaves_the_forest_as_it_was():
    policy = new(max_bytes=20_000, n_trees=None)
    before = policy.n_leaves
    with pytest.raises(ValueError, match=r"^max_bytes is 20000; 41 trees over 30 columns"):
        policy.decide(np.ones(30))
    assert policy.n_leaves == before


@pytest.fixture
def full():
    """A forest that holds all that it may and has forgotten events; with one action less, more would fit."""
    policy = new(max_bytes=300_000)
    sizes = [capacity_within(300_000, N_TREES, n_actions, 0, np.ones(4, np.uint8)) for n_actions in (2, 3)]
    assert sizes[0].n_slots > sizes[1].n_slots
    policy.play(*stream(12_000))
    assert not policy._arena.may_grow
    assert policy._arena.state.forest.counters[trees.COUNTER_TIME] > len(policy._arena.state.ring.bytes)
    assert policy._arena.state.clock[CLOCK_NEXT_REBALANCING] == 0.0  # memory has been shared anew
    return policy


def test_a_full_forest_goes_on_without_an_action(full, tmp_path):
    full.remove_action("c")
    st.save(full, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    ring = len(full._arena.state.ring.bytes)
    rows, rewards = stream(2000, seed=2)
    played, expected = (policy.play(rows, rewards[:, :2]) for policy in (loaded, full))
    assert played.probabilities.tobytes() == expected.probabilities.tobytes()
    assert len(full._arena.state.ring.bytes) == ring  # where an event lies follows from the ring's size
    assert full.n_bytes <= full.max_bytes


def test_a_full_forest_takes_actions_while_it_can_still_be_loaded(full, tmp_path):
    n_added = 0
    with pytest.raises(st.CapacityError, match=r"^max_bytes is 300000; 5 trees [^\n]+$"):
        for n_added in range(100):
            full.add_action(n_added)
    assert len(full.actions) == 3 + n_added > 3
    st.save(full, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    rows, rewards = stream(500, seed=2)
    rewards = np.pad(rewards, ((0, 0), (0, n_added)))
    assert np.array_equal(*(policy.play(rows, rewards).probabilities for policy in (full, loaded)))


@pytest.fixture(scope="module")
def grown_by_steps():
    """The same stream, with memory for it all from the start and with memory that grows many times."""
    rows, rewards = stream(3000)
    before, found = reward_forest_sizes.INITIAL_EVENTS, {}
    try:
        for first in (16, 200, 2**20):
            reward_forest_sizes.INITIAL_EVENTS = first
            policy = new(max_bytes=30_000_000)
            found[first] = (policy, policy.play(rows, rewards))
    finally:
        reward_forest_sizes.INITIAL_EVENTS = before
    return found


def test_growth_is_logged(caplog):
    with caplog.at_level("DEBUG", logger="stumpery"):
        new().play(*stream(5000))
    said = [each.getMessage() for each in caplog.records if each.name == "stumpery.policies.reward_forest.growth"]
    assert 0 < len(said) < 50  # not per event
    assert all(each.startswith("memory of the reward forest: RewardForestCapacity(n_events=") for each in said)


@pytest.mark.parametrize("first", [16, 200])
def test_growing_changes_no_decision(grown_by_steps, first):
    policy, played = grown_by_steps[first]
    other, expected = grown_by_steps[2**20]
    assert policy.n_bytes < other.n_bytes
    assert_same_play(played, expected)
    assert policy.n_leaves == other.n_leaves > N_TREES


@pytest.mark.parametrize("first", [16, 200, 2**20])
def test_a_forest_that_has_grown_is_saved_and_goes_on(grown_by_steps, first, tmp_path):
    policy, _ = grown_by_steps[first]
    rows, rewards = stream(400, seed=2)
    st.save(policy, tmp_path / "policy.safetensors")
    loaded, straight = (st.load(tmp_path / "policy.safetensors") for _ in range(2))
    assert loaded.n_bytes == policy.n_bytes
    played, expected = loaded.play(rows, rewards), straight.play(rows, rewards)
    assert played.actions.tolist() == expected.actions.tolist()


def test_weights_of_the_scorers_are_shares(grown_by_steps):
    assert sum(new().weights.values()) == 1.0
    assert new().weights["fast linear"] == 0.0
    policy = new()
    rows, rewards = stream(600)
    for start in range(0, 600, 50):
        policy.play(rows[start : start + 50], rewards[start : start + 50])
        shares = list(policy.weights.values())
        assert min(shares) >= 0.0
        assert sum(shares) == pytest.approx(1.0)
    assert shares != list(new().weights.values())


@pytest.mark.kernels
def test_events_of_a_removed_action_are_of_no_action():
    policy = new()
    n = 60 if INTERPRETED else 900
    rows, rewards = stream(n)
    played = policy.play(rows, rewards)
    policy.remove_action("b")
    kept = policy._arena.state.ring.floats[:n, EVENT_ACTION]
    expected = np.array([0, -1, 1])[played.actions]
    assert kept.tolist() == expected.tolist()
    assert policy._arena.state.forest.stats.shape[2] == 2
    again = policy.play(rows, rewards[:, [0, 2]])
    assert set(again.actions) <= {0, 1}
    assert (policy._arena.state.forest.stats[: policy.n_leaves, trees.STAT_UNCERTAINTY] > 0).all()


def test_statistics_of_other_actions_survive_a_removal():
    policy = new()
    rows, rewards = stream(900)
    policy.play(rows, rewards)
    context = rows.row(0, named=True)
    decision = Decision("a", 0.5, context)
    before = {row["action"]: row["score"] for row in policy.explain(decision).rows}
    policy.remove_action("b")
    after = {row["action"]: row["score"] for row in policy.explain(decision).rows}
    assert after == pytest.approx({action: before[action] for action in "ac"})
    policy.add_action("b")
    scores = {row["action"]: row["score"] for row in policy.explain(decision).rows}
    assert scores["b"] != before["b"]


def test_a_column_of_something_else_beside_those_of_the_schema_is_no_matter():
    policy = new()
    policy.decide({"x": 1.0, "name": None})  # nothing is known of names yet
    frame = pd.DataFrame({"x": [0.5], "name": ["red"], "day": pd.to_datetime(["2026-01-01"])})
    assert len(policy.decide_many(frame)) == 1


def test_a_late_name_in_a_row_that_is_refused_changes_nothing():
    policy = new()
    policy.learn(policy.decide({"x": 1.0, "name": None}), 1.0)
    before = copy_of_state(policy)
    for contexts in ([{"x": "wide", "name": "red"}], [{"x": 0.5, "name": "red"}, {"x": "wide"}]):
        with pytest.raises(ValueError, match="column 'x'"):
            policy.decide_many(contexts)
        assert_same_state(policy, before)


def test_numbered_categories_are_names():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 5, 300)
    frame = pd.DataFrame({"store": pd.Categorical(codes), "x": rng.random(300)})
    policy = new(actions=["a", "b"])
    played = policy.play(frame, np.column_stack([codes > 2, codes <= 2]).astype(float))
    assert len(played.actions) == 300
    assert policy.schema.kinds == {"store": "categorical", "x": "numerical"}


def test_names_beyond_all_codes_share_one():
    policy = new(actions=["a", "b"])
    rows = [{"name": f"name {place % 150}", "x": float(place % 7)} for place in range(600)]
    policy.play(rows, np.random.default_rng(1).random((600, 2)))
    assert len(policy.schema.columns[0].categories) < trees.MAX_CODES
    assert policy.decide({"name": "name 149", "x": 1.0}).action in ("a", "b")


def test_values_of_any_size_are_ordinary():
    policy = new()
    odd = [{"x": value, "n": "a"} for value in (0.0, 1e30, -1e30, 1e300, float("inf"), float("-inf"), 0.5, None)]
    rewards = np.random.default_rng(1).random((400, 3))
    played = policy.play(odd * 50, rewards)
    assert ((played.probabilities > 0) & (played.probabilities <= 1)).all()
    assert np.isfinite(policy._arena.state.weights).all()


def test_rewards_of_either_sign_are_learned():
    policy = new(reward_range=(-1.0, 1.0))
    rows, rewards = stream(3000)
    played = policy.play(rows, 2 * rewards - 1)
    paid = rewards[np.arange(3000), played.actions]
    assert paid[-1000:].mean() > 0.6


def test_a_forest_that_has_grown_after_a_copy_is_the_same():
    rows, rewards = stream(6000)
    policy = new()
    policy.play(rows[:600], rewards[:600])
    other = copy.deepcopy(policy)
    assert np.array_equal(policy.play(rows, rewards).actions, other.play(rows, rewards).actions)


def test_a_column_of_numbers_stays_one_when_its_numbers_are_forgotten():
    policy = new(max_bytes=200_000, schema=st.Schema.of({"x": "numerical", "z": "numerical"}))
    policy.play(np.ones((10, 2)), np.ones((10, 3)))
    n = 2 * policy._arena._limit.n_events
    policy.play(np.column_stack([np.ones(n), np.full(n, np.nan)]), np.ones((n, 3)))
    for each in (policy, copy.deepcopy(policy)):
        with pytest.raises(ValueError, match="column 'z' is 'red'; it must be a number"):
            each.decide({"x": 1.0, "z": "red"})


def test_explaining_a_first_number_does_not_make_its_column_one_of_numbers():
    policy = new()
    policy.decide({"x": 1.0, "z": None})
    policy.explain(Decision("a", 0.5, {"x": 1.0, "z": 3.0}))
    policy.decide({"x": 1.0, "z": "red"})
    assert policy.schema.kinds == {"x": "numerical", "z": "categorical"}


def test_a_schema_with_the_default_number_of_categories_is_taken():
    policy = new(schema=st.Schema.of({"name": "categorical"}))
    for place in range(80):
        policy.learn(policy.decide({"name": f"name {place}"}), 1.0)
    assert len(policy.schema.columns[0].categories) == 62


def test_of_a_schema_with_too_many_names_the_first_have_codes():
    rows = [{"name": f"name {place}"} for place in range(70)]
    policy = new(schema=st.Schema.infer(rows))
    assert policy.schema.columns[0].categories == tuple(row["name"] for row in rows[:62])


def test_counts_that_are_estimates_are_shown_as_such():
    few, many = new(actions=["a"]), new(actions=["a"])
    few.play([{"x": 1.0}] * 500, np.ones((500, 1)))
    many.play([{"x": 1.0}] * 5000, np.ones((5000, 1)))
    assert few.to_text() == "500 events, 'a' earns 0.999 (500 plays)"
    assert re.fullmatch(r"about [45],\d{3} events, 'a' earns \S+ \(about [45],\d{3} plays\)", many.to_text())


def test_any_names_can_be_drawn(tmp_path):
    names = ["price in $", "a_{b}$ \\frac", "日本語", "<b>"]
    rows = [{"$x^{": place % 10, "d$_": names[place % 4]} for place in range(400)]
    policy = new(actions=["$1 & $", "b$\\bad{"])
    st.play(policy, contexts=rows, rewards=[policy.actions[place % 4 == 0] for place in range(400)])
    assert policy.n_leaves > N_TREES
    policy.draw().figure.canvas.draw()


@pytest.mark.parametrize("probability", [0.3, 0.7])
def test_a_mean_stays_where_it_belongs_however_many_plays_there_are(probability):
    policy, rng = st.RewardForest(actions=[0], n_trees=1, max_bytes=2_000_000, seed=5), np.random.default_rng(5)
    means = []
    for _ in range(8):
        policy.play(np.full((250_000, 1), 3.0), (rng.random((250_000, 1)) < probability).astype(float))
        means.append(policy.leaves(0)[0]["mean"])
    assert 0.9 * 2**20 < policy.leaves(0)[0]["n"] < 1.1 * 2**20
    assert means == pytest.approx([probability] * 8, abs=0.01)
    assert np.mean(means) == pytest.approx(probability, abs=0.002)


def test_a_forest_of_few_actions_grows_to_a_thousand(tmp_path):
    rng = np.random.default_rng(4)
    rows = [{"x": round(float(x), 2), "y": "ab"[place % 2]} for place, x in enumerate(rng.random(200))]
    policy = st.RewardForest(actions=range(5), n_trees=4, max_bytes=64_000_000, seed=3)
    policy.play(rows, rng.random((200, 5)))
    n_slots, n_features = len(policy._arena.state.quadratic), len(policy._arena.state.ridge.weights)
    policy.add_actions(range(5, 1000))
    assert len(policy._arena.state.quadratic) < n_slots
    assert 2 < len(policy._arena.state.ridge.weights) < n_features
    assert policy.n_bytes <= 2 * policy.max_bytes
    policy.play(rows, rng.random((200, 1000)))
    st.save(policy, tmp_path / "policy.safetensors")
    assert st.load(tmp_path / "policy.safetensors").decide(rows[0]) == policy.decide(rows[0])


def test_folded_slots_share_the_mean_of_their_weights():
    linear = scorers.new_linear(8, 2)
    linear[1, scorers.SLOT_WEIGHT], linear[1, scorers.SLOT_HISTORY] = 0.5, 3.0
    linear[5, scorers.SLOT_WEIGHT], linear[5, scorers.SLOT_HISTORY] = -0.5, 1.0
    linear[6, scorers.SLOT_WEIGHT], linear[6, scorers.SLOT_HISTORY] = 0.25, 4096.0
    half = folded(linear, 4)
    assert half[:, scorers.SLOT_WEIGHT].tolist() == [[0.0] * 2, [0.25] * 2, [0.25] * 2, [0.0] * 2]
    assert half[:, scorers.SLOT_HISTORY].tolist() == [[0.0] * 2, [4.0] * 2, [4096.0] * 2, [0.0] * 2]
    assert folded(linear, 8) is linear
