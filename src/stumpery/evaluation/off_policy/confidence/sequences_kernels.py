"""The boundary of an empirical-Bernstein confidence sequence: a mixture of bets over all stakes.

For a sum s of deviations of variables that are never more than 1 below their predictions, and the sum v of squared
deviations from these predictions, exp(stake * s - (-log(1 - stake) - stake) * v) is a supermartingale for each stake
(Fan et al. 2015). Their mixture by a truncated Gamma density has a closed form in the incomplete Gamma function
(Howard et al. 2021, gamma-exponential mixture): it exceeds 1 / alpha at any time with a probability of alpha at most.
"""

import math

from stumpery.jit import kernel

MAX_GAMMA_TERMS = 1_000_000
GAMMA_PRECISION = 1e-15
GAMMA_TINY = 1e-300
RHO = 1.0  # of the mixture: at which v it is tightest
MAX_HALVINGS = 80


@kernel
def log_lower_gamma(a: float, x: float) -> float:
    """The logarithm of the regularised lower incomplete Gamma function, for x of at least a, all but a rounding error.

    A series below a + 1, and above the continued fraction of the upper function by Lentz's method.
    """
    front = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        term = total = 1.0 / a
        for n in range(1, MAX_GAMMA_TERMS):
            term *= x / (a + n)
            total += term
            if term < total * GAMMA_PRECISION:
                break
        return front + math.log(total)
    b = x + 1.0 - a
    c, d = 1.0 / GAMMA_TINY, 1.0 / b
    fraction = d
    for n in range(1, MAX_GAMMA_TERMS):
        step = -n * (n - a)
        b += 2.0
        d = step * d + b
        d = 1.0 / (d if abs(d) > GAMMA_TINY else GAMMA_TINY)
        c = b + step / c
        c = c if abs(c) > GAMMA_TINY else GAMMA_TINY
        fraction *= c * d
        if abs(c * d - 1.0) < GAMMA_PRECISION:
            break
    return math.log1p(-min(math.exp(front) * fraction, 1.0 - GAMMA_PRECISION))


@kernel
def log_wealth(s: float, v: float) -> float:
    """The logarithm of the mixture's wealth after deviations with the sum s and the sum of squares v."""
    a, x = v + RHO, s + v + RHO
    wealth = s + v + RHO * math.log(RHO) - a * math.log(x)
    wealth += log_lower_gamma(a, x) + math.lgamma(a)
    return wealth - log_lower_gamma(RHO, RHO) - math.lgamma(RHO)


@kernel
def lower_mean(n: float, total: float, v: float, lowest: float, log_threshold: float) -> float:
    """The least mean, `lowest` or more, of n variables with this sum, at which the wealth is within its threshold."""
    low, high = lowest, max(total / n, lowest)
    if log_wealth(max(total - n * low, 0.0), v) <= log_threshold:
        return low
    for _ in range(MAX_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if log_wealth(max(total - n * middle, 0.0), v) > log_threshold:
            low = middle
        else:
            high = middle
    return low
