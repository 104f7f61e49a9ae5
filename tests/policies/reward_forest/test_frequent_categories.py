"""Categories without a code: kernels against slow twins, and forests whose columns have thousands of categories."""

import numpy as np
import polars as pl
import pytest
from tests.reference.frequent_categories import CategoryBucket, PairWeights, pair_slots
from tests.support import assert_same_play, assert_same_state, copy_of_state, refused, restored

import stumpery as st
from stumpery.array_forest.forest_kernels import CATEGORICAL, NO_INDEX, NUMERICAL
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import frequent_categories_kernels as categories
from stumpery.policies.reward_forest.scorers.frequent_categories import new_category_table
from stumpery.policies.reward_forest.scorers.scorers_kernels import SLOT_HISTORY, SLOT_WEIGHT, new_linear
from stumpery.types import State

N_SLOTS, N_ACTIONS, ACTION, RATE_MULTIPLIER = 64, 3, 1, 2.0
N_EVENTS = 200 if INTERPRETED else 3000
NEVER = np.uint64(1)  # a key by which nothing is halved


@kernel
def count_one(table, category, key):
    """Count an event of a category, in place."""
    return categories.count_category(table, category, key)


@kernel
def take(encoded, kinds, values, hashes):
    """A row without hashes, and its hashes, in place."""
    return categories.take_hashes(encoded, kinds, values, hashes)


@kernel
def codes_of(table, linear, hashes, codes, pair_codes, slots):
    """Append codes and pairs of frequent categories, in place; return both numbers."""
    n_codes = categories.add_codes(table, hashes, codes, pair_codes, 3, 1000)
    return n_codes, categories.add_pairs(linear, pair_codes, 3, n_codes, slots, 0)


@kernel
def step(linear, slots, n_plain, rates, error):
    """One step of the weights, in place."""
    categories.averaging_step(linear, slots, n_plain, slots.shape[0], rates, ACTION, error, RATE_MULTIPLIER)


@kernel
def learn_categories(table, hashes, linear, fast_linear, residual, key):
    """Count the categories of an event, in place."""
    categories.learn(table, hashes, linear, fast_linear, residual, 0, key)


def hash_of(name, bucket, n_buckets):
    """A hash in a bucket."""
    return np.uint64(((name * n_buckets + bucket) << 20) + 1)


@pytest.mark.kernels
def test_a_table_has_the_entries_of_its_slow_twin():
    rng = np.random.default_rng(3)
    table, twins = new_category_table(16), [CategoryBucket(), CategoryBucket()]
    n_replaced = 0
    for event in range(N_EVENTS):
        name, bucket = int(rng.zipf(1.3)) % 5000 + event // 500, int(rng.integers(2))
        key = np.uint64(rng.integers(256))
        is_full = None not in twins[bucket].names
        place = twins[bucket].count(name, int(key) % 64 == 0)
        found = count_one(table, hash_of(name, bucket, 2), key)
        assert found == (NO_INDEX if place is None else 8 * bucket + place)
        n_replaced += is_full and place is not None
    for bucket, twin in enumerate(twins):
        assert [0 if each is None else hash_of(each, bucket, 2) for each in twin.names] == table.hashes[bucket].tolist()
        assert twin.counts == table.counts[bucket].tolist()
    assert n_replaced > 5


