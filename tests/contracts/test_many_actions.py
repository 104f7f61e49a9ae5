"""Many actions: rankings, availability per row, weights of rewards, actions added and removed in bulk."""

import math

import numpy as np
import polars as pl
import pytest
from tests.support import assert_same_state, copy_of_state, public, refused, restored

import stumpery as st
from stumpery.policies import ContextualPolicy, Policy
from stumpery.policies.changing_actions import MAX_REMOVED
from stumpery.types import Decision, Decisions, RankedDecision

POLICIES = [
    value
    for value in (getattr(public, name) for name in public.__all__)
    if isinstance(value, type) and issubclass(value, Policy)
]
SMALL = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 8_000_000},
    st.NeuralBandit: {"committee": [(2, 0.1)]},
    st.BanditForest: {"n_trees": 3},
}
ACTIONS = ("a", "b", "c", "d", "e")
ROWS = [{"age": 20.5 + place % 40, "device": ["phone", "desk", None][place % 3]} for place in range(60)]
SCHEMA = st.Schema.infer(ROWS, max_categories=10)
REWARDS = np.random.default_rng(1).integers(0, 5, size=(60, 5)) / 4


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def new(kind, actions=ACTIONS, **options):
    more = {"schema": SCHEMA} if issubclass(kind, ContextualPolicy) else {}
    return kind(actions=actions, seed=5, **more, **SMALL.get(kind, {}), **options)


@pytest.fixture
def trained(kind):
    policy = new(kind)
    policy.play(ROWS, REWARDS)
    return policy


def test_a_ranking_has_the_decision_first_and_every_action_once(trained):
    twin = restored(trained)
    for k in (1, 2, 5):
        ranked = trained.decide(ROWS[7], k=k)
        assert type(ranked) is RankedDecision
        assert ranked.decision == twin.decide(ROWS[7])
        assert ranked.actions[0] == ranked.decision.action
        assert len(ranked.actions) == len(set(ranked.actions)) == k
    assert_same_state(trained, twin)
    trained.learn(ranked.decision, 1.0)


def test_behind_the_first_the_highest_scores_come_first(kind):
    policy = new(kind)
    paid = np.tile([0.0, 1.0, 0.25, 0.5, 0.75], (60, 1))
    for _ in range(60):
        policy.play(ROWS, paid)
    ranked = policy.decide(ROWS[0], k=5).actions
    rows = policy.explain(policy.decide(ROWS[0])).rows
    by = next((name for name in ("score", "votes", "mean_leaf", "mean") if name in rows[0]), "mean")
    order = [row[by] for action in ranked[1:] for row in rows if row["action"] == action]
    if kind is st.SuccessiveElimination:  # those that remain first
        assert ranked[0] == "b"
    else:
        assert order == sorted(order, reverse=True)


def test_a_ranking_is_of_available_actions(trained):
    for _ in range(10):
        assert set(trained.decide(ROWS[3], available=["d", "b"], k=2).actions) == {"d", "b"}


@pytest.mark.parametrize("k", [0, -1, 1.0, 2.5, "2", True, math.nan])
def test_a_wrong_k_is_refused(trained, k):
    with refused(trained, "k is "):
        trained.decide(ROWS[0], k=k)


def test_a_k_larger_than_the_actions_is_refused(trained):
    with refused(trained, r"^k is 6; there are only 5 actions to rank$"):
        trained.decide(ROWS[0], k=6)
    with refused(trained, r"^k is 3; there are only 2 actions to rank$"):
        trained.decide(ROWS[0], k=3, available=["a", "b"])


@pytest.mark.parametrize("form", ["matrix", "lists"])
def test_available_actions_of_each_row_equal_one_by_one(trained, form):
    twin = restored(trained)
    matrix = np.random.default_rng(2).random((60, 5)) < 0.5
    matrix[:, 2] |= ~matrix.any(axis=1)
    lists = [[action for action, offered in zip(ACTIONS, row, strict=True) if offered] for row in matrix]
    decisions = trained.decide_many(ROWS, available=matrix if form == "matrix" else lists)
    assert list(decisions) == [twin.decide(row, available=names) for row, names in zip(ROWS, lists, strict=True)]
    assert_same_state(trained, twin)


