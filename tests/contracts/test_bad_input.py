"""Bad input of every kind: one sentence, and the policy as it was."""

import math

import numpy as np
import pytest
from tests.support import public, refused

import stumpery as st
from stumpery.policies import ContextualPolicy, Policy
from stumpery.types import Decision, Decisions

POLICIES = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type)
    and issubclass(getattr(public, name), Policy)
    and not issubclass(getattr(public, name), ContextualPolicy)
]
NAN, INF = math.nan, math.inf
HUGE = 10**400  # a whole number beyond every float
WRONG_REWARDS = [NAN, INF, -INF, -0.1, 1.0001, HUGE, "1", "high", b"1", None, [], [0.5], np.ones(2), 1j, {}]
WRONG_PROBABILITIES = [0, 0.0, -0.5, 1.0001, NAN, INF, HUGE, None, "0.5", [0.5], np.array([0.5, 0.5])]
WRONG_ACTIONS = ["unknown", "", 0, NAN, None, ["a"], {"a"}, np.eye(30), ("a", "b"), "removed"]
WRONG_DECISIONS = [None, 3, "a", (), ("a",), ("a", 1.0), ("a", 1.0, None, None), {"action": "a"}, np.eye(30)]
WRONG_LISTS = [
    [],
    ["a", "a"],
    [1, True],
    ["a", NAN],
    ["a", INF],
    ["a", None],
    [["a"], ["b"]],
    np.eye(30),
    [b"a"],
    "abc",
    b"abc",
    3,
    None,
    {"a", "b"},
]
WRONG_SEEDS = [-1, 1.0, 1.5, "7", None, True, [1], 2**63, HUGE]
WRONG_RANGES = [
    (1, 0),
    (1, 1),
    (0, INF),
    (-INF, 0),
    (NAN, 1),
    (-1e308, 1e308),
    (0, 1, 2),
    (0,),
    (),
    None,
    1.0,
    "01",
    ("0", "1"),
    (0, HUGE),
    (0, None),
]
WRONG_OPTIONS = [
    *((st.policies.Greedy, {"initial": initial}) for initial in (NAN, INF, HUGE, "high", [1], True)),
    *((st.UCB, {"rho": rho}) for rho in (-1, NAN, INF, HUGE, "2", None, True)),
    *((st.EpsilonGreedy, {"epsilon": share}) for share in (-0.1, 1.1, NAN, HUGE, "0.1", None, True)),
    *((st.EpsilonGreedy, {"decay": decay}) for decay in (-1, INF, None)),
    *((st.EpsilonGreedy, {"floor": floor}) for floor in (-1, 2, "low")),
    *((st.ThompsonSampling, {"posterior": posterior}) for posterior in ("gamma", None, 3, ["beta"])),
    *((st.ThompsonSampling, {"prior": prior}) for prior in ((0, 1), (1, -1), (1,), (1, 1, 1), "ab", 1, None, (1, NAN))),
    *((st.ThompsonSampling, {"posterior": "gaussian", "sd": sd}) for sd in (0, -1, NAN, "wide", None)),
    *((st.SuccessiveElimination, {"epsilon": share}) for share in (-0.1, 1.1, NAN, "0.1")),
    *((st.SuccessiveElimination, {"delta": delta}) for delta in (0, -1, 1.5, NAN, None)),
    *((st.SuccessiveElimination, {"explore": how}) for how in ("random", None, 1)),
    *((st.policies.MeansPolicy, {"explorer": explorer}) for explorer in ("greedy", None, st.explorers.greedy)),
]


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def policy(kind):
    policy = kind(actions=["a", "removed", "b"], seed=3)
    policy.play(None, np.random.default_rng(1).random((30, 3)))
    policy.remove_action("removed")
    return policy


def test_wrong_rewards_are_refused_alone_and_among_many(policy):
    for reward in WRONG_REWARDS:
        with refused(policy, "^reward is .*; it must be a number from 0 to 1$"):
            policy.learn(Decision("a", 0.5), reward)
        with refused(policy, "reward"):
            policy.learn_many([Decision("a", 0.5)] * 3, [0.5, 1.0, reward])
        with refused(policy, "reward"):
            policy.play(None, [[0.5, 0.5], [0.5, reward]])


def test_the_refusal_of_a_reward_says_what_came(policy):
    with refused(policy, "^reward is 'high'; "):
        policy.learn(Decision("a", 0.5), "high")
    with refused(policy, "^a reward is 7.0; "):
        policy.learn_many([Decision("a", 0.5)] * 2, [0.5, 7])


def test_wrong_actions_are_refused(policy):
    for action in WRONG_ACTIONS:
        with refused(policy, "^action is .*; it must be one of 'a', 'b'$"):
            policy.learn(Decision(action, 0.5), 0.5)
        with refused(policy, "^action is "):
            policy.remove_action(action)
        with refused(policy, "^action is "):
            policy.decide(available=["a", action])
        with refused(policy, "^action is "):
            policy.explain(Decision(action, 0.5))


