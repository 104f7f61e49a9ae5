"""Probabilities and predicted rewards of many rows in one call, and tests of each logged event before it is learned."""

import numpy as np
import pytest
from tests.support import assert_same_state, copy_of_state

import stumpery as st
from stumpery.policies import Banditron, LinearPolicy

ACTIONS = ("a", "b", "c")
RNG = np.random.default_rng(3)
ROWS = [
    {"hour": int(hour), "device": str(device), "age": None if hour % 5 == 0 else float(age)}
    for hour, device, age in zip(
        RNG.integers(0, 24, 240), RNG.choice(["tv", "phone"], 240), RNG.normal(30, 9, 240), strict=True
    )
]
BEST = ["a" if row["hour"] < 8 else "b" if row["device"] == "tv" else "c" for row in ROWS]
SCHEMA = st.Schema.infer(ROWS)
KINDS = {
    "forest": lambda: st.RewardForest(actions=ACTIONS, seed=4, n_trees=5, schema=SCHEMA),
    "greedy forest": lambda: st.RewardForest(
        actions=ACTIONS, seed=4, n_trees=5, schema=SCHEMA, explorer=st.explorers.greedy(), reward_range=(-2.0, 3.0)
    ),
    "forest with features": lambda: st.RewardForest(
        actions=ACTIONS, n_trees=5, schema=SCHEMA, features={"a": {"topic": "x"}, "b": {"topic": "x"}}
    ),
    "forest by Thompson": lambda: st.RewardForest(
        actions=ACTIONS, n_trees=5, schema=SCHEMA, explorer=st.explorers.uncertainty_thompson()
    ),
    "LinUCB": lambda: st.LinUCB(actions=ACTIONS, schema=SCHEMA, reward_range=(-2.0, 3.0)),
    "linear": lambda: LinearPolicy(actions=ACTIONS, schema=SCHEMA),
    "neural": lambda: st.NeuralBandit(actions=ACTIONS, schema=SCHEMA),
    "Banditron": lambda: Banditron(actions=ACTIONS, schema=SCHEMA),
    "bandit forest": lambda: st.BanditForest(actions=ACTIONS, n_trees=3, schema=SCHEMA),
    "means": lambda: st.EpsilonGreedy(actions=ACTIONS, seed=1),
}
PREDICTORS = [name for name in KINDS if name not in ("Banditron", "bandit forest", "means")]


@pytest.fixture(params=KINDS)
def policy(request):
    return KINDS[request.param]()


@pytest.fixture(params=PREDICTORS)
def predictor(request):
    return KINDS[request.param]()


def log_of(policy, n=120):
    low, high = policy.reward_range
    decisions = st.policies.RandomPolicy(actions=ACTIONS, seed=8).decide_many(ROWS[:n])
    pairs = zip(decisions.actions, BEST, strict=False)
    return decisions, np.array([high if action == best else low for action, best in pairs])


@pytest.mark.parametrize("available", [None, ["c", "a"]])
def test_an_event_is_tested_before_it_is_learned(policy, available):
    """The slow way is a loop over `probabilities`, `predict_rewards` and `learn`."""
    decisions, rewards = log_of(policy)
    twin = policy.clone()
    tested = policy.test_then_learn(decisions, rewards, available=available)
    for row, (decision, reward) in enumerate(zip(decisions, rewards.tolist(), strict=True)):
        assert tested.probabilities[row].tolist() == twin.probabilities(decision.context, available=available).tolist()
        if tested.rewards is not None:
            assert tested.rewards[row].tolist() == twin.predict_rewards(decision.context).tolist()
        twin.learn(decision, reward)
    assert_same_state(policy, twin)


def test_tests_leave_the_same_policy_as_learning_alone(policy):
    decisions, rewards = log_of(policy)
    twin = policy.clone()
    policy.test_then_learn(decisions, rewards)
    twin.learn_many(decisions, rewards)
    assert_same_state(policy, twin)


def test_predicted_rewards_are_the_scores_of_an_explanation_and_change_nothing(predictor):
    predictor.learn_many(*log_of(predictor))
    before = copy_of_state(predictor)
    rows = [*ROWS[120:140], {"hour": 3, "device": "a new name"}, {}]
    many = predictor.predict_rewards_many(rows)
    one_by_one = [predictor.predict_rewards(row).tolist() for row in rows]
    assert_same_state(before, predictor)
    assert many.tolist() == one_by_one
    for row, predicted in zip(rows[:3], many, strict=False):
        scores = {line["action"]: line["score"] for line in predictor.explain(st.Decision("a", 0.5, row)).rows}
        assert predicted.tolist() == pytest.approx([scores[action] for action in ACTIONS], abs=1e-9)


def test_probabilities_of_many_rows_equal_the_frequencies_of_draws(predictor):
    predictor.learn_many(*log_of(predictor))
    row = ROWS[130]
    drawn = predictor.decide_many([row] * 4000).actions
    probabilities = predictor.probabilities_many([row] * 3)
    for index, action in enumerate(ACTIONS):
        share = drawn.count(action) / 4000
        assert abs(share - probabilities[2, index]) < 5.0 * np.sqrt(share * (1.0 - share) / 4000) + 0.01


def test_no_rows_give_empty_results(predictor):
    assert predictor.predict_rewards_many([]).shape == (0, 3)
    assert predictor.test_then_learn([], []).probabilities.shape == (0, 3)


def test_a_policy_without_columns_predicts_by_a_copy():
    policy = st.RewardForest(actions=ACTIONS)
    assert policy.predict_rewards_many(ROWS[:5]).shape == (5, 3)
    assert policy.schema is None


def test_a_bad_log_is_refused_and_nothing_is_learned(policy):
    decisions, rewards = log_of(policy)
    before = copy_of_state(policy)
    bad = [(decisions, rewards[:-1]), (decisions, np.full(120, np.nan)), ([st.Decision("z", 0.5, ROWS[0])], [0.0])]
    bad.append(([st.Decision("a", 0.0, ROWS[0])], [0.0]))
    for events, values in bad:
        with pytest.raises(st.InvalidInput):
            policy.test_then_learn(events, values)
    assert_same_state(before, policy)
