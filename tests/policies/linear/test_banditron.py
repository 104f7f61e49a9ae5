"""The Banditron against its twin, step for step."""

import numpy as np
import pytest
from tests.reference import banditron

from stumpery.jit import INTERPRETED
from stumpery.policies import Banditron
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.types import Decision

pytestmark = [pytest.mark.kernels, pytest.mark.plain]

STEPS = 80 if INTERPRETED else 600


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0])
def test_every_probability_and_weight_equals_the_twin(gamma):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 2, (STEPS, 3)), rng.normal(2, 5, STEPS)])
    right = (rows[:, 0] + 2 * (rows[:, 3] > 2)).astype(int)
    policy, twin = Banditron(actions=range(4), gamma=gamma, seed=2), banditron.Banditron(4, 4, gamma)
    for step, row in enumerate(rows):
        action, probability, _ = policy.decide(row)
        assert policy._statistics_of(row)[rules.ACTION_PROBABILITY] == pytest.approx(twin.probabilities(row))
        assert probability == pytest.approx(twin.probabilities(row)[action])
        reward = float(action == right[step]) if step % 7 else 0.3
        policy.learn(Decision(action, probability, row), reward)
        twin.learn(row, action, reward, probability)
        assert policy._model.weights == pytest.approx(twin.weights, abs=1e-9)


def test_probabilities_are_the_frequencies():
    policy = Banditron(actions=range(3), gamma=0.3, seed=3)
    row, n = np.array([1.0, 0.0]), 300 if INTERPRETED else 10_000
    policy.learn(Decision(1, 0.5, row), 1.0)
    drawn = [policy.decide(row) for _ in range(n)]
    actions = [decision.action for decision in drawn]
    seen = np.bincount(actions, minlength=3) / n
    assert np.abs(seen - [0.1, 0.8, 0.1]).max() <= 3 * np.sqrt(0.25 / n)
    assert [decision.probability for decision in drawn] == pytest.approx(np.array([0.1, 0.8, 0.1])[actions])


def test_it_learns_a_rule_that_it_can_draw():
    n = 600 if INTERPRETED else 4000
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (n, 5)).astype(float)
    right = rows[:, 0].astype(int)
    played = Banditron(actions=range(2), gamma=0.1).play(rows, np.eye(2)[right])
    assert (played.actions[n // 2 :] == right[n // 2 :]).mean() > 0.85


@pytest.mark.parametrize("gamma", [0, -0.1, 1.1, "much", None])
def test_a_wrong_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match=r"^gamma is .*; it must be a number above 0 and at most 1$"):
        Banditron(actions=["a"], gamma=gamma)
