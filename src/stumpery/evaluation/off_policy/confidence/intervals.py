"""Confidence intervals of off-policy estimates at a number of events fixed beforehand, for a logging policy that stays.

For a log that is watched while it grows, or whose policy learned while it logged, see `sequences`.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.evaluation.off_policy.distributions import beta_quantile, normal_cdf, normal_quantile
from stumpery.types import Floats

N_RESAMPLES = 1000
BATCH_RESAMPLES = 50  # drawn at a time, to bound memory


class Interval(NamedTuple):
    """Confidence interval of a policy's value.

    Args:
        low: The lower end.
        high: The upper end.

    >>> Interval(0.25, 0.5).width
    0.25
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low


NOTHING = Interval(-math.inf, math.inf)  # what is known of a value without events


def normal_interval(terms: Floats, level: float = 0.95) -> Interval:
    """Normal interval of a mean: it assumes many independent events, none of which dominates the sum.

    Args:
        terms: What each event adds to the mean, such as w * r for IPS.
        level: Coverage, between 0 and 1.

    >>> [round(end, 3) for end in normal_interval(np.array([0.0, 1.0] * 50))]
    [0.402, 0.598]
    """
    n = len(terms)
    if n < 2:
        return NOTHING
    half_width = normal_quantile(0.5 + level / 2.0) * float(terms.std(ddof=1)) / math.sqrt(n)
    mean = float(terms.mean())
    return Interval(mean - half_width, mean + half_width)


def bootstrap_interval(influences: Floats, estimate: float, level: float = 0.95, *, seed: int = 0) -> Interval:
    """BCa bootstrap interval (Efron 1987): bias-corrected and accelerated, for estimates that are skewed.

    Args:
        influences: How far each event, or block of events, moves the estimate: its terms minus the estimate.
        estimate: The estimate.
        level: Coverage, between 0 and 1.
        seed: Seed of the resamples.

    >>> [round(end, 2) for end in bootstrap_interval(np.array([-0.5, 0.5] * 50), 0.5)]
    [0.41, 0.61]
    """
    n = len(influences)
    if n < 2 or not influences.any():
        return NOTHING if n < 2 else Interval(estimate, estimate)
    rng, moved = np.random.default_rng(seed), np.empty(N_RESAMPLES)
    for start in range(0, N_RESAMPLES, BATCH_RESAMPLES):
        drawn = rng.integers(0, n, (BATCH_RESAMPLES, n), dtype=np.int32)
        moved[start : start + BATCH_RESAMPLES] = influences[drawn].mean(axis=1)
    moved.sort()
    below = (np.sum(moved < 0.0) + 0.5 * np.sum(moved == 0.0)) / N_RESAMPLES
    bias = normal_quantile(float(np.clip(below, 0.5 / N_RESAMPLES, 1.0 - 0.5 / N_RESAMPLES)))
    spread = 6.0 * float((influences**2).sum()) ** 1.5
    acceleration = (
        float((influences**3).sum()) / spread if spread > 0.0 else 0.0
    )  # squares may be too small for a float
    ends = []
    for z in (normal_quantile(0.5 - level / 2.0), normal_quantile(0.5 + level / 2.0)):
        shifted = bias + (bias + z) / max(1.0 - acceleration * (bias + z), 1e-6)
        ends.append(estimate + float(np.quantile(moved, normal_cdf(shifted))))
    return Interval(*ends)


def clopper_pearson(total: float, n: float, largest: float, level: float = 0.95) -> Interval:
    """Clopper-Pearson interval of IPS for rewards in 0..1, as if each weight were 0 or the largest (Vowpal Wabbit's).

    It leaves out how weights vary where rewards are mostly 1, and is too narrow there.

    Args:
        total: The sum of w * r.
        n: The number of events.
        largest: The largest weight.
        level: Coverage, between 0 and 1.

    >>> [round(end, 4) for end in clopper_pearson(40.0, 100, 1.0)]
    [0.3033, 0.5028]
    """
    if largest <= 0.0:
        return Interval(0.0, 1.0)
    successes, trials = total / largest, n / largest
    tail = 0.5 - level / 2.0
    failures = trials - successes
    low = beta_quantile(tail, successes, failures + 1.0) if successes > 0.0 and failures > -1.0 else 0.0
    high = beta_quantile(1.0 - tail, successes + 1.0, failures) if failures > 0.0 else 1.0
    return Interval(low, high)
