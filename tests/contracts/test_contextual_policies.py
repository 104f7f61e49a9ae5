"""What every public policy with a context must obey; a new policy is found here by itself."""

import copy
import pickle
from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tests.support import assert_same_play, assert_same_state, copy_of_state, public, restored

import stumpery as st
from stumpery.policies import ContextualPolicy, Policy
from stumpery.types import Decision, Decisions

POLICIES = [
    value
    for value in (getattr(public, name) for name in public.__all__)
    if isinstance(value, type) and issubclass(value, ContextualPolicy)
]
SMALL = {  # quick to run, and sure within a short stream
    st.RewardForest: {"n_trees": 5, "max_bytes": 2_000_000},
    st.NeuralBandit: {"committee": [(3, 0.1), (4, 0.03)], "gamma": 0.2},
    st.policies.Banditron: {"gamma": 0.2},
    st.policies.BanditStump: {"delta": 1.0, "epsilon": 0.9},
    st.policies.BanditTree: {"delta": 1.0, "epsilon": 0.9, "max_depth": 2},
    st.BanditForest: {"delta": 1.0, "epsilon": 0.9, "n_trees": 5, "max_depth": 2},
}
ESTIMATED = {st.LinearThompson: 0.03}  # how far a stated probability may be from the true one
ACTIONS = ("a", "b", "c", "d")
N = 240
FORMS = {"dicts": list, "polars": pl.DataFrame, "pandas": pd.DataFrame}


def make_rows(n=N):
    """Dicts of a number, a name and a bit, with gaps."""
    rng = np.random.default_rng(1)
    numbers, names, bits = rng.normal(40, 9, n), rng.choice(["phone", "desk", "watch"], n), rng.integers(0, 2, n)
    gaps = rng.random((n, 3)) < 0.1
    gaps[0] = False
    columns = zip(numbers.tolist(), names.tolist(), bits.tolist(), gaps.tolist(), strict=True)
    return [
        {"age": None if no_age else age, "device": None if no_name else name, "member": None if no_bit else bit}
        for age, name, bit, (no_age, no_name, no_bit) in columns
    ]


ROWS = make_rows()
SCHEMA = st.Schema.infer(ROWS, max_categories=10)
MATRIX = np.random.default_rng(3).integers(0, 2, size=(N, 5)).astype(np.uint8)
REWARDS = np.random.default_rng(2).integers(0, 5, size=(N, 4)) / 4  # they scale to other ranges without rounding


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def new(kind):
    def make(**options):
        return kind(**{"actions": ACTIONS, "seed": 5, "schema": SCHEMA, **SMALL.get(kind, {}), **options})

    return make


@pytest.fixture
def trained(new):
    policy = new()
    policy.play(ROWS[:60], REWARDS[:60])
    return policy


def loop(policy, rows, rewards):
    """The plain loop that `play` stands for, over dicts or rows of a matrix."""
    return Policy._play(policy, rows, rewards)


def test_there_are_policies_to_check():
    assert {st.RewardForest, st.LinUCB, st.policies.Banditron, st.NeuralBandit, st.BanditForest} <= set(POLICIES)


def test_a_decision_is_an_action_a_probability_and_the_context(trained):
    for context in ROWS[:50]:
        decision = trained.decide(context)
        assert decision.action in ACTIONS
        assert 0.0 < decision.probability <= 1.0
        assert decision.context == context


def test_a_decision_keeps_its_context_when_the_caller_changes_it(trained):
    row = dict(ROWS[0])
    decision = trained.decide(row)
    row[next(iter(row))] = None
    assert decision.context == ROWS[0] != row


@pytest.mark.parametrize("available", [None, ["b", "d"]])
def test_the_stated_probability_is_the_frequency_of_the_choice(kind, trained, available):
    n = 3000
    for context in (ROWS[3], {}):
        decisions = trained.decide_many([context] * n, available=available)  # without a reward nothing is learned
        for action in set(decisions.actions):
            stated = {decision.probability for decision in decisions if decision.action == action}
            low, high = stats.binomtest(decisions.actions.count(action), n).proportion_ci(0.9999)
            slack = ESTIMATED.get(kind, 0.0)
            assert len(stated) == 1
            assert low - slack <= stated.pop() <= high + slack