def test_wrong_actions_in_a_batch_are_refused(policy):
    for action in WRONG_ACTIONS[:-1]:  # not one that was removed: the others are learned
        with refused(policy, "^action is "):
            policy.learn_many([Decision("a", 0.5), Decision(action, 0.5)], [0.5, 0.5])
        with refused(policy, "^action is "):
            policy.learn_many(Decisions(["a", action], np.array([0.5, 0.5])), [0.5, 0.5])


def test_wrong_probabilities_are_refused(policy):
    for probability in WRONG_PROBABILITIES:
        with refused(policy, "^probability is .*; it must be a number above 0 and at most 1$"):
            policy.learn(Decision("a", probability), 0.5)
        with refused(policy, "^probability is "):
            policy.learn_many([Decision("a", 0.5), Decision("a", probability)], [0.5, 0.5])
        with refused(policy, "^probability is "):
            policy.learn_many(Decisions(["a", "b"], [0.5, probability]), [0.5, 0.5])


def test_decisions_of_another_shape_are_refused(policy):
    for decision in WRONG_DECISIONS:
        with refused(policy, "^decision is "):
            policy.learn(decision, 0.5)
        with refused(policy, "^decision is "):
            policy.learn_many([Decision("a", 0.5), decision], [0.5, 0.5])
        if decision is not None:
            with refused(policy, "^decision is "):
                policy.explain(decision)


def test_many_of_unequal_length_are_refused(policy):
    three = [Decision("a", 0.5)] * 3
    for rewards in ([], [0.5], [0.5] * 4, 0.5, [[0.5] * 3], np.ones((3, 1)), [[0.5], [0.5, 1.0], []], None):
        with refused(policy, "reward"):
            policy.learn_many(three, rewards)
    for decisions in (3, None, Decisions(["a"] * 3, np.ones(2)), Decisions(["a"] * 3, np.ones(3), [None] * 2)):
        with refused(policy, "^decisions "):
            policy.learn_many(decisions, [0.5] * 3)


def test_wrong_availability_is_refused(policy):
    for available in ([], (), "a", "ab", 3):
        with refused(policy, "^available is "):
            policy.decide(available=available)
        with refused(policy, "^available is "):
            policy.decide_many(2, available=available)


def test_wrong_contexts_are_refused(policy):
    for contexts in (-1, 2.5, True, "rows", None, {"x": 1}, np.array(3), object):
        with refused(policy, "^contexts is "):
            policy.decide_many(contexts)
        if contexts is not None:
            with refused(policy, "^contexts is "):
                policy.play(contexts, np.ones((3, 2)))
    with refused(policy, "^there are 2 contexts and 3 rows of rewards: one of each is needed$"):
        policy.play([None, None], np.ones((3, 2)))


def test_wrong_tables_of_rewards_are_refused(policy):
    for rewards in (np.ones((3, 1)), np.ones((3, 3)), np.ones(3), np.ones((3, 2, 1)), [[1.0, 0.0], [1.0]], 1.0, "ab"):
        with refused(policy, "^rewards "):
            policy.play(None, rewards)


def test_wrong_lists_of_actions_are_refused(kind):
    for actions in WRONG_LISTS:
        with refused(naming="action"):
            kind(actions=actions)


def test_wrong_new_actions_are_refused(policy):
    for action in ("a", NAN, INF, None, ["c"], b"c", np.eye(30)):
        with refused(policy, "action"):
            policy.add_action(action)


def test_wrong_seeds_are_refused(kind, policy):
    for seed in WRONG_SEEDS:
        with refused(naming="^seed is "):
            kind(actions=["a"], seed=seed)
        with refused(policy, "^seed is "):
            policy.clone({"seed": seed})


def test_wrong_reward_ranges_are_refused(kind):
    for reward_range in WRONG_RANGES:
        with refused(naming="^reward_range is .*; it must be two finite numbers, the lower one first$"):
            kind(actions=["a"], reward_range=reward_range)


@pytest.mark.parametrize(("kind", "options"), WRONG_OPTIONS, ids=lambda part: getattr(part, "__name__", None))
def test_wrong_options_are_refused_by_name(kind, options):
    with refused(naming=f"^{list(options)[-1]} is "):
        kind(actions=["a", "b"], **options)


def test_rewards_outside_another_range_are_refused(kind):
    policy = kind(actions=["a"], reward_range=(-5, 3))
    for reward in (-5.1, 3.1):
        with refused(policy, "^reward is .*; it must be a number from -5 to 3$"):
            policy.learn(Decision("a", 1.0), reward)
    for reward in (-5, 0, 3):
        policy.learn(Decision("a", 1.0), reward)