@pytest.mark.kernels
def test_pairs_and_steps_equal_their_slow_twins():
    rng = np.random.default_rng(4)
    table, linear, twin = new_category_table(8), new_linear(N_SLOTS, N_ACTIONS), PairWeights()
    names = [hash_of(name, 0, 1) | np.uint64(name << 40) for name in range(1, 10)]
    for name in names[:-1]:
        count_one(table, name, NEVER)
    for _ in range(N_EVENTS // 10):
        chosen = rng.choice(9, 2, replace=False)
        hashes = np.array([0, *(names[each] for each in chosen)], np.uint64)
        codes, pair_codes, slots = np.arange(9, dtype=np.int32), np.zeros(9, np.int32), np.zeros(60, np.int32)
        n_codes, n_pairs = codes_of(table, linear, hashes, codes, pair_codes, slots)
        known = [int(each) for each in chosen if each < 8]
        assert codes[3:n_codes].tolist() == [1000 + each for each in known]
        expected = pair_slots([0, 1, 2], [int(names[each]) >> 33 for each in known], N_SLOTS)
        assert slots[:n_pairs].tolist() == expected
        plain = rng.choice(N_SLOTS, 3).tolist()
        error = float(rng.normal())
        step(linear, np.array(plain + expected, np.int32), 3, np.zeros(60), error)
        twin.learn(plain, expected, error, RATE_MULTIPLIER, N_SLOTS)
    weights = [twin.weights[slot] for slot in range(N_SLOTS)]
    assert linear[:, SLOT_WEIGHT, ACTION] == pytest.approx(weights, rel=1e-3, abs=1e-4)
    assert linear[:, SLOT_HISTORY, ACTION].tolist() == [twin.counts[slot] for slot in range(N_SLOTS)]
    assert not linear[:, :, [0, 2]].any()


@pytest.mark.kernels
def test_hashes_are_taken_out_of_categorical_columns_alone():
    encoded, kinds = np.array([99.0, 7.0, 1e9, 1e9]), np.array([NUMERICAL, *3 * [CATEGORICAL]], np.uint8)
    values, hashes = np.zeros(4), np.zeros(4, np.uint64)
    assert take(encoded, kinds, values, hashes) == 2
    assert values.tolist() == [99.0, 7.0, 63.0, 63.0]
    assert hashes[0] == hashes[1] == 0
    assert hashes[2] != hashes[3]  # each column has its own
    assert (hashes[2:] % 2 == 1).all()


@pytest.mark.kernels
def test_weights_of_a_new_entry_start_again():
    table, hashes = new_category_table(8), np.array([hash_of(5, 0, 1)])
    linears = [np.ones((8, 2, N_ACTIONS), np.float32) for _ in range(3)]
    learn_categories(table, hashes, *linears, NEVER)
    for linear in linears:
        assert (linear[0] == [[0.0] * N_ACTIONS, [8.0] * N_ACTIONS]).all()
        assert (linear[1:] == 1.0).all()
    linears[0][0] = 3.0
    learn_categories(table, hashes, *linears, NEVER)
    assert (linears[0][0] == 3.0).all()


def new(**options):
    return st.RewardForest(**{"actions": ["a", "b", "c"], "n_trees": 5, "seed": 3, **options})


def users(n, n_users, seed=1, first=0):
    """Contexts of many users, each of whom likes one of three actions."""
    rng = np.random.default_rng(seed)
    ids = first + rng.integers(0, n_users, n)
    rows = pl.DataFrame({"user": [f"user {each}" for each in ids], "x": rng.random(n)})
    return rows, (rng.random((n, 3)) < np.where(ids[:, None] % 3 == np.arange(3), 0.9, 0.1)).astype(float)


def earned(policy, rows, rewards):
    chosen = policy.play(rows, rewards).actions
    return rewards[np.arange(len(chosen)), chosen]


def test_hundreds_of_users_are_each_known():
    assert earned(new(), *users(30_000, 400))[-5000:].mean() > 0.8  # one for all who have no code: 0.45


def test_decisions_one_by_one_are_those_of_play():
    rows, rewards = users(1500, 150)
    played, policy = new(), new()
    chosen = played.play(rows, rewards)
    for index, row in enumerate(rows.to_dicts()):
        decision = policy.decide(row)
        assert (policy.actions.index(decision.action), decision.probability) == (
            chosen.actions[index],
            chosen.probabilities[index],
        )
        policy.learn(decision, rewards[index, chosen.actions[index]])
    assert_same_state(copy_of_state(policy), copy_of_state(played))


def test_new_categories_take_no_memory_and_old_ones_give_way():
    policy = new(max_bytes=4_000_000)
    earned(policy, *users(3000, 200))
    sizes = []
    for hour in range(4):
        earned(policy, *users(10_000, 10_000, first=1000 * hour, seed=hour))
        sizes.append((policy.n_bytes, policy._arena.state.categories.hashes.size))
        assert policy.n_bytes <= 4_000_000
    assert sizes[0][1] == sizes[-1][1]
    assert len(policy.schema.columns[0].categories) == 62
    paid = earned(policy, *users(20_000, 300, first=10**6))
    assert paid[-4000:].mean() > 0.8


def test_a_full_forest_stays_within_its_memory_when_categories_come_late():
    rng = np.random.default_rng(2)
    policy = new(max_bytes=2_500_000)
    rows = pl.DataFrame({"user": ["one"] * 30_000, "x": rng.random(30_000)})
    policy.play(rows, (rng.random((30_000, 3)) < rows["x"].to_numpy()[:, None]).astype(float))
    assert not len(policy._arena.state.categories.hashes)
    earned(policy, *users(3000, 200))
    assert len(policy._arena.state.categories.hashes)
    assert policy.n_bytes <= 2_500_000


def test_a_saved_policy_goes_on_bit_for_bit():
    rows, rewards = users(4000, 300)
    policy = new()
    policy.play(rows[:2000], rewards[:2000])
    again = restored(policy)
    assert_same_play(again.play(rows[2000:], rewards[2000:]), policy.play(rows[2000:], rewards[2000:]))
    assert_same_state(copy_of_state(again), copy_of_state(policy))


def test_actions_come_and_go():
    rows, rewards = users(6000, 200)
    policy = new()
    policy.play(rows, rewards)
    before = policy.probabilities_many(rows[:99])
    policy.add_action("d")
    assert policy.probabilities_many(rows[:99]).shape == (99, 4)
    policy.remove_action("d")
    assert (policy.probabilities_many(rows[:99]) == before).all()


def test_ids_of_64_bits_are_told_apart():
    schema = st.Schema.of({"user": "categorical number", "x": "numerical"})
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 300, 20_000)
    rows = [{"user": 2**62 + int(kind), "x": 0.0} for kind in kinds]
    rewards = (kinds[:, None] % 3 == np.arange(3)).astype(float)
    assert earned(new(schema=schema), rows, rewards)[-3000:].mean() > 0.9
    frame = pl.DataFrame(rows[:3000])
    one, other = new(schema=schema), new(schema=schema)
    assert_same_play(one.play(frame, rewards[:3000]), other.play(rows[:3000], rewards[:3000]))


