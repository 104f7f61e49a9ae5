"""The additive model: a sum of tables, one for each selected feature and for each pair of them.

A standardised value falls into one of 32 narrow bins and one of 8 wide ones, each with a weight; the wide bins of a
pair have one weight in a hashed table. The sum is the log-odds of the second class. A feature's table is centred on its
average contribution, so that a feature which is not looked at counts as its average. Weights learn by AdaGrad on the
log-loss.

The log-loss that a feature saves is estimated from the same events. Each time it is looked at, the error of the model
without it is added to the sum of its wide bin. Squared sums over curvatures, less what is expected by chance, are the
log-loss that the feature saves beside the others: a reward for each feature by itself, instead of one for the whole
set.
"""

import math

from stumpery.jit import internal
from stumpery.random import normal, uniform
from stumpery.selection.classifiers_kernels import OPTION_MEMORY, OPTION_PAIRS, OPTION_RATE
from stumpery.types import Floats, Integers, RandomState

N_NARROW, N_WIDE, WIDE_SHIFT = 32, 8, 2  # a narrow bin shifted right by WIDE_SHIFT is the wide one
N_BINS = N_NARROW + N_WIDE
BINS_PER_SD = 5.0  # narrow ones
N_PAIRS = 1 << 16  # weights in the hashed table, a power of 2

# Statistics of a feature: N_WIDE sums of errors, as many of curvatures, their number of events, its average
# contribution.
STAT_ERRORS, STAT_CURVATURES, STAT_COUNT, STAT_LEVEL = 0, N_WIDE, 2 * N_WIDE, 2 * N_WIDE + 1
N_FEATURE_STATS = 2 * N_WIDE + 2

UNTRIED_SCORE = 1e6  # above all estimates
LEVEL_MEMORY = 500.0
CURVATURE_PRIOR = 1.0


