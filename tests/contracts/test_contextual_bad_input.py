"""Bad input to policies with a context: one sentence, and the policy as it was."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import public, refused

import stumpery as st
from stumpery.policies import ContextualPolicy
from stumpery.policies.bandit_forest.trees import BanditTrees
from stumpery.policies.fixed_schema import N_FIRST_ROWS
from stumpery.types import Decision, Decisions

POLICIES = [
    value
    for value in (getattr(public, name) for name in public.__all__)
    if isinstance(value, type) and issubclass(value, ContextualPolicy)
]
NAN, INF = math.nan, math.inf
HUGE = 10**400  # a whole number beyond every float
SMALL = {
    st.RewardForest: {"n_trees": 3, "max_bytes": 2_000_000},
    st.NeuralBandit: {"committee": [(2, 0.1)]},
    st.BanditForest: {"n_trees": 3},
}
ROWS = [{"age": 20.5 + place % 40, "device": ["phone", "desk", None][place % 3]} for place in range(60)]
SCHEMA = st.Schema.infer(ROWS, max_categories=10)
WRONG_REWARDS = [NAN, INF, -INF, -0.1, 1.0001, HUGE, "1", "high", b"1", None, [], [0.5], np.ones(2), 1j, {}]
WRONG_PROBABILITIES = [0, 0.0, -0.5, 1.0001, NAN, INF, HUGE, None, "0.5", [0.5], np.array([0.5, 0.5])]
WRONG_ACTIONS = ["unknown", "", 0, NAN, None, ["a"], {"a"}, np.eye(30), ("a", "b"), "removed"]
WRONG_DECISIONS = [3, "a", (), ("a",), ("a", 1.0), ("a", 1.0, None, None), {"action": "a"}, np.eye(30)]
WRONG_CONTEXTS = {
    "none": None,
    "number": 3,
    "text": "row",
    "list": [30.0, "phone"],
    "object": object,
    "too narrow": np.zeros(1),
    "too wide": np.zeros(3),
    "two dimensions": np.zeros((1, 2)),
    "no dimensions": np.array(3.0),
    "text for a number": {"age": "old", "device": "phone"},
    "number for a name": {"age": 30, "device": 3},
    "list for a number": {"age": [30]},
    "list for a name": {"device": ["phone"]},
    "complex number": {"age": 1j},
    "bytes": {"device": b"phone"},
    "time span": {"age": np.timedelta64(30, "s")},
}
WRONG_TABLES = {
    "none": None,
    "too narrow": np.zeros((3, 1)),
    "too wide": np.zeros((3, 3)),
    "one dimension": np.zeros(3),
    "three dimensions": np.zeros((3, 2, 1)),
    "numbers": [1, 2, 3],
    "holes": [ROWS[0], None, ROWS[1]],
    "arrays and dicts": [np.zeros(2), ROWS[0], ROWS[1]],
    "arrays of two lengths": [np.zeros(2), np.zeros(3), np.zeros(2)],
    "text at the end": [*ROWS[:2], {"age": "old"}],
    "polars lacks a column": pl.DataFrame(ROWS[:3]).drop("device"),
    "pandas lacks a column": pd.DataFrame(ROWS[:3]).drop(columns="age"),
    "polars of text": pl.DataFrame({"age": ["old"] * 3, "device": ["phone"] * 3}),
    "pandas of numbers": pd.DataFrame({"age": [30.0] * 3, "device": [1.0, 2.0, 3.0]}),
    "set": {1, 2, 3},
}
WRONG_OPTIONS = [
    *((st.RewardForest, {"n_trees": n}) for n in (0, -1, 1.5, "many", True, HUGE)),
    *((st.RewardForest, {"max_bytes": n}) for n in (0, -1, 1e9, "512 MB", None, True)),
    *((st.RewardForest, {"explorer": explorer}) for explorer in ("greedy", None, st.explorers.greedy)),
    *((st.policies.LinearPolicy, {"explorer": explorer}) for explorer in ("greedy", None, st.explorers.greedy)),
    *((st.policies.LinearPolicy, {"ridge": ridge}) for ridge in (0, -1, 1e-300, NAN, INF, HUGE, "1", None)),
    *((st.LinUCB, {"alpha": alpha}) for alpha in (-1, NAN, INF, "1", None, True)),
    *((st.LinearThompson, {"scale": scale}) for scale in (0, -1, NAN, INF, "1", None)),
    *((st.policies.Banditron, {"gamma": gamma}) for gamma in (0, -0.1, 1.1, NAN, "1", None, True)),
    *((st.NeuralBandit, {"gamma": gamma}) for gamma in (0, -0.1, 1.1, NAN, None)),
    *((st.NeuralBandit, {"explore": share}) for share in (0, -0.1, 1.1, NAN, None)),
    *((st.NeuralBandit, {"committee": committee}) for committee in ([], 3, None, "ab", [3], [(1, 2, 3)])),
    *(
        (st.policies.BanditStump, {"epsilon": epsilon})
        for epsilon in (-0.1, 1.1, NAN, "1", None, (0.1, 0.2, 0.3), (0.5, 0.1))
    ),
    *((st.policies.BanditTree, {"delta": delta}) for delta in (0, 1.1, NAN, "1", None)),
    *((st.policies.BanditTree, {"max_depth": depth}) for depth in (0, -1, 1.5, None, (1, 2), HUGE)),
    *((st.policies.BanditTree, {"max_bytes": n}) for n in (0, -1, 1e9, None)),
    *((st.BanditForest, {"max_depth": depths}) for depths in (0, (3, 2), (1, 2, 3), "deep", None)),
    *((st.BanditForest, {"vote": vote}) for vote in ("most", 0, 1.1, None, ["any"])),
    *((st.BanditForest, {"variables": share}) for share in (0, 1.1, None)),
    *((st.BanditForest, {"n_trees": n}) for n in (0, 1.5, None, 10**9)),
    *((st.BanditForest, {name: "unheard"}) for name in ("explore", "weights", "leaf", "n_bins")),
    *((kind, {"schema": schema}) for kind in POLICIES for schema in ("age", 3, {"age": "numerical"}, [ROWS[0]])),
]


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def new(kind):
    def make(**options):
        return kind(**{"actions": ["a", "b"], "seed": 3, "schema": SCHEMA, **SMALL.get(kind, {}), **options})

    return make


@pytest.fixture
def policy(new):
    policy = new(actions=["a", "removed", "b"])
    policy.play(ROWS, np.random.default_rng(1).random((60, 3)))
    policy.remove_action("removed")
    return policy


@pytest.mark.parametrize("name", WRONG_CONTEXTS)
def test_a_wrong_context_is_refused(policy, name):
    context = WRONG_CONTEXTS[name]
    with refused(policy):
        policy.decide(context)
    with refused(policy):
        policy.learn(Decision("a", 0.5, context), 0.5)
    with refused(policy):
        policy.learn_many([Decision("a", 0.5, ROWS[0]), Decision("b", 0.5, context)], [0.5, 0.5])
    with refused(policy):
        policy.explain(Decision("a", 0.5, context))


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_a_wrong_table_of_contexts_is_refused(policy, name):
    table = WRONG_TABLES[name]
    with refused(policy):
        policy.decide_many(table)
    with refused(policy):
        policy.play(table, np.full((3, 2), 0.5))
    with refused(policy):
        policy.learn_many(Decisions(["a"] * 3, np.full(3, 0.5), table), [0.5] * 3)


def test_a_number_of_decisions_is_no_context(policy):
    with refused(policy, "needs a context to decide on; there is none$"):
        policy.decide_many(3)
    with refused(policy, "needs a context to decide on; there is none$"):
        policy.decide()


@pytest.mark.parametrize(
    "table",
    [
        [{}],
        [None],
        [1, 2],
        {1, 2},
        np.zeros((3, 0)),
        np.zeros((2, 2, 2)),
        [*ROWS[:1] * N_FIRST_ROWS, {"age": "old"}],
        pd.DataFrame({"day": pd.to_datetime(["2026-01-01"])}),
    ],
    ids=lambda table: type(table).__name__,
)
def test_a_policy_that_has_seen_nothing_refuses_and_stays_so(new, table):
    policy = new(schema=None)
    with refused(policy):
        policy.decide_many(table)
    with refused(policy):
        policy.play(table, np.full((len(table), 2), 0.5))
    with refused(policy, "needs a context"):
        policy.play(None, np.full((3, 2), 0.5))
    assert policy.schema is None


@pytest.mark.parametrize("context", [None, 3, "row", {}, [1.0], np.zeros((1, 2)), np.zeros(0), np.array(1.0)], ids=str)
def test_a_first_context_that_is_none_is_refused(new, context):
    policy = new(schema=None)
    with refused(policy):
        policy.decide(context)
    with refused(policy):
        policy.learn(Decision("a", 0.5, context), 0.5)
    assert policy.schema is None
    assert policy.decide(np.array([1.0, 0.0])).action in ("a", "b")


def test_one_dict_is_too_little_for_those_that_need_more(kind, new):
    policy = new(schema=None)
    if not kind.needs_sample:
        assert policy.decide(ROWS[0]).action in ("a", "b")
        return
    with refused(policy, "cannot learn its columns from one row: give it schema="):
        policy.decide(ROWS[0])


@pytest.mark.parametrize(
    "row", [np.array([20.5, "phone"], dtype=object), np.array([20.5, 3.0])], ids=["mixed", "numbers"]
)
def test_one_array_is_too_little_for_those_that_need_names_or_bins(kind, new, row):
    policy = new(schema=None)
    enough = not kind.needs_sample or (row.dtype.kind == "f" and not issubclass(kind, BanditTrees))
    if enough:
        assert policy.decide(row).action in ("a", "b")
        return
    for ask in (lambda: policy.decide(row), lambda: policy.decide_many(row[None])):
        with refused(policy, "cannot learn its columns from one row: give it schema="):
            ask()


def test_a_reward_of_the_least_likely_action_breaks_nothing(policy):
    for place in range(200):
        policy.learn(Decision("ab"[place % 2], 5e-324, ROWS[place % 60]), float(place % 3 > 0))
    assert 0.0 < policy.decide(ROWS[0]).probability <= 1.0
    assert type(policy).from_state(policy.state()).decide(ROWS[0]).action in ("a", "b")


def test_explaining_before_the_first_context_determines_no_columns(new):
    policy = new(schema=None)
    policy.explain(Decision("a", 0.5, np.array([1.0, 0.0])))
    assert policy.schema is None


def test_wrong_rewards_are_refused_alone_and_among_many(policy):
    for reward in WRONG_REWARDS:
        with refused(policy, "^reward is .*; it must be a number from 0 to 1$"):
            policy.learn(Decision("a", 0.5, ROWS[0]), reward)
        with refused(policy, "reward"):
            policy.learn_many([Decision("a", 0.5, ROWS[0])] * 3, [0.5, 1.0, reward])
        with refused(policy, "reward"):
            policy.play(ROWS[:2], [[0.5, 0.5], [0.5, reward]])


def test_wrong_actions_are_refused(policy):
    for action in WRONG_ACTIONS:
        decision = Decision(action, 0.5, ROWS[0])
        with refused(policy, "^action is .*; it must be one of 'a', 'b'$"):
            policy.learn(decision, 0.5)
        with refused(policy, "^action is "):
            policy.remove_action(action)
        with refused(policy, "^action is "):
            policy.decide(ROWS[0], available=["a", action])
        with refused(policy, "^action is "):
            policy.explain(decision)


def test_wrong_actions_in_a_batch_are_refused(policy):
    for action in WRONG_ACTIONS[:-1]:  # not one that was removed: the others are learned
        decision = Decision(action, 0.5, ROWS[0])
        with refused(policy, "^action is "):
            policy.learn_many([Decision("a", 0.5, ROWS[0]), decision], [0.5, 0.5])
        with refused(policy, "^action is "):
            policy.learn_many(Decisions(["a", action], np.array([0.5, 0.5]), ROWS[:2]), [0.5, 0.5])


def test_wrong_probabilities_are_refused(policy):
    for probability in WRONG_PROBABILITIES:
        with refused(policy, "^probability is .*; it must be a number above 0 and at most 1$"):
            policy.learn(Decision("a", probability, ROWS[0]), 0.5)
        with refused(policy, "^probability is "):
            policy.learn_many(Decisions(["a", "b"], [0.5, probability], ROWS[:2]), [0.5, 0.5])


def test_decisions_of_another_shape_are_refused(policy):
    for decision in WRONG_DECISIONS:
        with refused(policy, "^decision is "):
            policy.learn(decision, 0.5)
        with refused(policy, "^decision is "):
            policy.explain(decision)


def test_wrong_availability_is_refused(policy):
    for available in ([], (), "a", 3):
        with refused(policy, "^available is "):
            policy.decide(ROWS[0], available=available)
        with refused(policy, "^available is "):
            policy.decide_many(ROWS[:2], available=available)


def test_unequal_numbers_of_contexts_and_rewards_are_refused(policy):
    with refused(policy, "^there are 2 contexts and 3 rows of rewards: one of each is needed$"):
        policy.play(ROWS[:2], np.ones((3, 2)))
    for rewards in (np.ones((3, 1)), np.ones((3, 3)), np.ones(3), np.ones((3, 2, 1)), 1.0, "ab"):
        with refused(policy, "^rewards "):
            policy.play(ROWS[:3], rewards)


def test_wrong_new_actions_are_refused(policy):
    for action in ("a", NAN, INF, None, ["c"], b"c", np.eye(30)):
        with refused(policy, "action"):
            policy.add_action(action)


def test_wrong_seeds_and_reward_ranges_are_refused(new, policy):
    for seed in (-1, 1.5, "7", None, True, 2**63, HUGE):
        with refused(naming="^seed is "):
            new(seed=seed)
        with refused(policy, "^seed is "):
            policy.clone({"seed": seed})
    for reward_range in ((1, 0), (1, 1), (0, INF), (NAN, 1), (0,), None, "01", (0, HUGE)):
        with refused(naming="^reward_range is "):
            new(reward_range=reward_range)


@pytest.mark.parametrize(("kind", "options"), WRONG_OPTIONS, ids=lambda part: getattr(part, "__name__", None))
def test_wrong_options_are_refused_by_name(kind, options):
    (name,) = options
    with refused(naming=f"{name} is |in {name} is "):
        kind(actions=["a", "b"], **options)


@pytest.mark.parametrize("member", [(0, 0.1), (1.5, 0.1), (10**12, 0.1), (3, 0), (3, NAN), (3, "fast"), ("many", 0.1)])
def test_a_wrong_member_of_the_committee_is_refused(member):
    with refused(naming="in committee is "):
        st.NeuralBandit(actions=["a", "b"], committee=[(3, 0.1), member])


@pytest.mark.parametrize("kind", [each for each in POLICIES if hasattr(each, "max_bytes")], indirect=True)
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["columns known", "columns unknown"])
def test_too_little_memory_for_one_tree_is_refused(kind, new, schema):
    if schema is not None:
        with refused(naming="^max_bytes is 300; "):
            new(max_bytes=300)
        return
    policy = new(max_bytes=300, schema=None)
    for _ in range(2):
        with refused(policy, "^max_bytes is 300; "):
            policy.decide(np.array([1.0, 0.0]))
        with refused(policy, "^max_bytes is 300; "):
            policy.play(ROWS, np.ones((60, 2)))
    assert policy.schema is None


@pytest.mark.parametrize("kind", [each for each in POLICIES if hasattr(each, "max_bytes")], indirect=True)
def test_the_memory_that_a_refusal_names_is_enough(kind, new):
    with pytest.raises(ValueError, match=r"^max_bytes is 300; ") as caught:
        new(max_bytes=300)
    needed = int(str(caught.value).split()[-1].replace(",", ""))
    policy = new(max_bytes=needed)
    policy.play(ROWS, np.ones((60, 2)))
    assert policy.n_bytes <= needed


@pytest.mark.parametrize("kind", [each for each in POLICIES if hasattr(each, "max_bytes")], indirect=True)
def test_an_action_for_which_there_is_no_memory_is_refused(kind, new):
    with pytest.raises(ValueError, match=r"^max_bytes is 300; ") as caught:
        new(max_bytes=300)
    policy = new(max_bytes=int(str(caught.value).split()[-1].replace(",", "")))
    policy.play(ROWS, np.ones((60, 2)))
    n_added = 0
    with refused(naming="^max_bytes is ", error=st.CapacityError):
        for n_added in range(1000):
            policy.add_action(n_added)
    assert len(policy.actions) == 2 + n_added
    assert policy.n_bytes <= policy.max_bytes
    policy.learn(policy.decide(ROWS[0]), 1.0)


def test_a_thousand_actions_are_no_matter(kind, new):
    policy = new(actions=range(1000), **({"max_bytes": 200_000_000} if kind is st.RewardForest else {}))
    for row in ROWS[:20]:
        decision = policy.decide(row)
        policy.learn(decision, decision.action / 1000)
    assert len(policy.explain(decision).rows) == 1000


def test_rewards_outside_another_range_are_refused(new):
    policy = new(reward_range=(-5, 3))
    for reward in (-5.1, 3.1):
        with refused(policy, "^reward is .*; it must be a number from -5 to 3$"):
            policy.learn(Decision("a", 1.0, ROWS[0]), reward)
    for reward in (-5, 0, 3):
        policy.learn(Decision("a", 1.0, ROWS[0]), reward)