def test_a_column_declares_whether_numbers_are_categories():
    policy = new(schema=st.Schema.of({"user": "categorical", "code": "categorical number", "x": "numerical"}))
    policy.play([{"user": f"user {each}", "code": each, "x": 1} for each in range(99)], np.ones((99, 3)))
    before = copy_of_state(policy)
    for row in ({"user": 7}, {"user": "new", "x": "text"}):
        with refused(policy, naming="it must be a (string|number)"):
            policy.decide(row)
    assert_same_state(copy_of_state(policy), before)
    assert policy.decide({"user": "7", "code": "abc", "x": 2}).action in policy.actions
    rows = [{"code": 70}, {"code": "70"}, {"code": 70.0}]
    assert len({str(policy.probabilities(row)) for row in rows}) == 1


def test_a_schema_may_name_more_categories_than_there_are_codes():
    names = [f"airport {place}" for place in range(290)]
    policy = new(schema=st.Schema.of({"airport": names}))
    rng = np.random.default_rng(6)
    best = rng.integers(0, 290, 20_000)
    rewards = (best[:, None] % 3 == np.arange(3)).astype(float)
    assert policy.schema.columns[0].categories == tuple(names[:62])
    assert earned(policy, [{"airport": names[each]} for each in best], rewards)[-3000:].mean() > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda hashes, counts: hashes.__setitem__((0, 0), 2), "is even"),
        (lambda hashes, counts: counts.__setitem__(hashes == 0, 1.0), "a count of the frequent categories is wrong"),
        (lambda hashes, counts: counts.__setitem__(hashes != 0, -1.0), "a count of the frequent categories is wrong"),
        (
            lambda hashes, counts: [each.__setitem__(..., np.roll(each, 1, 0)) for each in (hashes, counts)],
            "wrong bucket",
        ),
    ],
    ids=["even hash", "count of nothing", "negative count", "wrong bucket"],
)
def test_impossible_tables_are_refused(change, message):
    policy = new()
    policy.play(*users(500, 150))
    state = copy_of_state(policy)
    change(state.arrays["categories.hashes"], state.arrays["categories.counts"])
    with pytest.raises(st.StumperyError, match=message):
        st.RewardForest.from_state(State(state.options, state.arrays))


def test_explanations_follow_a_category_without_a_code():
    policy = new(actions=["a", "b"])
    rows = [{"user": f"user {each % 200}"} for each in range(20_000)]
    rewards = np.array([[each % 2, 1 - each % 2] for each in range(20_000)], float)
    policy.play(rows, rewards)
    for each in (150, 151):
        decision = policy.decide({"user": f"user {each}"})
        rows = {row["action"]: row["score"] for row in policy.explain(decision).rows}
        assert (rows["a"] > rows["b"]) == bool(each % 2)