def test_available_actions_of_each_row_of_nothing(trained):
    assert len(trained.decide_many([], available=np.zeros((0, 5), bool))) == 0


@pytest.mark.parametrize(
    ("available", "said"),
    [
        (np.ones((59, 5), bool), "available has 59 rows for 60 contexts: one of each is needed"),
        (np.ones((60, 4), bool), "it must be of booleans, with a column for each of 5 actions"),
        (np.ones((60, 5)), "available is a matrix of float64"),
        (np.zeros((60, 5), bool), "available is empty in row 0"),
        ([["a"]] * 3, "available has 3 rows for 60 contexts: one of each is needed"),
        ([["a"]] * 59 + [[]], "row 59: available is empty; at least one action is needed"),
        ([["a"]] * 59 + [["z"]], "row 59: action is 'z'; it must be one of"),
        ([["a"]] * 59 + ["b"], r"action is \['a'\]; it must be one of"),
        ([], "available is empty"),
        (3, "available is 3; it must be a list of actions"),
    ],
)
def test_wrong_available_actions_are_refused(trained, available, said):
    with refused(trained, said):
        trained.decide_many(ROWS, available=available)


def test_a_weight_of_two_learns_twice_and_of_zero_not_at_all(trained):
    twin = restored(trained)
    decisions = list(trained.decide_many(ROWS))
    twin.decide_many(ROWS)
    before = copy_of_state(trained)
    trained.learn(decisions[0], 1.0, weight=0.0)
    trained.learn_many(decisions, np.ones(60), weight=0)
    assert_same_state(trained, before)
    trained.learn(decisions[0], 1.0, weight=2)
    trained.learn_many(decisions[1:4], [0.0, 0.5, 1.0], weight=[1, 0, 3])
    for index, reward in ((0, 1.0), (0, 1.0), (1, 0.0), (3, 1.0), (3, 1.0), (3, 1.0)):
        twin.learn(decisions[index], reward)
    assert_same_state(trained, twin)


def test_weighted_rewards_of_many_equal_those_one_by_one(trained):
    twin = restored(trained)
    weights = np.linspace(0.0, 2.5, 60)
    decisions = Decisions([*ACTIONS] * 12, np.full(60, 0.2), pl.DataFrame(ROWS))
    for decision, reward, weight in zip(decisions, REWARDS[:, 0].tolist(), weights.tolist(), strict=True):
        twin.learn(decision, reward, weight=weight)
    assert trained.learn_many(decisions, REWARDS[:, 0], weight=weights).size == 0
    assert_same_state(trained, twin)


def test_a_fraction_of_a_weight_is_a_probability():
    policy = st.UCB(actions=ACTIONS, seed=1)
    policy.learn_many([Decision("a", 1.0)] * 4000, np.ones(4000), weight=0.25)
    (n,) = [row["n"] for row in policy.explain().rows if row["action"] == "a"]
    assert 850 < n < 1150


@pytest.mark.parametrize("weight", [-1, -0.5, math.nan, math.inf, 1000.5, "2", None, True, 1j, [1.0, -1.0], [1.0] * 3])
def test_a_wrong_weight_is_refused(trained, weight):
    decisions = [Decision("a", 0.5, ROWS[0]), Decision("b", 0.5, ROWS[1])]
    with refused(trained, "weight"):
        trained.learn_many(decisions, [1.0, 1.0], weight=weight)
    with refused(trained, "weight"):
        trained.learn(decisions[0], 1.0, weight=weight)


