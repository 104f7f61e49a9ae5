"""Online stacking against its slow twin, and forests whose rewards are late."""

import numpy as np
import pytest
from tests.reference.online_stacking import OnlineStacking

import stumpery as st
from stumpery.jit import INTERPRETED, kernel
from stumpery.policies.reward_forest.scorers import scorers_kernels as scorers

INITIAL = (0.25, 0.25, 0.25, 0.0, 0.25)
N_POKER, DELAY, BLOCK = 60_000, 3_000, 250


@kernel
def learn_one(moments, system, weights, predictions, reward, before, n_events):
    """Fold one event into the moments and solve for the weights, in place."""
    decay = scorers.stacking_decay(before, n_events)
    scorers.update_moments(moments, predictions, 0, reward, decay)
    scorers.solve_weights(moments, system, INITIAL, weights)


@kernel
def decay_of(before, n_events):
    """The decay of old moments."""
    return scorers.stacking_decay(before, n_events)


@pytest.mark.kernels
@pytest.mark.plain
def test_weights_equal_the_slow_twin_also_after_drifts():
    rng, twin = np.random.default_rng(1), OnlineStacking()
    moments, system, weights = np.zeros((4, 5)), np.zeros((4, 5)), np.zeros(5)
    n, drifts = (60, {25}) if INTERPRETED else (5_000, {3_000, 4_500})
    before = 0.0
    for event in range(n):
        has_drifted = event in drifts
        truth = rng.random()
        noise = (0.3, 0.2, 0.4, 0.5, 0.1) if event < n // 2 else (0.3, 0.1, 0.4, 0.1, 0.4)
        predictions = truth + rng.normal(size=5) * noise
        n_events = 0.0 if has_drifted else before + 1.0
        learn_one(moments, system, weights, predictions[:, None], truth, before, n_events)
        before = n_events
        twin.learn(predictions.tolist(), truth, has_drifted)
        if event % (n // 15) == 0:
            assert weights == pytest.approx(twin.weights(INITIAL), abs=1e-9)
    assert weights == pytest.approx(twin.weights(INITIAL), abs=1e-9)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("before", "n_events", "decay"),
    [
        (0.0, 1.0, 0.9995),
        (1_999.0, 2_000.0, 0.9995),
        (9_999.0, 10_000.0, 0.9999),
        (1e6, 1e6 + 1, 0.99998),
        (10_000.0, 0.0, 0.2),
        (1_500.0, 0.0, 1.0),
    ],
)
def test_the_stacking_remembers_as_many_events_as_the_concept_has(before, n_events, decay):
    assert decay_of(before, n_events) == pytest.approx(decay, abs=1e-12)


def learned_late(policy, contexts, rewards, delay):
    """What a policy earns that learns each reward after `delay` further decisions, in blocks of a few."""
    earned, waiting = [], []
    for start in range(0, len(rewards), BLOCK):
        decisions = policy.decide_many(contexts[start : start + BLOCK])
        paid = rewards[np.arange(start, start + len(decisions)), [policy.actions.index(a) for a in decisions.actions]]
        earned.append(paid)
        waiting.append((decisions, paid))
        if len(waiting) > delay // BLOCK:
            policy.learn_many(*waiting.pop(0))
    return np.concatenate(earned)


def test_late_rewards_are_no_drift_and_move_the_weights_little():
    batch = next(st.streams.PokerHands().batches(seed=3, size=N_POKER))
    policy = st.RewardForest(actions=list(range(10)), seed=3)
    earned = learned_late(policy, batch.contexts, batch.rewards, DELAY).reshape(-1, 1_000).mean(axis=1)
    assert policy.n_drifts == 0
    assert earned[-20:].min() > 0.75


def test_a_drift_is_noticed_also_when_rewards_are_late():
    stream = st.streams.TreeProblem(n_names=0, depth=3, n_actions=4, drift="abrupt", drift_every=15_000)
    batch = next(stream.batches(seed=1, size=30_000))
    policy = st.RewardForest(actions=list(range(4)), seed=1)
    earned = learned_late(policy, batch.contexts, batch.rewards, 1_000)
    assert policy.n_drifts == 1
    assert earned[-3_000:].mean() > earned[12_000:15_000].mean() - 0.05
