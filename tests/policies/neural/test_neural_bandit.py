"""NeuralBandit against its twin, and what its committee does."""

import numpy as np
import pytest
from tests.reference import neural_bandit as neural

from stumpery.jit import INTERPRETED
from stumpery.policies import NeuralBandit
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.neural import network_kernels as networks
from stumpery.policies.neural import neural_bandit_kernels as neural_kernels
from stumpery.types import Decision

STEPS = 40 if INTERPRETED else 400
COMMITTEE = [(3, 0.2), (5, 0.01), (1, 1.5)]


def twin_of(policy, width):
    """The twin, with the first weights that the policy drew."""
    starts = policy._committee[:, [networks.MEMBER_START, networks.MEMBER_END]].astype(int)
    hidden, outputs = policy._model
    members = [
        neural.Member(hidden[:, :, start:end], outputs[:, start:end], rate)
        for (start, end), (_, rate) in zip(starts, policy.committee, strict=True)
    ]
    return neural.NeuralBandit(members, width, policy.gamma, policy.explore)


@pytest.mark.kernels
@pytest.mark.parametrize(("gamma", "explore"), [(0.02, 0.1), (0.5, 1.0)])
def test_every_probability_and_weight_equals_the_twin(gamma, explore):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 2, (STEPS, 3)), rng.normal(2, 5, STEPS)])
    rows[0, 3] = np.nan
    right = (rows[:, 0] + rows[:, 1] * (rows[:, 3] > 2)).astype(int)
    policy = NeuralBandit(actions=range(3), committee=COMMITTEE, gamma=gamma, explore=explore, seed=2)
    policy.decide(rows[0])
    twin = twin_of(policy, 4)
    for step, row in enumerate(rows):
        action, probability, _ = policy.decide(row)
        assert policy._statistics_of(row)[rules.ACTION_PROBABILITY] == pytest.approx(twin.probabilities(row))
        assert probability == pytest.approx(twin.probabilities(row)[action])
        reward = float(action == right[step]) if step % 7 else 0.3
        policy.learn(Decision(action, probability, row), reward)
        twin.learn(row, action, reward, probability)
    hidden = np.concatenate([member.hidden for member in twin.members], axis=2)
    constants = np.array([member.constants for member in twin.members]).T
    outputs = np.column_stack([*(member.outputs for member in twin.members), constants])
    assert policy._model.hidden == pytest.approx(hidden, abs=1e-9)
    assert policy._model.outputs == pytest.approx(outputs, abs=1e-9)
    assert neural_kernels.member_probabilities(policy._rule, policy._committee) == pytest.approx(
        twin.member_probabilities(), abs=1e-9
    )


@pytest.mark.kernels
def test_a_heavy_reward_never_overshoots():
    policy = NeuralBandit(actions=range(2), committee=[(4, 5.0)], seed=3)
    row = np.array([1.0, 0.0, 1.0])
    for reward in (1.0, 0.0, 1.0):
        before = policy._statistics_of(row)[rules.ACTION_SCORE, 0] if policy.schema else 0.0
        policy.learn(Decision(0, 1e-6, row), reward)
        after = policy._statistics_of(row)[rules.ACTION_SCORE, 0]
        assert abs(after - reward) < abs(before - reward) + 0.05


@pytest.mark.kernels
def test_probabilities_are_the_frequencies():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (60, 4)).astype(float)
    policy = NeuralBandit(actions=range(3), committee=COMMITTEE, gamma=0.3, seed=3)
    policy.play(rows, rng.random((60, 3)))
    probabilities, n = policy._statistics_of(rows[5])[rules.ACTION_PROBABILITY], 300 if INTERPRETED else 10_000
    assert probabilities.sum() == pytest.approx(1.0)
    seen = np.bincount([policy.decide(rows[5]).action for _ in range(n)], minlength=3) / n
    assert np.abs(seen - probabilities).max() <= 3 * np.sqrt(0.25 / n)


def test_it_learns_what_no_line_can_and_trusts_the_member_that_does():
    rows = np.random.default_rng(5).integers(0, 2, (20_000, 2)).astype(float)
    right = (rows[:, 0] != rows[:, 1]).astype(int)
    policy = NeuralBandit(actions=range(2), committee=[(1, 1e-6), (16, 0.1)], seed=1)
    played = policy.play(rows, np.eye(2)[right])
    assert (played.actions[-2000:] == right[-2000:]).mean() > 0.9
    decision = policy.decide(rows[0])
    assert "the network of 16 units and rate 0.1 has the highest probability" in policy.explain(decision).summary


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"gamma": 0}, "gamma is 0; it must be a number above 0 and at most 1"),
        ({"explore": 2}, "explore is 2; it must be a number above 0 and at most 1"),
        ({"committee": []}, r"committee is \[\]; it must be a list of pairs of hidden units and learning rate"),
        ({"committee": [3]}, r"committee is \[3\]; it must be a list of pairs of hidden units and learning rate"),
        ({"committee": 3}, "committee is 3; it must be a list of pairs of hidden units and learning rate"),
        ({"committee": [(0, 0.1)]}, "a number of hidden units in committee is 0; it must be .*"),
        ({"committee": [(3, "fast")]}, "a learning rate in committee is 'fast'; it must be .*"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        NeuralBandit(actions=["a"], **options)
