"""Confidence intervals at 95 %: Student's over trials, Wilson's for a rate."""

import math

import numpy as np

from stumpery.types import Floats

Z = 1.96  # the normal distribution's 97.5 % quantile
# The 97.5 % quantiles of Student's distribution with 1 to 9 degrees of freedom.
STUDENT_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def mean_and_interval(curves: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean over trials (rows) and the ends of its 95 % interval; NaN for a single trial.

    >>> mean_and_interval(np.array([[1.0], [3.0]]))[0]
    array([2.])
    """
    mean = curves.mean(axis=0)
    freedom = len(curves) - 1
    if freedom == 0:
        unknown = np.full_like(mean, np.nan)
        return mean, unknown, unknown
    quantile = STUDENT_QUANTILES[freedom - 1] if freedom < 10 else Z + 2.372 / freedom + 2.823 / freedom**2
    half_width = quantile * curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
    return mean, mean - half_width, mean + half_width


def wilson_interval(rate: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % score interval of a rate over `n` events.

    >>> [round(end, 4) for end in wilson_interval(0.02, 100)]
    [0.0055, 0.07]
    """
    centre = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half_width = Z * math.sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, centre - half_width), min(1.0, centre + half_width)