@pytest.mark.parametrize("available", [None, ["d", "b"]])
def test_probabilities_sum_to_one_agree_with_decisions_and_change_nothing(kind, trained, available):
    rows = [*ROWS[:20], {}, {"device": "a new name"}]
    before = copy_of_state(trained)
    many = trained.probabilities_many(rows, available=available)
    one_by_one = [trained.probabilities(row, available=available).tolist() for row in rows]
    assert_same_state(before, trained)
    assert many.tolist() == one_by_one
    assert many.sum(axis=1) == pytest.approx(1.0, abs=ESTIMATED.get(kind, 1e-9))
    for row, probabilities in zip(rows, many, strict=True):
        action, probability, _ = trained.decide(row, available=available)
        assert probabilities[trained.position(action)] == pytest.approx(probability, abs=1e-12)


def test_probabilities_before_the_first_context_determine_no_columns(kind, new):
    policy = new(schema=None)
    before = copy_of_state(policy)
    contexts = ROWS[:30] if kind.needs_sample else ROWS[:1]
    probabilities = policy.probabilities_many(contexts)
    assert_same_state(before, policy)
    assert policy.schema is None
    assert probabilities.sum(axis=1) == pytest.approx(1.0, abs=ESTIMATED.get(kind, 1e-9))
    decisions = policy.decide_many(contexts)
    chosen = [policy.position(action) for action in decisions.actions]
    assert probabilities[np.arange(len(chosen)), chosen] == pytest.approx(decisions.probabilities, abs=1e-12)


def test_the_seed_decides(new):
    first, same, other = (new(seed=seed) for seed in (3, 3, 4))
    expected = first.play(ROWS, REWARDS)
    assert_same_play(same.play(ROWS, REWARDS), expected)
    assert_same_state(same, first)
    assert other.play(ROWS, REWARDS).actions.tolist() != expected.actions.tolist()


@pytest.mark.parametrize("available", [None, ["d", "b"]])
@pytest.mark.parametrize("form", FORMS)
def test_deciding_many_equals_deciding_one_by_one(kind, trained, form, available):
    twin = restored(trained)
    many = trained.decide_many(FORMS[form](ROWS[60:100]), available=available)
    for decision, row in zip(many, ROWS[60:100], strict=True):
        assert decision[:2] == twin.decide(row, available=available)[:2]
    assert_same_state(trained, twin)


@pytest.mark.parametrize("form", [Decisions, list, iter])
@pytest.mark.parametrize("rows", [ROWS, MATRIX], ids=["dicts", "matrix"])
def test_learning_many_equals_learning_one_by_one(kind, new, form, rows):
    many, single = (new(schema=None if rows is MATRIX else SCHEMA) for _ in range(2))
    many.play(rows[:60], REWARDS[:60])
    single.play(rows[:60], REWARDS[:60])
    decisions = many.decide_many(rows[60:100])
    single.decide_many(rows[60:100])
    values = (np.arange(40) % 5 / 4).tolist()
    for decision, value in zip(decisions, values, strict=True):
        single.learn(decision, value)
    given = decisions if form is Decisions else form(list(decisions))
    many.learn_many(given, iter(values) if form is iter else values)
    assert_same_state(many, single)


def test_learning_many_takes_all_or_nothing(trained):
    decisions, values = list(trained.decide_many(ROWS[:5])), [0.0, 0.5, 1.0, 0.5, 0.0]
    before = copy_of_state(trained)
    wrong = [
        (decisions, [*values[:4], 1.5]),
        (decisions, values[:4]),
        ([*decisions[:4], Decision("unknown", 1.0, ROWS[0])], values),
        ([*decisions[:4], Decision("a", 0.0, ROWS[0])], values),
        ([*decisions[:4], Decision("a", 1.0, None)], values),
        ([*decisions[:4], Decision("a", 1.0, {"age": "old"})], values),
        ([*decisions[:4], Decision("a", 1.0, np.zeros(3))], values),
        (Decisions([*"abcd", "z"], np.ones(5), ROWS[:5]), values),
        (Decisions([*"abcd"], np.ones(4), ROWS[:5]), values[:4]),
        (Decisions([*"abcda"], np.ones(5)), values),
    ]
    for some_decisions, some_values in wrong:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            trained.learn_many(some_decisions, some_values)
        assert_same_state(trained, before)


