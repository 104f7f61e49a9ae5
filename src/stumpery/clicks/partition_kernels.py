"""Cut one column into few intervals by the counts that a quantile summary kept: stumps, rules and univariate trees.

A leaf's probability of a click is (clicks + m * prior) / (count + m), and a cut is as good as the Gini impurity p (1 - p) of
its two sides is low: their sum, as Salperwyck and Urvoy (2011) print it, or weighted by their shares.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal
from stumpery.summaries.quantiles_kernels import Quantiles
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

STUMP, ONE_VERSUS_ALL, ONE_RULE, TREE = range(4)  # kinds
PRIOR, SHRINKAGE, UNFOLD, WEIGHTED, OUTPUT = range(5)  # columns of the settings
PROBABILITY, BINARY, LIFT = range(
    3
)  # outputs: a probability, 0 or 1, the logarithm of a probability beside the average one
N_SETTINGS = 5
NO_CUT = -1
FEW_CUTS = 40
CERTAIN = 1e-6  # probabilities are kept this far from 0 where their logarithm is taken


class Partitions(NamedTuple):
    """Intervals of many predictors: where each is cut, and the probability of a click in each."""

    cuts: Floats  # (predictors, cuts), ascending; an interval includes its upper end
    n_cuts: Integers  # (predictors,)
    probabilities: Floats  # (predictors, cuts + 2): outputs for each interval, and last for a missing value
    merits: Floats  # (predictors,): by how much the first cut lowers the impurity


def new_partitions(n_predictors: int, n_cuts: int, first: Floats) -> Partitions:
    """One interval each, and the first output for all."""
    reserve(8 * n_predictors * (2 * n_cuts + 4))
    probabilities = np.repeat(first[:, np.newaxis], n_cuts + 2, axis=1)
    return Partitions(
        np.zeros((n_predictors, n_cuts)), np.zeros(n_predictors, np.int64), probabilities, np.zeros(n_predictors)
    )


@internal
def probability(clicks: float, count: float, prior: float, m: float) -> float:
    """The share of clicks, shrunk to the prior."""
    return (clicks + m * prior) / (count + m)


@internal
def accumulate(clicks: Integers, counts: Integers, streams: Quantiles, stream: int) -> int:
    """Write how many clicks and values the first tuples have, from none to all, in place; give their number."""
    size = streams.sizes[stream]
    clicks[0] = 0
    counts[0] = 0
    for place in range(size):
        clicks[place + 1] = clicks[place] + streams.counts[stream, place, 1]
        counts[place + 1] = counts[place] + streams.counts[stream, place, 0] + streams.counts[stream, place, 1]
    return int(size)


@internal
def impurity(clicks: float, count: float, rest_clicks: float, rest: float, prior: float, settings: Floats) -> float:
    """The impurity of two sides."""
    inside = probability(clicks, count, prior, settings[SHRINKAGE])
    outside = probability(rest_clicks, rest, prior, settings[SHRINKAGE])
    if settings[WEIGHTED] > 0.0:
        return (count * inside * (1.0 - inside) + rest * outside * (1.0 - outside)) / (count + rest)
    return inside * (1.0 - inside) + outside * (1.0 - outside)


@internal
def whole_impurity(clicks: float, count: float, prior: float, settings: Floats) -> float:
    """The impurity without a cut, on the scale of `impurity`."""
    p = probability(clicks, count, prior, settings[SHRINKAGE])
    return p * (1.0 - p) if settings[WEIGHTED] > 0.0 else 2.0 * p * (1.0 - p)


@internal
def best_cut(
    clicks: Integers, counts: Integers, low: int, high: int, prior: float, settings: Floats
) -> tuple[int, float]:
    """The best place to part the tuples from `low` to before `high`, and how much it gains; or NO_CUT."""
    best = NO_CUT
    least = np.inf
    total_clicks = clicks[high] - clicks[low]
    total = counts[high] - counts[low]
    for place in range(low + 1, high):
        here_clicks = clicks[place] - clicks[low]
        here = counts[place] - counts[low]
        found = impurity(here_clicks, here, total_clicks - here_clicks, total - here, prior, settings)
        if found < least:
            least = found
            best = place
    if best == NO_CUT:
        return best, 0.0
    return best, whole_impurity(total_clicks, total, prior, settings) - least


@internal
def best_interval(
    clicks: Integers, counts: Integers, size: int, single: bool, settings: Floats
) -> tuple[int, int, float]:
    """The tuples from `low` to before `high` that part best from all others, and how much that gains."""
    best_low = best_high = NO_CUT
    least = np.inf
    for low in range(size):
        for high in range(low + 1, low + 2 if single else size + 1):
            if high - low == size:
                continue
            inside_clicks = clicks[high] - clicks[low]
            inside = counts[high] - counts[low]
            found = impurity(
                inside_clicks, inside, clicks[size] - inside_clicks, counts[size] - inside, settings[PRIOR], settings
            )
            if found < least:
                least = found
                best_low = low
                best_high = high
    if best_low == NO_CUT:
        return best_low, best_high, 0.0
    return best_low, best_high, whole_impurity(clicks[size], counts[size], settings[PRIOR], settings) - least


@internal
def cut_once(
    partitions: Partitions, p: int, values: Floats, clicks: Integers, counts: Integers, size: int, settings: Floats
) -> None:
    """Make a stump, in place."""
    prior, m = settings[PRIOR], settings[SHRINKAGE]
    place, merit = best_cut(clicks, counts, 0, size, prior, settings)
    partitions.merits[p] = merit
    if place == NO_CUT:
        partitions.n_cuts[p] = 0
        partitions.probabilities[p, 0] = probability(clicks[size], counts[size], prior, m)
        return
    partitions.n_cuts[p] = 1
    partitions.cuts[p, 0] = values[place - 1]
    partitions.probabilities[p, 0] = probability(clicks[place], counts[place], prior, m)
    partitions.probabilities[p, 1] = probability(clicks[size] - clicks[place], counts[size] - counts[place], prior, m)


@internal
def cut_out(
    partitions: Partitions,
    p: int,
    values: Floats,
    clicks: Integers,
    counts: Integers,
    size: int,
    kind: int,
    settings: Floats,
) -> None:
    """Make a rule, one interval or one value against the rest, in place."""
    prior, m = settings[PRIOR], settings[SHRINKAGE]
    low, high, merit = best_interval(clicks, counts, size, kind == ONE_VERSUS_ALL, settings)
    partitions.merits[p] = merit
    if low == NO_CUT:
        partitions.n_cuts[p] = 0
        partitions.probabilities[p, 0] = probability(clicks[size], counts[size], prior, m)
        return
    inside_clicks = clicks[high] - clicks[low]
    count = counts[high] - counts[low]
    inside = probability(inside_clicks, count, prior, m)
    outside = probability(clicks[size] - inside_clicks, counts[size] - count, prior, m)
    if settings[OUTPUT] == BINARY:
        inside, outside = (1.0, 0.0) if inside > outside else (0.0, 1.0)
    n = 0
    if low > 0:
        partitions.cuts[p, n] = values[low - 1]
        partitions.probabilities[p, n] = outside
        n += 1
    partitions.probabilities[p, n] = inside
    if high < size:
        partitions.cuts[p, n] = values[high - 1]
        n += 1
        partitions.probabilities[p, n] = outside
    partitions.n_cuts[p] = n


@internal
def next_cut(
    clicks: Integers, counts: Integers, low: int, high: int, own: float, settings: Floats
) -> tuple[int, float]:
    """The best split of a leaf that has enough events, and its gain times their number; or NO_CUT."""
    count = counts[high] - counts[low]
    if count < settings[UNFOLD]:
        return NO_CUT, 0.0
    place, merit = best_cut(clicks, counts, low, high, own, settings)
    return place, count * merit


@internal
def unfold(
    partitions: Partitions, p: int, values: Floats, clicks: Integers, counts: Integers, size: int, settings: Floats
) -> None:
    """Make a univariate tree, in place: split the leaf that gains most first, shrink probabilities to the parent's."""
    m, probabilities, cuts = settings[SHRINKAGE], partitions.probabilities[p], partitions.cuts[p]
    most = cuts.shape[0] + 1  # leaves, in the order of their values
    highs, places, gains = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    highs[0], probabilities[0] = size, probability(clicks[size], counts[size], settings[PRIOR], m)
    places[0], gains[0] = best_cut(clicks, counts, 0, size, settings[PRIOR], settings)
    partitions.merits[p] = gains[0]
    n = 1
    while n < most:
        best = NO_CUT
        for leaf in range(n):
            if places[leaf] != NO_CUT and (best == NO_CUT or gains[leaf] > gains[best]):
                best = leaf
        if best == NO_CUT:
            break
        for leaf in range(n, best, -1):
            highs[leaf], places[leaf] = highs[leaf - 1], places[leaf - 1]
            gains[leaf], probabilities[leaf] = gains[leaf - 1], probabilities[leaf - 1]
        n += 1
        highs[best] = places[best]
        parent = probabilities[best]
        low = highs[best - 1] if best > 0 else 0
        for leaf in (best, best + 1):
            high = highs[leaf]
            probabilities[leaf] = probability(clicks[high] - clicks[low], counts[high] - counts[low], parent, m)
            places[leaf], gains[leaf] = next_cut(clicks, counts, low, high, probabilities[leaf], settings)
            low = high
    for leaf in range(n - 1):
        cuts[leaf] = values[highs[leaf] - 1]
    partitions.n_cuts[p] = n - 1


@internal
def lifted(probability: float, average: float) -> float:
    """The logarithm of a probability beside the average one."""
    return float(math.log(max(probability, CERTAIN) / max(average, CERTAIN)))


@internal
def lift(partitions: Partitions, p: int, average: float) -> None:
    """Turn the probabilities of a predictor's intervals into logarithms beside the average one, in place."""
    for place in range(partitions.n_cuts[p] + 1):
        partitions.probabilities[p, place] = lifted(partitions.probabilities[p, place], average)


@internal
def interval(partitions: Partitions, p: int, value: float) -> int:
    """Which of a predictor's intervals a value falls in; the last place if it is missing."""
    if np.isnan(value):
        return int(partitions.probabilities.shape[1]) - 1
    below = 0
    if partitions.n_cuts[p] <= FEW_CUTS:  # counting all of a few has no branch to guess wrong
        for place in range(partitions.n_cuts[p]):
            below += partitions.cuts[p, place] < value
        return below
    above = int(partitions.n_cuts[p])
    while below < above:
        middle = (below + above) // 2
        if partitions.cuts[p, middle] < value:
            below = middle + 1
        else:
            above = middle
    return below