@internal
def bin_of(x: float) -> int:
    """The narrow bin of a standardised value; a boundary lies at the mean, so that zeros stand apart from the rest."""
    return int(min(max(math.floor(x * BINS_PER_SD), -N_NARROW // 2), N_NARROW // 2 - 1)) + N_NARROW // 2


@internal
def pair_slot(first: int, second: int) -> int:
    """The slot of the weight of two wide bins of different features, the same in either order."""
    low, high = min(first, second), max(first, second)
    key = (low * 2654435761 + high * 2246822519) & 0xFFFFFFFF
    key = ((key ^ (key >> 15)) * 2246822519) & 0xFFFFFFFF
    return (key ^ (key >> 13)) & (N_PAIRS - 1)


@internal
def log_loss_reduction(statistics: Floats, feature: int) -> float:
    """The reduction of log-loss by a feature: twice that per event, less its expectation under chance; 0 or more."""
    saved, by_chance = 0.0, -1.0
    for wide in range(N_WIDE):
        error, curvature = statistics[feature, STAT_ERRORS + wide], statistics[feature, STAT_CURVATURES + wide]
        saved += error * error / (curvature + CURVATURE_PRIOR)
        by_chance += curvature / (curvature + CURVATURE_PRIOR)
    count = statistics[feature, STAT_COUNT]
    return max(saved - max(by_chance, 0.0), 0.0) / count if count > 0.0 else 0.0


@internal
def fill_loss_reduction_draws(rng: RandomState, statistics: Floats, first: float, width: float, scores: Floats) -> None:
    """Draw every feature's log-loss reduction into `scores`, in place; those with fewer than `first` looks come first.

    Its square root is a mean of errors in units of their deviation, with a standard error of 1 / sqrt(count).
    """
    for feature in range(statistics.shape[0]):
        count = statistics[feature, STAT_COUNT]
        if count < first:
            scores[feature] = UNTRIED_SCORE - count + uniform(rng)
        else:
            draw = math.sqrt(log_loss_reduction(statistics, feature)) + width * normal(rng) / math.sqrt(count)
            scores[feature] = draw * abs(draw)


@internal
def additive_score(
    options: Floats,
    weights: Floats,
    statistics: Floats,
    seen: Integers,
    n_seen: int,
    x: Floats,
    bins: Integers,
    slots: Integers,
    contributions: Floats,
) -> float:
    """The log-odds; writes bins, slots of pairs and the contribution of each feature into the last three, in place."""
    first_pair = 1 + statistics.shape[0] * N_BINS
    total: float = weights[0]
    n_slots = 0
    for index in range(n_seen):
        feature, narrow = seen[index], bin_of(x[index])
        table = 1 + feature * N_BINS
        bins[index] = narrow
        contributions[index] = (
            weights[table + narrow]
            + weights[table + N_NARROW + (narrow >> WIDE_SHIFT)]
            - statistics[feature, STAT_LEVEL]
        )
        total += contributions[index]
        if options[OPTION_PAIRS] == 0.0:
            continue
        for other in range(index):
            slot = first_pair + pair_slot(
                feature * N_WIDE + (narrow >> WIDE_SHIFT), seen[other] * N_WIDE + (bins[other] >> WIDE_SHIFT)
            )
            slots[n_slots] = slot
            n_slots += 1
            total += weights[slot]
            contributions[index] += weights[slot]
            contributions[other] += weights[slot]
    return total


@internal
def add_feature_stats(
    options: Floats, statistics: Floats, feature: int, wide: int, label: float, margin: float
) -> None:
    """Add the error and the curvature without a feature to its sums, in place; they decay once the memory is full."""
    probability = 1.0 / (1.0 + math.exp(min(margin, 500.0)))  # of the wrong class, by the model without it
    if statistics[feature, STAT_COUNT] >= options[OPTION_MEMORY]:
        for field in range(STAT_LEVEL):
            statistics[feature, field] *= 1.0 - 1.0 / options[OPTION_MEMORY]
    statistics[feature, STAT_ERRORS + wide] += label * probability
    statistics[feature, STAT_CURVATURES + wide] += probability * (1.0 - probability)
    statistics[feature, STAT_COUNT] += 1.0


@internal
def adagrad_step(weights: Floats, squared_slopes: Floats, slot: int, rate: float, slope: float) -> None:
    """Update one weight by AdaGrad, in place."""
    squared_slopes[slot] += slope * slope
    weights[slot] -= rate * slope / math.sqrt(1.0 + squared_slopes[slot])


@internal
def additive_step(
    options: Floats,
    weights: Floats,
    squared_slopes: Floats,
    statistics: Floats,
    seen: Integers,
    n_seen: int,
    bins: Integers,
    slots: Integers,
    contributions: Floats,
    log_odds: float,
    label: float,
) -> None:
    """Update the statistics of the selected features, then their weights, in place."""
    margin = log_odds * label
    for index in range(n_seen):
        wide = bins[index] >> WIDE_SHIFT
        add_feature_stats(options, statistics, seen[index], wide, label, margin - label * contributions[index])
    slope = -label / (1.0 + math.exp(min(margin, 500.0)))
    adagrad_step(weights, squared_slopes, 0, options[OPTION_RATE], slope)
    for index in range(n_seen):
        feature = seen[index]
        narrow = 1 + feature * N_BINS + bins[index]
        wide = 1 + feature * N_BINS + N_NARROW + (bins[index] >> WIDE_SHIFT)
        adagrad_step(weights, squared_slopes, narrow, options[OPTION_RATE], slope)
        adagrad_step(weights, squared_slopes, wide, options[OPTION_RATE], slope)
        window = min(max(statistics[feature, STAT_COUNT], 1.0), LEVEL_MEMORY)
        statistics[feature, STAT_LEVEL] += (weights[narrow] + weights[wide] - statistics[feature, STAT_LEVEL]) / window
    if options[OPTION_PAIRS] > 0.0 and n_seen > 1:  # the sum over pairs has one error
        rate = options[OPTION_RATE] * options[OPTION_PAIRS] * 2.0 / (n_seen - 1)
        for index in range(n_seen * (n_seen - 1) // 2):
            adagrad_step(weights, squared_slopes, slots[index], rate, slope)