@pytest.mark.parametrize("form", FORMS)
def test_playing_a_frame_equals_the_plain_loop_over_dicts(new, form):
    fast, slow = new(), new()
    assert_same_play(fast.play(FORMS[form](ROWS), REWARDS), loop(slow, ROWS, REWARDS))
    assert_same_state(fast, slow)


@pytest.mark.parametrize("number", [np.uint8, np.float32, np.float64, np.bool_])
def test_playing_a_matrix_equals_the_plain_loop_over_its_rows_without_a_schema(new, number):
    fast, slow = new(schema=None), new(schema=None)
    matrix = MATRIX.astype(number)
    slow.decide_many(matrix)  # shows it the columns
    fast.decide_many(matrix)
    assert_same_play(fast.play(matrix, REWARDS), loop(slow, matrix, REWARDS))
    assert_same_state(fast, slow)


@pytest.mark.parametrize("kind", [each for each in POLICIES if not each.needs_sample], indirect=True)
@pytest.mark.parametrize("first", [{}, {"age": None}, {"device": None}, {"member": None, "device": None}], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_columns_and_names_may_show_late(new, first, form):
    """The first row lacks values, and half-way come names that were never seen."""
    rows = [{**ROWS[0], **first}, *ROWS[1:120]]
    rows += [{**row, "device": f"device {place % 7}"} if place % 3 else row for place, row in enumerate(ROWS[120:])]
    fast, slow = new(schema=None), new(schema=None)
    assert_same_play(fast.play(FORMS[form](rows), REWARDS), loop(slow, rows, REWARDS))
    assert_same_state(fast, slow)


@pytest.mark.parametrize("rows", [ROWS, pl.DataFrame(ROWS), MATRIX], ids=["dicts", "polars", "matrix"])
def test_a_policy_saved_half_way_goes_on_as_if_never_stopped(kind, new, rows, tmp_path):
    straight, first = (new(schema=None if rows is MATRIX else SCHEMA) for _ in range(2))
    half = N // 2
    before = straight.play(rows[:half], REWARDS[:half])
    expected = straight.play(rows[half:], REWARDS[half:])
    assert_same_play(first.play(rows[:half], REWARDS[:half]), before)
    st.save(first, tmp_path / "policy.safetensors")
    second = st.load(tmp_path / "policy.safetensors")
    assert type(second) is kind
    assert repr(second) == repr(first)
    assert_same_play(second.play(rows[half:], REWARDS[half:]), expected)
    assert_same_state(second, straight)


def test_a_policy_that_has_seen_nothing_can_be_saved(new, tmp_path):
    policy = new(schema=None)
    assert len(policy.explain().rows) == 4
    st.save(policy, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    assert loaded.schema is None
    assert_same_play(loaded.play(MATRIX, REWARDS), policy.play(MATRIX, REWARDS))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))])  # noqa: S301
def test_a_copy_goes_on_as_the_policy_would_and_shares_nothing_with_it(trained, duplicate):
    before = copy_of_state(trained)
    played = duplicate(trained).play(ROWS, REWARDS)
    assert_same_state(trained, before)
    assert_same_play(played, trained.play(ROWS, REWARDS))


@pytest.mark.parametrize("none", [[], (), pd.DataFrame(ROWS[:0], columns=list(ROWS[0])), np.zeros((0, 3))], ids=type)
def test_no_rows_change_nothing_and_determine_no_columns(new, none):
    policy = new(schema=None)
    assert len(policy.decide_many(none)) == 0
    policy.learn_many([], [])
    policy.learn_many(Decisions([], np.zeros(0), none), [])
    assert len(policy.play(none, np.zeros((0, 4))).actions) == 0
    assert policy.schema is None
    assert len(policy.decide_many(pd.DataFrame(ROWS))) == N


def test_any_sequence_of_rows_will_do(new):
    choices = [new(schema=None).decide_many(rows).actions for rows in (ROWS, tuple(ROWS), deque(ROWS))]
    assert choices[0] == choices[1] == choices[2]


