"""The additive model: a sum of small tables, one for each feature that was looked at and for each pair of them.

A standardised value falls into one of 32 narrow bins and one of 8 wide ones, each with a weight of its own; a pair's
wide bins share one weight, in a hashed table. The sum is the log-odds of the second class. A feature's table is centred
on what it contributes on average, so that a feature which is not looked at counts as exactly that: nothing is lost but
its information. Weights learn by AdaGrad on the log-loss.

What a feature is worth follows from the same events. Each time it is looked at, the model's error *without* it is
added to the sum of its wide bin. Squared sums over curvatures, less what probability would give, are the log-loss that the
feature can save beside the others: a reward for each feature by itself, instead of one for the whole set.
"""

import math

from stumpery.jit import internal
from stumpery.random import normal, uniform
from stumpery.selection.classifiers_kernels import MEMORY, PAIRS, RATE
from stumpery.types import Floats, Integers, RandomState

N_NARROW, N_WIDE, WIDER = 32, 8, 2  # WIDER: a narrow bin's number, shifted by it, is the wide one's
N_BINS = N_NARROW + N_WIDE
PER_SD = 5.0  # narrow bins in a standard deviation
N_PAIRS = 1 << 16  # weights of pairs, a power of 2

# A feature's grounds: N_WIDE sums of errors, as many of curvatures, how many events they hold, its mean contribution.
ERRORS, CURVES, COUNT, LEVEL = 0, N_WIDE, 2 * N_WIDE, 2 * N_WIDE + 1
N_GROUNDS = 2 * N_WIDE + 2

UNTRIED = 1e6  # above all that a feature can be worth
LEVEL_MEMORY = 500.0
RIDGE = 1.0


@internal
def bin_of(x: float) -> int:
    """The narrow bin of a standardised value; a boundary lies at the mean, so that zeros stand apart from the rest."""
    return int(min(max(math.floor(x * PER_SD), -N_NARROW // 2), N_NARROW // 2 - 1)) + N_NARROW // 2


@internal
def pair_slot(first: int, second: int) -> int:
    """Where two wide bins of different features share a weight: the same, whichever comes first."""
    low, high = min(first, second), max(first, second)
    key = (low * 2654435761 + high * 2246822519) & 0xFFFFFFFF
    key = ((key ^ (key >> 15)) * 2246822519) & 0xFFFFFFFF
    return (key ^ (key >> 13)) & (N_PAIRS - 1)


@internal
def worth(grounds: Floats, feature: int) -> float:
    """Twice the log-loss per event that a feature can save, less what chance alone would show; 0 or more."""
    saved, by_chance = 0.0, -1.0
    for wide in range(N_WIDE):
        error, curve = grounds[feature, ERRORS + wide], grounds[feature, CURVES + wide]
        saved += error * error / (curve + RIDGE)
        by_chance += curve / (curve + RIDGE)
    count = grounds[feature, COUNT]
    return max(saved - max(by_chance, 0.0), 0.0) / count if count > 0.0 else 0.0


@internal
def fill_worths(rng: RandomState, grounds: Floats, first: float, width: float, scores: Floats) -> None:
    """Draw what every feature is worth, in place; those looked at fewer than `first` times come before all others.

    The square root of the worth is a mean of errors in units of their deviation, and so known to 1 / sqrt(count).
    """
    for feature in range(grounds.shape[0]):
        count = grounds[feature, COUNT]
        if count < first:
            scores[feature] = UNTRIED - count + uniform(rng)
        else:
            draw = math.sqrt(worth(grounds, feature)) + width * normal(rng) / math.sqrt(count)
            scores[feature] = draw * abs(draw)


@internal
def additive(
    options: Floats,
    weights: Floats,
    grounds: Floats,
    seen: Integers,
    n_seen: int,
    x: Floats,
    bins: Integers,
    slots: Integers,
    own: Floats,
) -> float:
    """The log-odds; bins, the slots of pairs, and what each feature contributes go into the last three, in place."""
    pairs_from = 1 + grounds.shape[0] * N_BINS
    total: float = weights[0]
    n_slots = 0
    for place in range(n_seen):
        feature, narrow = seen[place], bin_of(x[place])
        table = 1 + feature * N_BINS
        bins[place] = narrow
        own[place] = weights[table + narrow] + weights[table + N_NARROW + (narrow >> WIDER)] - grounds[feature, LEVEL]
        total += own[place]
        if options[PAIRS] == 0.0:
            continue
        for other in range(place):
            slot = pairs_from + pair_slot(
                feature * N_WIDE + (narrow >> WIDER), seen[other] * N_WIDE + (bins[other] >> WIDER)
            )
            slots[n_slots] = slot
            n_slots += 1
            total += weights[slot]
            own[place] += weights[slot]
            own[other] += weights[slot]
    return total


@internal
def add_grounds(options: Floats, grounds: Floats, feature: int, wide: int, label: float, margin: float) -> None:
    """Fold the error and the curvature without a feature into its sums, in place; old ones fade beyond the memory."""
    probability = 1.0 / (1.0 + math.exp(min(margin, 500.0)))  # of the wrong class, by the model without it
    if grounds[feature, COUNT] >= options[MEMORY]:
        for field in range(LEVEL):
            grounds[feature, field] *= 1.0 - 1.0 / options[MEMORY]
    grounds[feature, ERRORS + wide] += label * probability
    grounds[feature, CURVES + wide] += probability * (1.0 - probability)
    grounds[feature, COUNT] += 1.0


@internal
def step(weights: Floats, paces: Floats, slot: int, rate: float, slope: float) -> None:
    """Move one weight against the slope, the less the more it has moved, in place."""
    paces[slot] += slope * slope
    weights[slot] -= rate * slope / math.sqrt(1.0 + paces[slot])


@internal
def additive_step(
    options: Floats,
    weights: Floats,
    paces: Floats,
    grounds: Floats,
    seen: Integers,
    n_seen: int,
    bins: Integers,
    slots: Integers,
    own: Floats,
    log_odds: float,
    label: float,
) -> None:
    """Learn what each feature was worth, then move every weight in play, in place."""
    margin = log_odds * label
    for place in range(n_seen):
        wide = bins[place] >> WIDER
        add_grounds(options, grounds, seen[place], wide, label, margin - label * own[place])
    slope = -label / (1.0 + math.exp(min(margin, 500.0)))
    step(weights, paces, 0, options[RATE], slope)
    for place in range(n_seen):
        feature = seen[place]
        narrow = 1 + feature * N_BINS + bins[place]
        wide = 1 + feature * N_BINS + N_NARROW + (bins[place] >> WIDER)
        step(weights, paces, narrow, options[RATE], slope)
        step(weights, paces, wide, options[RATE], slope)
        reach = min(max(grounds[feature, COUNT], 1.0), LEVEL_MEMORY)
        grounds[feature, LEVEL] += (weights[narrow] + weights[wide] - grounds[feature, LEVEL]) / reach
    if options[PAIRS] > 0.0 and n_seen > 1:  # many pairs share one error
        rate = options[RATE] * options[PAIRS] * 2.0 / (n_seen - 1)
        for index in range(n_seen * (n_seen - 1) // 2):
            step(weights, paces, slots[index], rate, slope)