def test_actions_come_and_go_in_bulk(kind, trained, tmp_path):
    names = [f"new {index}" for index in range(40)]
    trained.add_actions(names)
    assert trained.actions == (*ACTIONS, *names)
    trained.remove_actions(["b", *names[::2], "e"])
    assert trained.actions == ("a", "c", "d", *names[1::2])
    trained.play(ROWS, np.random.default_rng(3).random((60, 23)))
    st.save(trained, tmp_path / "policy.safetensors")
    again = st.load(tmp_path / "policy.safetensors")
    assert_same_state(again, trained)
    assert [again.decide(row) for row in ROWS] == [trained.decide(row) for row in ROWS]


def test_many_removed_at_once_equal_one_after_the_other(trained):
    twin = restored(trained)
    trained.remove_actions(["b", "e", "a"])
    for name in ("b", "e", "a"):
        twin.remove_action(name)
    assert_same_state(trained, twin)


def test_none_added_or_removed_changes_nothing(trained):
    before = copy_of_state(trained)
    trained.add_actions([])
    trained.remove_actions([])
    assert_same_state(trained, before)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["f", "a"], "action 'a' is there already"),
        (["f", "f"], "action 'f' occurs twice"),
        (["f", None], "an action is None"),
        ("fg", "actions is 'fg'; it must be a list of actions"),
        (None, "actions is None"),
    ],
)
def test_wrong_actions_to_add_are_refused(trained, names, said):
    with refused(trained, said):
        trained.add_actions(names)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "z"], "action is 'z'; it must be one of"),
        (["a", "a"], "action 'a' occurs twice"),
        (list(ACTIONS), "are all actions left; a policy needs at least one"),
        ("ab", "actions is 'ab'"),
    ],
)
def test_wrong_actions_to_remove_are_refused(trained, names, said):
    with refused(trained, said):
        trained.remove_actions(names)


@pytest.mark.parametrize("form", [Decisions, list])
def test_of_a_batch_rewards_of_removed_actions_are_refused_and_the_others_learned(kind, trained, form, tmp_path):
    trained.remove_actions(["b", "d"])
    st.save(trained, tmp_path / "policy.safetensors")
    trained = st.load(tmp_path / "policy.safetensors")  # remembers which were removed
    twin = restored(trained)
    decisions = Decisions([*ACTIONS] * 12, np.full(60, 0.2), ROWS)
    values = REWARDS[:, 0]
    refused_rows = trained.learn_many(decisions if form is Decisions else list(decisions), values)
    assert refused_rows.tolist() == [row for row in range(60) if ACTIONS[row % 5] in "bd"]
    kept = [row for row in range(60) if row not in refused_rows]
    twin.learn_many([list(decisions)[row] for row in kept], values[kept])
    assert_same_state(trained, twin)
    trained.add_action("b")
    assert trained.learn_many(decisions, values).tolist() == [row for row in range(60) if ACTIONS[row % 5] == "d"]


def test_an_action_that_never_was_makes_a_batch_invalid(trained):
    trained.remove_action("b")
    with refused(trained, "action is 'z'; it must be one of"):
        trained.learn_many([Decision("b", 0.5, ROWS[0]), Decision("z", 0.5, ROWS[0])], [1.0, 1.0])


def test_only_the_latest_removed_actions_are_remembered():
    policy = st.UCB(actions=["kept", "first"])
    policy.remove_action("first")
    policy.add_actions(range(MAX_REMOVED))
    policy.remove_actions(range(MAX_REMOVED))
    assert policy.learn_many([Decision(7, 0.5)], [1.0]).tolist() == [0]
    with pytest.raises(st.InvalidInput, match="'first'"):
        policy.learn_many([Decision("first", 0.5)], [1.0])


def test_saved_names_of_removed_actions_are_checked(trained):
    trained.remove_action("b")
    options, arrays = trained.state()
    for wrong in (["a"], ["b", "b"], [], "b", [None], [f"x{index}" for index in range(MAX_REMOVED + 1)]):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            type(trained).from_state(st.types.State({**options, "_removed": wrong}, arrays))
