"""Empirical likelihood of IPS with the Cressie-Read divergence: estimate and interval, from sums over a log."""

import math
from typing import NamedTuple

from stumpery.evaluation.off_policy.confidence.intervals import Interval
from stumpery.evaluation.off_policy.distributions import student_quantile
from stumpery.types import Floats

MAX_BOUND = 1e6  # of weights; beyond it the interval is that without a bound, and sums would lose their digits


class LikelihoodSums(NamedTuple):
    """Sums over a log from which the empirical likelihood is computed.

    Args:
        n: The number of events.
        w: Sum of weights.
        ww: Sum of their squares.
        wr: Sum of weight * reward.
        wwr: Sum of weight^2 * reward.
        wwrr: Sum of weight^2 * reward^2.
        r: Sum of rewards.

    >>> import numpy as np
    >>> LikelihoodSums.of(np.array([1.0, 2.0]), np.array([1.0, 0.5])).wr
    2.0
    """

    n: float
    w: float
    ww: float
    wr: float
    wwr: float
    wwrr: float
    r: float

    @classmethod
    def of(cls, weights: Floats, rewards: Floats) -> "LikelihoodSums":
        """The sums of arrays."""
        w, r = weights, rewards
        sums = (w.sum(), (w * w).sum(), (w * r).sum(), (w * w * r).sum(), (w * w * r * r).sum(), r.sum())
        return cls(float(len(w)), *map(float, sums))


def cressie_read(sums: LikelihoodSums) -> float:
    """Empirical likelihood estimate with the Cressie-Read divergence of power -2 (Karampatziakis et al. 2020).

    It uses that weights have the mean 1 and one more, unseen event, whose weight is unbounded above.

    Args:
        sums: Sums over the log.

    >>> import numpy as np
    >>> round(cressie_read(LikelihoodSums.of(np.array([2.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0]))), 6)
    0.785714
    """
    n = sums.n
    if sums.w < n:  # the unseen weight is as large as needed
        gamma, beta = -(1.0 + n) / n, 0.0
    else:
        mean, square = sums.w / (1.0 + n), sums.ww / (1.0 + n)
        gamma, beta = (square - mean) / (mean * mean - square), (1.0 - mean) / (mean * mean - square)
    value = (-gamma * sums.wr - beta * sums.wwr) / (1.0 + n)
    missing = max(0.0, 1.0 - (-gamma * sums.w - beta * sums.ww) / (1.0 + n))
    return value + missing * sums.r / n


def cressie_read_interval(sums: LikelihoodSums, level: float = 0.95, *, largest: float = math.inf) -> Interval:
    """Empirical likelihood interval with the Cressie-Read divergence, for rewards in 0..1: skewed as the weights are.

    Without a bound on the weights it is conservative: it covers more than its level, and is wider than it need be.

    Args:
        sums: Sums over the log.
        level: Coverage, between 0 and 1.
        largest: The largest weight that any event can have, above 1, which narrows the interval.

    >>> import numpy as np
    >>> sums = LikelihoodSums.of(np.array([2.0, 0.0, 1.0, 1.0] * 50), np.array([1.0, 1.0, 0.0, 1.0] * 50))
    >>> [round(end, 3) for end in cressie_read_interval(sums)]
    [0.651, 0.811]
    """
    largest = largest if largest <= MAX_BOUND else math.inf
    n, unseen = sums.n, largest if sums.w < sums.n else 0.0
    spread = 1.0 + 1.0 / n  # where the unseen weight is unbounded
    if math.isfinite(unseen):
        mean, square = (unseen + sums.w) / (1.0 + n), (unseen * unseen + sums.ww) / (1.0 + n)
        spread = (1.0 + n) * (mean - 1.0) ** 2 / (square - mean * mean)
    phi = (-spread - student_quantile(0.5 + level / 2.0, n) ** 2) / (2.0 * (1.0 + n))
    ends = []
    for reward, sign in ((0.0, 1.0), (1.0, -1.0)):
        ends.append(sign * min(_bounds(sums, phi, reward, sign, largest), default=0.0))
    low, high = ends
    return Interval(min(1.0, max(0.0, low)), min(1.0, max(0.0, high)))


def _bounds(sums: LikelihoodSums, phi: float, r: float, sign: float, largest: float) -> list[float]:
    """Lower bounds of sign * value, with an unseen event of reward r, whose weight is 0 or the largest.

    Where all weights are 1, such as those of the policy that logged, it may be 1, too: without it, rewards that are all
    the same would be sure to stay so.
    """
    n, found = sums.n, []
    weights = {0.0, largest, 1.0} if sums.w == sums.n == sums.ww else {0.0, largest}
    for unseen in sorted(weights - {math.inf}):
        mean, square = (unseen + sums.w) / (1.0 + n), (unseen * unseen + sums.ww) / (1.0 + n)
        reward = sign * (unseen * r + sums.wr) / (1.0 + n)
        both = sign * (unseen * unseen * r + sums.wwr) / (1.0 + n)
        squares = (unseen * unseen * r * r + sums.wwrr) / (1.0 + n)
        if square > mean * mean:
            spread, covariance = square - mean * mean, both - mean * reward
            x = reward + (1.0 - mean) * covariance / spread
            y = covariance**2 / spread - (squares - reward**2)
            found += _bound(x, y, phi + 0.5 * (1.0 - mean) ** 2 / spread)
        elif mean == 1.0:  # that the weights' mean is 1 says nothing of rewards
            found += _bound(reward, reward**2 - squares, phi)
    if math.isinf(largest):
        x = sign * (r + (sums.wr - sums.w * r) / n)
        y = (r * sums.w - sums.wr) ** 2 / (n * (1.0 + n))
        y -= (r * r * sums.ww - 2.0 * r * sums.wwr + sums.wwrr) / (1.0 + n)
        found += _bound(x, y, phi + 0.5 / n)
    return found


def _bound(x: float, y: float, z: float) -> list[float]:
    """The lower root of a parabola, if there is one."""
    if abs(y * z) < 1e-18:
        return [x]
    return [x - math.sqrt(2.0 * y * z)] if z <= 0.0 and y * z >= 0.0 else []
