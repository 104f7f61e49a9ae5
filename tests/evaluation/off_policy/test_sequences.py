"""Confidence sequences: the boundary against numerical integration, coverage at all times, doubly robust terms."""

import math

import numpy as np
import pytest
from tests.evaluation.off_policy.made_logs import moderate_log
from tests.reference import off_policy as slow

from stumpery.evaluation import off_policy as op
from stumpery.evaluation.off_policy.confidence import sequences_kernels as kernels

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("s", "v"), [(0.0, 0.3), (2.5, 1.0), (30.0, 60.0), (200.0, 5000.0)])
def test_the_wealth_is_the_mixture_of_all_bets(s, v):
    assert kernels.log_wealth(s, v) == pytest.approx(slow.log_wealth(s, v), abs=1e-4)


def test_the_lower_bound_is_where_the_wealth_reaches_its_threshold():
    n, total, v, threshold = 1000.0, 400.0, 200.0, math.log(40.0)
    low = kernels.lower_mean(n, total, v, 0.0, threshold)
    assert kernels.log_wealth(total - n * low, v) == pytest.approx(threshold, abs=1e-6)
    assert 0.0 < low < 0.4


@pytest.mark.parametrize("floor", [0.0, 5.0])
def test_sums_in_chunks_equal_those_event_by_event(floor):
    terms = np.random.default_rng(3).normal(0.4, 1.0, 500)
    sequence = op.LowerSequence(floor)
    for start in range(0, 500, 37):
        sequence.add(terms[start : start + 37])
    total, squares = slow.sequence_sums(terms.tolist(), floor, 1.0)
    assert sequence.total / (floor + 1.0) == pytest.approx(total, rel=1e-9)
    assert sequence.squares == pytest.approx(squares, rel=1e-9)


def test_without_events_nothing_is_known():
    assert op.ValueSequence().interval() == (0.0, 1.0)
    assert op.DifferenceSequence().interval() == (-1.0, 1.0)


def test_doubly_robust_sequences_are_narrower_and_stay_above_their_floor():
    log, floor = moderate_log(4000), 4.0
    limits = floor * log.logging / log.target
    r, q = log.rewards, log.predictions
    terms = op.bounded_terms(log.weights, r, log.actions, q, log.target, limits)
    complements = op.bounded_terms(log.weights, 1.0 - r, log.actions, 1.0 - q, log.target, limits)
    assert terms.min() >= -floor
    robust, plain = op.ValueSequence(floor), op.ValueSequence()
    robust.add(terms, complements)
    plain.add(log.weights * r, log.weights * (1.0 - r))
    assert robust.interval().width < 0.85 * plain.interval().width
    assert robust.interval().low < log.truth < robust.interval().high


def run_of_an_adaptive_log(seed, n=1200):
    """Whether intervals hold at all times, where an epsilon-greedy policy logs and its second arm is evaluated."""
    rng = np.random.default_rng(seed)
    means, sums, counts = (0.5, 0.5), np.zeros(2), np.zeros(2)
    terms, complements = np.empty(n), np.empty(n)
    for event in range(n):
        leader = int(np.argmax((sums + 1.0) / (counts + 2.0)))
        probabilities = np.full(2, 0.05)
        probabilities[leader] += 0.9
        action = int(rng.random() < probabilities[1])
        reward = float(rng.random() < means[action])
        weight = (action == 1) / probabilities[1]
        terms[event], complements[event] = weight * reward, weight * (1.0 - reward)
        sums[action] += reward
        counts[action] += 1.0
    sequence, holds, normal_holds = op.ValueSequence(), True, True
    for start in range(0, n, 50):
        sequence.add(terms[start : start + 50], complements[start : start + 50])
        low, high = sequence.interval()
        holds &= low <= 0.5 <= high
        normal = op.normal_interval(terms[: start + 50])
        normal_holds &= normal.low <= 0.5 <= normal.high
    return holds, normal_holds


def test_sequences_hold_at_all_times_on_logs_of_a_policy_that_learns_where_normal_intervals_fail():
    runs = np.array([run_of_an_adaptive_log(seed) for seed in range(100)])
    assert runs[:, 0].mean() >= 0.95
    assert runs[:, 1].mean() < 0.8


def test_a_difference_is_decided_once_and_stays_decided():
    rng = np.random.default_rng(4)
    better, worse = (rng.random(3000) < 0.6).astype(float), (rng.random(3000) < 0.4).astype(float)
    sequence = op.DifferenceSequence()
    for start in range(0, 3000, 100):
        part = slice(start, start + 100)
        sequence.add((better[part], 1.0 - better[part]), (worse[part], 1.0 - worse[part]))
    assert sequence.decided_at is not None
    assert sequence.decided_at < 2000
    assert sequence.interval().low > 0.0