def test_arrays_of_mixed_values_are_rows(new):
    rows = [np.array([row["age"], row["device"], row["member"]], dtype=object) for row in ROWS]
    one, many = new(), new()
    assert [one.decide(row).action for row in rows] == many.decide_many(rows).actions
    many.learn_many([Decision("a", 0.5, row) for row in rows], [1.0] * N)


def test_what_is_masked_is_missing(new):
    masked = np.ma.masked_array(MATRIX, mask=np.random.default_rng(4).random(MATRIX.shape) < 0.2)
    gaps = np.where(masked.mask, np.nan, MATRIX)
    policies = [new(schema=st.Schema.infer(gaps)) for _ in range(3)]
    choices = [policy.decide_many(rows).actions for policy, rows in zip(policies, (masked, gaps), strict=False)]
    assert choices[0] == choices[1] == [policies[2].decide(row).action for row in masked]
    first = new(schema=None)
    first.play(masked, REWARDS)
    assert first.schema.names == ("x0", "x1", "x2", "x3", "x4")


def test_rewards_may_come_late_out_of_order_and_twice(trained):
    decisions = list(trained.decide_many(ROWS[:20]))
    for decision in [*reversed(decisions), *decisions[:5]]:
        trained.learn(decision, 1.0)
    trained.learn(tuple(decisions[0]), np.float32(0.5))
    trained.learn(Decision("a", np.float64(0.5), ROWS[30]), 1)
    assert trained.decide(ROWS[0]).action in ACTIONS


def test_a_reward_learned_twice_counts_twice(trained):
    decision = trained.decide(ROWS[0])
    trained.learn(decision, 1.0)
    once = copy_of_state(trained)
    trained.learn(decision, 1.0)
    changed = [name for name, array in trained.state().arrays.items() if array.tobytes() != once.arrays[name].tobytes()]
    assert changed


def test_a_new_policy_has_learned_nothing(new, trained):
    fresh = trained.clone(seed=9)
    assert_same_state(fresh, new(seed=9))
    before = copy_of_state(trained)
    fresh.play(ROWS, REWARDS)
    assert_same_state(trained, before)


def test_memory_is_bounded(new):
    policy = new()
    rng = np.random.default_rng(4)
    policy.play(ROWS[:10], REWARDS[:10])
    most = getattr(policy, "max_bytes", policy.n_bytes)
    for _ in range(5):
        chosen = rng.integers(0, N, 1000)
        policy.play([ROWS[place] for place in chosen], REWARDS[chosen])
    policy.decide_many(ROWS)
    assert 0 < policy.n_bytes <= most


@pytest.mark.parametrize("reward_range", [(-4.0, 4.0), (0.0, 64.0)])
def test_other_reward_ranges_are_only_another_scale(new, reward_range):
    low, high = reward_range
    plain, scaled = new(), new(reward_range=reward_range)
    expected, played = plain.play(ROWS, REWARDS), scaled.play(ROWS, low + REWARDS * (high - low))
    assert_same_play(played, expected)
    decision = plain.decide(ROWS[0])
    rows, units = scaled.explain(decision).rows, plain.explain(decision).rows
    for row, unit in zip(rows, units, strict=True):
        for name in {"score", "mean"} & unit.keys():
            assert row[name] == pytest.approx(low + unit[name] * (high - low), nan_ok=True)


def test_one_action_is_always_taken_for_sure(new):
    policy = new(actions=["only"])
    assert set(policy.play(ROWS, np.full((N, 1), 0.5)).probabilities) == {1.0}
    decision = policy.decide(ROWS[0])
    assert decision[:2] == ("only", 1.0)
    assert "only" in str(policy.explain(decision))


@pytest.mark.parametrize("column", ["age", "device", "member"])
def test_one_column_is_enough(new, column):
    rows = [{column: row[column]} for row in ROWS]
    schema = st.Schema.infer(rows, max_categories=10)
    fast, slow = new(schema=schema), new(schema=schema)
    assert_same_play(fast.play(rows, REWARDS), loop(slow, rows, REWARDS))


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_contexts_without_values_and_constant_rewards_are_ordinary(new, value):
    policy = new()
    empty = [{}, {"age": None}, {"device": None, "member": float("nan")}] * 60
    played = policy.play(empty, np.full((180, 4), value))
    assert ((played.probabilities > 0.0) & (played.probabilities <= 1.0)).all()
    assert set(played.actions) <= set(range(4))
    decision = policy.decide({})
    policy.learn(decision, value)
    assert all(row["action"] in ACTIONS for row in policy.explain(decision).rows)


