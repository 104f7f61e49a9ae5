"""The wealth of constant bets against every possible mean of a stream, and the mean at which it reaches a threshold.

A bet multiplies its wealth by 1 + stake * (x - mean) at each variable x. Where every x is 0 or more, has an expectation
of at most `mean` given what came before, and stake * mean is below 1, the wealth is a nonnegative supermartingale. The
logarithm of the wealth of one stake is concave in the mean, so between two means a chord is never above it.
"""

import math

from stumpery.jit import kernel
from stumpery.types import Floats

LOG_EVERY = 32  # variables between two logarithms: with MAX_TERM no product overflows, with MAX_STAKE none underflows
CROSSING_HALVINGS = 60


@kernel
def add_terms(log_wealth: Floats, stakes: Floats, means: Floats, terms: Floats, products: Floats) -> None:
    """Add variables to the log wealth of every stake against every mean, (stakes, means), in place."""
    n_means = len(means)
    for start in range(0, len(terms), LOG_EVERY):
        stop = min(start + LOG_EVERY, len(terms))
        for bet in range(len(stakes)):
            stake = stakes[bet]
            products[:] = 1.0
            for event in range(start, stop):
                gain = 1.0 + stake * terms[event]
                for mean in range(n_means):
                    products[mean] *= gain - stake * means[mean]
            for mean in range(n_means):
                log_wealth[bet, mean] += math.log(products[mean])


@kernel
def log_mixture(log_wealth: Floats, left: int, share: float) -> float:
    """The log of the stakes' mean wealth at a share of the way from one mean to the next, by chords."""
    n_stakes = len(log_wealth)
    top = -math.inf
    for bet in range(n_stakes):
        top = max(top, (1.0 - share) * log_wealth[bet, left] + share * log_wealth[bet, left + 1])
    total = 0.0
    for bet in range(n_stakes):
        total += math.exp((1.0 - share) * log_wealth[bet, left] + share * log_wealth[bet, left + 1] - top)
    return top + math.log(total / n_stakes)


@kernel
def rejected_mean(log_wealth: Floats, means: Floats, log_threshold: float) -> float:
    """The greatest mean at which the mixture of wealth is above its threshold; the least mean if it is nowhere."""
    if log_mixture(log_wealth, 0, 0.0) <= log_threshold:
        return float(means[0])
    last = len(means) - 2
    left = 0
    while left < last and log_mixture(log_wealth, left, 1.0) > log_threshold:
        left += 1
    low, high = 0.0, 1.0
    if log_mixture(log_wealth, left, 1.0) > log_threshold:
        return float(means[left + 1])
    for _ in range(CROSSING_HALVINGS):
        middle = 0.5 * (low + high)
        if log_mixture(log_wealth, left, middle) > log_threshold:
            low = middle
        else:
            high = middle
    return float(means[left] + low * (means[left + 1] - means[left]))
