"""Betting confidence sequences: wealth against its slow twin, golden values, width, coverage at all times."""

import math

import numpy as np
import pytest
from tests.evaluation.off_policy.made_logs import moderate_log
from tests.reference import off_policy as slow

from stumpery.evaluation import off_policy as op
from stumpery.evaluation.off_policy.confidence import betting_kernels as kernels


def heavy_terms(n, seed, share=0.1, mean=0.6):
    """Terms of IPS: weights are 0 or 1 / share."""
    rng = np.random.default_rng(seed)
    return (rng.random(n) < share) / share * (rng.random(n) < mean)


@pytest.mark.kernels
def test_the_wealth_of_every_bet_is_that_of_the_slow_twin():
    terms, stakes, means = heavy_terms(300, 1), np.array([0.75, 0.01]), np.linspace(0.0, 1.0, 5)
    wealth = np.zeros((2, 5))
    for start in range(0, 300, 77):  # chunks that are no multiple of the terms between two logarithms
        kernels.add_terms(wealth, stakes, means, terms[start : start + 77], np.empty(5))
    for row, stake in enumerate(stakes):
        for column, mean in enumerate(means):
            expected = sum(math.log1p(stake * (term - mean)) for term in terms.tolist())
            assert wealth[row, column] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("floor", [0.0, 4.0])
@pytest.mark.parametrize("n", [20, 400, 2000])
@pytest.mark.kernels
def test_the_lower_bound_is_that_of_the_slow_twin_or_a_little_lower(n, floor):
    terms = heavy_terms(n, n) - floor * (np.arange(n) % 20 == 0)
    bets = op.LowerBets(floor)
    bets.add(terms)
    exact = slow.betting_lower(terms.tolist(), floor, 0.025)
    width = terms.mean() - exact
    assert exact - 0.02 * width <= bets.lower(0.025) <= exact + 1e-9


def test_golden_values_of_the_moderate_log():
    log = moderate_log()
    sequence = op.BettingSequence()
    sequence.add(log.weights * log.rewards, log.weights * (1.0 - log.rewards))
    low, high = sequence.interval()
    assert (round(low, 4), round(high, 4)) == (0.7129, 0.7590)
    assert low < log.truth < high


def test_it_is_narrower_than_the_empirical_bernstein_sequence():
    for share in (0.05, 0.25, 0.9):
        terms, complements = heavy_terms(5000, 3, share), heavy_terms(5000, 3, share, mean=0.4)
        bets, bernstein = op.BettingSequence(), op.ValueSequence()
        for sequence in (bets, bernstein):
            sequence.add(terms, complements)
        assert bets.interval().width < 0.9 * bernstein.interval().width


def test_without_events_nothing_is_known():
    assert op.BettingSequence().interval() == (0.0, 1.0)
    assert op.BettingSequence(5.0).interval() == (0.0, 1.0)


def test_a_term_beyond_all_bounds_keeps_the_bound_finite_and_below_the_greatest_mean():
    bets = op.LowerBets()
    bets.add(np.full(100, 1e30))
    assert bets.lower(0.025) == 1.0


def missed_at_some_time(seed, n=2000):
    """Whether the sequence misses the mean at some look, on weights of 0 or 20 and on rewards of 0 or 1."""
    found = []
    for share in (0.05, 1.0):
        rng = np.random.default_rng([seed, int(100 * share)])
        weights, rewards = (rng.random(n) < share) / share, (rng.random(n) < 0.5).astype(float)
        sequence, missed = op.BettingSequence(), False
        for start in range(0, n, 25):
            part = slice(start, start + 25)
            sequence.add((weights * rewards)[part], (weights * (1.0 - rewards))[part])
            low, high = sequence.interval()
            missed |= not low <= 0.5 <= high
        found.append(missed)
    return found


def test_it_holds_at_all_times_in_at_least_95_percent_of_streams():
    missed = np.array([missed_at_some_time(seed) for seed in range(200)])
    assert missed.mean(axis=0).max() <= 0.05
