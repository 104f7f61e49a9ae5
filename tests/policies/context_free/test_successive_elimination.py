"""Successive elimination against Algorithm 3 and equation (2) of Feraud et al. 2016."""

import numpy as np
import pytest
from tests.reference import bandits

from stumpery.jit import INTERPRETED
from stumpery.policies import SuccessiveElimination
from stumpery.policies.bandit_forest.sample_complexity import plays_until_elimination
from stumpery.types import Decision

pytestmark = pytest.mark.kernels

STEPS = 600 if INTERPRETED else 4000


def run(policy, paid, steps):
    """Play for `steps` where `paid` maps an action to its certain reward."""
    for _ in range(steps):
        decision = policy.decide()
        policy.learn(decision, paid[decision.action])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.05), (0.3, 0.5), (1.0, 1.0)])
def test_every_decision_equals_the_twin(epsilon, delta, seed):
    rng = np.random.default_rng(seed)
    means = rng.random(6)
    policy = SuccessiveElimination(actions=list("abcdef"), epsilon=epsilon, delta=delta)
    twin = bandits.SuccessiveElimination("abcdef", epsilon, delta)
    for step in range(STEPS):
        if step == STEPS // 4:
            policy.remove_action("b")
            twin.remove("b")
        if step == STEPS // 2:
            policy.add_action("g")
            twin.add("g")
            means = np.append(means, 0.99)
        decision = policy.decide()
        assert decision == (twin.decide(), 1.0, None)
        reward = float(rng.random() < means["abcdefg".index(decision.action)])
        policy.learn(decision, reward)
        twin.learn(decision.action, reward)
        assert list(policy.remaining) == twin.remaining


def test_the_turn_passes_on_when_an_earlier_action_is_removed():
    policy = SuccessiveElimination(actions=list("abcd"))
    assert [policy.decide().action for _ in range(2)] == ["a", "b"]
    policy.remove_action("a")
    assert [policy.decide().action for _ in range(4)] == ["c", "d", "b", "c"]


@pytest.mark.parametrize(("gap", "epsilon", "delta"), [(0.5, 0.0, 0.05), (0.25, 0.5, 0.1), (0.0, 0.75, 0.5)])
def test_an_action_goes_exactly_at_the_play_that_the_bound_predicts(gap, epsilon, delta):
    policy = SuccessiveElimination(actions=["good", "bad"], epsilon=epsilon, delta=delta)
    plays = plays_until_elimination(gap=gap, epsilon=epsilon, n_hypotheses=2, delta=delta)
    paid = {"good": 0.75, "bad": 0.75 - gap}
    run(policy, paid, 2 * plays - 1)
    assert policy.remaining == ("good", "bad")
    run(policy, paid, 1)
    assert policy.remaining == ("good",)
    run(policy, paid, 10)
    assert [row["n"] for row in policy.explain().rows] == [plays + 10, plays]


def test_the_best_action_survives_with_the_promised_probability():
    n_problems, delta = (20, 0.5) if INTERPRETED else (400, 0.5)
    lost = 0
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        means = rng.random(4)
        rewards = (rng.random((STEPS, 4)) < means).astype(float)
        policy = SuccessiveElimination(actions=range(4), delta=delta, seed=seed)
        policy.play(None, rewards)
        lost += int(means.argmax()) not in policy.remaining
    assert lost <= delta * n_problems / 4  # the bound is a union of loose ones: in truth far fewer are lost


def test_when_the_winner_goes_the_others_compete_again():
    policy = SuccessiveElimination(actions=["a", "b", "c"])
    run(policy, {"a": 1.0, "b": 0.0, "c": 0.0}, 300)
    assert policy.remaining == ("a",)
    policy.remove_action("a")
    assert policy.remaining == ("b", "c")
    run(policy, {"b": 0.0, "c": 1.0}, 300)
    assert policy.remaining == ("c",)


def test_an_action_added_after_the_end_stands_the_same_test():
    policy = SuccessiveElimination(actions=["a", "b"])
    run(policy, {"a": 0.5, "b": 0.0}, 300)
    assert policy.remaining == ("a",)
    policy.add_action("late")
    run(policy, {"a": 0.5, "late": 1.0}, 600)
    assert policy.remaining == ("late",)


def test_drawn_choices_have_equal_probabilities_among_those_that_remain():
    policy = SuccessiveElimination(actions=["a", "b", "c", "d"], explore="drawn", epsilon=0.0, seed=3)
    assert {policy.decide().probability for _ in range(50)} == {0.25}
    n = 300 if INTERPRETED else 4000
    drawn = policy.decide_many(n, available=["a", "b", "d"])
    assert set(drawn.probabilities) == {1 / 3}
    counts = [drawn.actions.count(action) for action in "abcd"]
    assert counts[2] == 0
    assert np.abs(np.array(counts)[[0, 1, 3]] - n / 3).max() < 4 * np.sqrt(n * 2 / 9)
    run(policy, {"a": 1.0, "b": 0.9, "c": 0.0, "d": 0.0}, 300)
    assert policy.remaining == ("a", "b")
    assert policy.decide().probability == 0.5


@pytest.mark.parametrize("explore", ["in turn", "drawn"])
def test_where_none_of_the_available_remains_any_of_them_is_drawn(explore):
    policy = SuccessiveElimination(actions=["a", "b", "c"], explore=explore, seed=1)
    run(policy, {"a": 1.0, "b": 0.0, "c": 0.0}, 300)
    drawn = policy.decide_many(200, available=["b", "c"])
    assert set(drawn.actions) == {"b", "c"}
    assert set(drawn.probabilities) == {0.5}
    assert policy.decide(available=["a", "b"]) == ("a", 1.0, None)


def test_a_late_reward_of_a_dropped_action_is_kept_but_does_not_bring_it_back():
    policy = SuccessiveElimination(actions=["a", "b"])
    run(policy, {"a": 1.0, "b": 0.0}, 300)
    before = policy.explain().rows[1]["n"]
    policy.learn(Decision("b", 1.0), 1.0)
    assert policy.remaining == ("a",)
    assert policy.explain().rows[1]["n"] == before + 1


def test_in_turn_every_available_action_is_played_equally_often():
    policy = SuccessiveElimination(actions=list("abcde"))
    drawn = policy.decide_many(30, available=["a", "c", "d"])
    assert drawn.actions == ["a", "c", "d"] * 10
