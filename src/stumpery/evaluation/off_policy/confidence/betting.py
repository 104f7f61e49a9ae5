"""Betting confidence sequences: narrower than empirical-Bernstein ones, for a value that stays along the log.

They bet against every possible value and reject those against which the bets have won much (Waudby-Smith and Ramdas
2023, hedged capital with diversified Kelly bets; for off-policy evaluation Waudby-Smith et al. 2022).
"""

import math

import numpy as np

from stumpery.evaluation.off_policy.confidence.betting_kernels import add_terms, rejected_mean
from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.types import Floats

MAX_STAKE, N_STAKES = 0.75, 12  # each half of the one before: right for up to some ten million events
N_MEANS = 33
MAX_TERM = 1e8  # a greater term counts as this, which keeps a lower bound


class LowerBets:
    """Lower betting confidence sequence of the mean of a stream that stays; its state is the wealth of each bet.

    Args:
        floor: How far below 0 a term may be; 0 for IPS of rewards from 0.

    >>> bets = LowerBets()
    >>> bets.add(np.array([0.0, 1.0] * 500))
    >>> round(bets.lower(0.05), 3)
    0.449
    """

    def __init__(self, floor: float = 0.0) -> None:
        self._floor, self._scale = floor, floor + 1.0
        self._stakes: Floats = MAX_STAKE * np.power(0.5, np.arange(N_STAKES))
        self._means = (floor + np.linspace(0.0, 1.0, N_MEANS)) / self._scale
        self._log_wealth = np.zeros((N_STAKES, N_MEANS))
        self._products = np.empty(N_MEANS)
        self.n = 0

    def add(self, terms: Floats) -> None:
        """Add terms in their order."""
        scaled = np.clip((terms + self._floor) / self._scale, 0.0, MAX_TERM)
        add_terms(self._log_wealth, self._stakes, self._means, scaled, self._products)
        self.n += len(terms)

    def lower(self, alpha: float) -> float:
        """The lower bound now; the probability that it ever exceeds the mean is at most alpha."""
        rejected = rejected_mean(self._log_wealth, self._means, -math.log(alpha))
        return min(max(float(rejected) * self._scale - self._floor, 0.0), 1.0)


class BettingSequence:
    """Betting confidence sequence of a value between 0 and 1 that stays, from terms of it and of 1 minus it.

    Args:
        floor: How far below 0 a term may be.

    >>> sequence = BettingSequence()
    >>> weights, rewards = np.array([2.0, 0.0] * 500), np.array([1.0, 1.0, 0.0, 0.0] * 250)
    >>> sequence.add(weights * rewards, weights * (1.0 - rewards))
    >>> [round(end, 2) for end in sequence.interval()]
    [0.41, 0.59]
    """

    def __init__(self, floor: float = 0.0) -> None:
        self._lower, self._upper = LowerBets(floor), LowerBets(floor)

    def add(self, terms: Floats, complements: Floats) -> None:
        """Add, for each event in order, a term of the value, and a term of 1 minus it."""
        self._lower.add(terms)
        self._upper.add(complements)

    def interval(self, level: float = 0.95) -> Interval:
        """The interval now; it holds at all times with probability `level`."""
        alpha = (1.0 - level) / 2.0
        return Interval(self._lower.lower(alpha), 1.0 - self._upper.lower(alpha))
