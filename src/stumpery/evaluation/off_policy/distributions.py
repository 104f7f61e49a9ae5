"""Quantiles of the normal, Beta and Student distributions, without SciPy.

The incomplete Beta function is its continued fraction, evaluated by Lentz's method; quantiles are found by bisection,
to the last bits.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

BETA_TINY = 1e-300
BETA_PRECISION = 1e-16
MAX_BETA_TERMS = 100_000


def normal_quantile(p: float) -> float:
    """The quantile of the standard normal distribution.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(p)


def normal_cdf(x: float) -> float:
    """The distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def beta_cdf(x: float, a: float, b: float) -> float:
    """The distribution function of the Beta distribution, the regularised incomplete Beta function.

    >>> round(beta_cdf(0.5, 2.0, 2.0), 12)
    0.5
    """
    if not 0.0 < x < 1.0:
        return float(x >= 1.0)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _beta_fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _beta_fraction(1.0 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """The quantile of the Beta distribution.

    >>> round(beta_quantile(0.025, 3.0, 8.0), 6)
    0.06674
    """
    return _bisected(lambda x: beta_cdf(x, a, b), p, 0.0, 1.0)


def student_quantile(p: float, freedom: float) -> float:
    """The quantile, for p above a half, of Student's distribution.

    >>> round(student_quantile(0.975, 9.0), 5)
    2.26216
    """

    def cdf(t: float) -> float:
        return 1.0 - 0.5 * beta_cdf(freedom / (freedom + t * t), freedom / 2.0, 0.5)

    high = 2.0
    while cdf(high) < p and high < 1e9:
        high *= 2.0
    return _bisected(cdf, p, 0.0, high)


def _bisected(cdf: Callable[[float], float], p: float, low: float, high: float) -> float:
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if cdf(middle) < p else (low, middle)
    return 0.5 * (low + high)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete Beta function."""
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, MAX_BETA_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = _nonzero(1.0 + term / c), 1.0 / _nonzero(1.0 + term * d)
            fraction *= c * d
        if abs(c * d - 1.0) < BETA_PRECISION * 10:
            break
    return fraction


def _nonzero(value: float) -> float:
    return value if abs(value) > BETA_TINY else BETA_TINY