def test_an_added_action_is_tried(trained):
    trained.add_action("new")
    pays = np.column_stack([np.zeros((N, 4)), np.ones(N)])
    chosen = [trained.play(ROWS, pays).actions for _ in range(8)]
    assert 4 in np.concatenate(chosen)


def test_a_removed_action_is_never_chosen_and_its_reward_refused(trained):
    last = Decision("b", 0.5, ROWS[0])
    trained.remove_action("b")
    assert trained.actions == ("a", "c", "d")
    assert "b" not in trained.decide_many(ROWS).actions
    trained.play(ROWS, REWARDS[:, :3])
    before = copy_of_state(trained)
    with pytest.raises(ValueError, match=r"^action is 'b'; it must be one of 'a', 'c', 'd'$"):
        trained.learn(last, 1.0)
    assert_same_state(trained, before)


def test_the_last_action_cannot_be_removed(new):
    with pytest.raises(ValueError, match=r"^'only' is the only action left; a policy needs at least one$"):
        new(actions=["only"]).remove_action("only")


@pytest.mark.parametrize("change", ["add", "remove", "both"])
def test_actions_that_came_and_went_are_saved(new, change, tmp_path):
    policy = new()
    policy.play(ROWS, REWARDS)
    if change != "remove":
        policy.add_action("e")
    if change != "add":
        policy.remove_action("b")
    st.save(policy, tmp_path / "policy.safetensors")
    loaded = st.load(tmp_path / "policy.safetensors")
    assert loaded.actions == policy.actions
    rewards = np.random.default_rng(5).random((N, len(policy.actions)))
    assert_same_play(loaded.play(ROWS, rewards), policy.play(ROWS, rewards))


def test_only_available_actions_are_chosen(trained):
    for available, allowed in ((["c"], {"c"}), (("a", "d"), {"a", "d"}), (iter(["b", "c"]), {"b", "c"})):
        chosen = trained.decide_many(ROWS[:40], available=available)
        assert set(chosen.actions) <= allowed
        assert (chosen.probabilities > 0).all()
    assert trained.decide(ROWS[0], available=["d"])[:2] == ("d", 1.0)


@pytest.mark.parametrize("n_rewards", [0, 60])
def test_an_explanation_names_every_action_once_and_changes_nothing(new, n_rewards):
    policy = new()
    policy.play(ROWS[:n_rewards], REWARDS[:n_rewards])
    decision = policy.decide(ROWS[7])
    before = copy_of_state(policy)
    for given in (decision, None):
        explanation = policy.explain(given)
        assert sorted(row["action"] for row in explanation.rows) == list(ACTIONS)
        lines = str(explanation).splitlines()
        assert lines[0] == explanation.summary
        assert sorted(line.split()[0] for line in lines[2:]) == list(ACTIONS)
    assert repr(decision.action) in policy.explain(decision).summary
    assert_same_state(policy, before)


def test_explaining_a_context_with_a_new_name_changes_nothing(trained):
    before = copy_of_state(trained)
    trained.explain(Decision("a", 0.5, {**ROWS[0], "device": "never seen"}))
    assert_same_state(trained, before)


@pytest.mark.parametrize("column", ["device", "member"])
def test_a_simple_rule_is_learned(new, column):
    """One of two actions pays, and one column says which."""
    rows = [row for row in make_rows(4000) if row[column] is not None]
    first = np.array([row[column] in ("phone", 1) for row in rows])
    rewards = np.column_stack([first, ~first]).astype(float)
    policy = new(actions=["first", "second"], seed=1)
    played = policy.play(pl.DataFrame(rows), rewards)
    paid = rewards[np.arange(len(rows)), played.actions]
    assert paid[-1000:].mean() > 0.8


def test_options_stay_as_they_were_given(trained):
    recipe = repr(trained)
    with pytest.raises(ValueError, match=r"^schema is an option of \w+ and stays as it is"):
        trained.schema = None
    assert repr(trained) == recipe
