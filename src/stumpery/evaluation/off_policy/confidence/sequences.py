"""Confidence sequences of off-policy estimates: intervals that hold at all times together, while a log grows.

They need neither independent events nor a logging policy that stays: only that each logged probability was exact given
what came before (Karampatziakis et al. 2021, Waudby-Smith et al. 2022). They cover the mean, over the events so far, of
what the policy earns in expectation, also where that drifts. Two one-sided sequences share the error: one bounds the
rewards from below, one what the rewards lack of the greatest reward.
"""

import math

import numpy as np

from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.evaluation.off_policy.confidence.sequences_kernels import lower_mean
from stumpery.types import Floats, Integers


class LowerSequence:
    """Lower confidence sequence of the mean of a stream, by an empirical-Bernstein mixture; its state is three numbers.

    Args:
        floor: How far below 0 a term may be; 0 for IPS of rewards from 0.
        cap: The greatest possible mean.

    >>> sequence = LowerSequence()
    >>> sequence.add(np.array([0.0, 1.0] * 500))
    >>> round(sequence.lower(0.05), 3)
    0.444
    """

    def __init__(self, floor: float = 0.0, cap: float = 1.0) -> None:
        self.floor, self.cap = floor, cap
        self.n, self.total, self.squares = 0, 0.0, 0.0

    def add(self, terms: Floats) -> None:
        """Add terms in their order; each is predicted by the mean of those before it."""
        if not len(terms):
            return
        before = self.total + np.concatenate([[0.0], np.cumsum(terms)[:-1]])
        predicted = np.clip((before + 0.5) / (self.n + 1.0 + np.arange(len(terms))), -self.floor, self.cap)
        deviations = (terms - predicted) / (self.floor + self.cap)
        self.squares += float(deviations @ deviations)
        self.total += float(terms.sum())
        self.n += len(terms)

    def lower(self, alpha: float) -> float:
        """The lower bound now; the probability that it ever exceeds the mean is at most alpha."""
        if not self.n:
            return 0.0
        scale = self.floor + self.cap
        return scale * float(lower_mean(float(self.n), self.total / scale, self.squares, 0.0, -math.log(alpha)))


class ValueSequence:
    """Confidence sequence of a mean between 0 and 1, from terms of it and of 1 minus it.

    Args:
        floor: How far below 0 a term may be.

    >>> sequence = ValueSequence()
    >>> weights, rewards = np.array([2.0, 0.0] * 500), np.array([1.0, 1.0, 0.0, 0.0] * 250)
    >>> sequence.add(weights * rewards, weights * (1.0 - rewards))
    >>> [round(end, 2) for end in sequence.interval()]
    [0.4, 0.6]
    """

    def __init__(self, floor: float = 0.0) -> None:
        self._lower, self._upper = LowerSequence(floor), LowerSequence(floor)

    @property
    def n(self) -> int:
        """The number of events."""
        return self._lower.n

    def add(self, terms: Floats, complements: Floats) -> None:
        """Add, for each event in order, a term of the mean, and a term of 1 minus it."""
        self._lower.add(terms)
        self._upper.add(complements)

    def interval(self, level: float = 0.95, *, scale: float = 1.0) -> Interval:
        """The interval now; it holds at all times with probability `level`. Terms are divided by the scale."""
        alpha = (1.0 - level) / 2.0
        low, high = self._lower.lower(alpha) / scale, 1.0 - self._upper.lower(alpha) / scale
        return Interval(min(low, 1.0), max(high, 0.0))  # weights of false probabilities lead beyond


class DifferenceSequence:
    """Confidence sequence of the difference of two policies' values, paired on the same events.

    Args:
        floor: How far below 0 a term of each may be.

    >>> sequence = DifferenceSequence()
    >>> ones, halves = np.ones(1000), np.array([0.0, 1.0] * 500)
    >>> sequence.add((ones, 1.0 - ones), (halves, 1.0 - halves))
    >>> sequence.interval().low > 0.0
    True
    """

    def __init__(self, floor: float = 0.0) -> None:
        self._better, self._worse = LowerSequence(2.0 * floor, 2.0), LowerSequence(2.0 * floor, 2.0)
        self.decided_at: int | None = None

    def add(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats], level: float = 0.95) -> None:
        """Add, for each event in order, both policies' terms and complements; notes when 0 is left for the first time.

        That is the stopping rule: from then on one policy is better than the other with probability `level`, however
        often one has looked.
        """
        self._better.add(first[0] + second[1])
        self._worse.add(second[0] + first[1])
        if self.decided_at is None:
            low, high = self.interval(level)
            if low > 0.0 or high < 0.0:
                self.decided_at = self._better.n

    def interval(self, level: float = 0.95, *, scale: float = 1.0) -> Interval:
        """The interval now of the first policy's value minus the second's. Terms are divided by the scale."""
        alpha = (1.0 - level) / 2.0
        return Interval(self._better.lower(alpha) / scale - 1.0, 1.0 - self._worse.lower(alpha) / scale)


def bounded_terms(
    weights: Floats, rewards: Floats, logged: Integers, predicted: Floats, probabilities: Floats, limits: Floats
) -> Floats:
    """Doubly robust terms that are never below minus their floor: predictions are cut where weights may be large.

    Args:
        weights: Importance weight of each event.
        rewards: Rewards in 0..1.
        logged: Index of each event's logged action.
        predicted: Predicted reward of every action, (events, actions), in 0..1, from what came before each event.
        probabilities: The target policy's probability of every action, (events, actions).
        limits: The largest prediction of every action, (events, actions): the floor over a bound on its weight.

    >>> half = np.array([[0.5, 0.5]])
    >>> bounded_terms(np.array([2.0]), np.array([1.0]), np.array([0]), half, half, np.full((1, 2), 10.0))
    array([1.5])
    """
    cut = np.minimum(predicted, limits)
    own = np.take_along_axis(cut, logged[:, None], axis=1)[:, 0]
    terms: Floats = (probabilities * cut).sum(axis=1) + weights * (rewards - own)
    return terms
