"""Partitions of a column into intervals with a probability of a click: stumps, rules and univariate trees.

The tuples of a quantile summary are ascending; `clicks[i]` and `counts[i]` are the clicks and values of the first i of
them. A side's probability of a click is the m-estimate (clicks + m * prior) / (count + m). The best cut has the lowest
Gini impurity p (1 - p) of its two sides: their sum, as Salperwyck and Urvoy (2011) print it, or weighted by their
counts.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal
from stumpery.summaries.quantile_streams_kernels import QuantileStreams
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

SETTING_PRIOR, SETTING_M, SETTING_MIN_SAMPLES_SPLIT, SETTING_WEIGHTED, SETTING_OUTPUT = range(5)
N_SETTINGS = 5
NO_CUT = -1
KIND_STUMP, KIND_ONE_VERSUS_ALL, KIND_ONE_RULE, KIND_TREE = range(4)
OUTPUT_PROBABILITY, OUTPUT_BINARY, OUTPUT_LOG_RATIO = range(3)  # a log ratio is log(probability / average probability)
MAX_LINEAR_SEARCH = 40
MIN_PROBABILITY = 1e-6  # probabilities are clipped to it before their logarithm is taken


@internal
def probability(clicks: float, count: float, prior: float, m: float) -> float:
    """The m-estimate of the probability of a click: the fraction of clicks, shrunk to the prior."""
    return (clicks + m * prior) / (count + m)


@internal
def accumulate(clicks: Integers, counts: Integers, streams: QuantileStreams, stream: int) -> int:
    """Write the cumulative clicks and counts of a summary's tuples, in place; return the number of tuples."""
    size = streams.sizes[stream]
    clicks[0] = 0
    counts[0] = 0
    for index in range(size):
        clicks[index + 1] = clicks[index] + streams.counts[stream, index, 1]
        counts[index + 1] = counts[index] + streams.counts[stream, index, 0] + streams.counts[stream, index, 1]
    return int(size)


@internal
def impurity(clicks: float, count: float, rest_clicks: float, rest: float, prior: float, settings: Floats) -> float:
    """The Gini impurity of two sides."""
    inside = probability(clicks, count, prior, settings[SETTING_M])
    outside = probability(rest_clicks, rest, prior, settings[SETTING_M])
    if settings[SETTING_WEIGHTED] > 0.0:
        return (count * inside * (1.0 - inside) + rest * outside * (1.0 - outside)) / (count + rest)
    return inside * (1.0 - inside) + outside * (1.0 - outside)


@internal
def impurity_before(clicks: float, count: float, prior: float, settings: Floats) -> float:
    """The Gini impurity without a cut, on the scale of `impurity`."""
    p = probability(clicks, count, prior, settings[SETTING_M])
    return p * (1.0 - p) if settings[SETTING_WEIGHTED] > 0.0 else 2.0 * p * (1.0 - p)


@internal
def best_cut(
    clicks: Integers, counts: Integers, low: int, high: int, prior: float, settings: Floats
) -> tuple[int, float]:
    """The best cut of the tuples from `low` to before `high`, and its gain; NO_CUT where there is none."""
    best = NO_CUT
    min_impurity = np.inf
    total_clicks = clicks[high] - clicks[low]
    total = counts[high] - counts[low]
    for cut in range(low + 1, high):
        left_clicks = clicks[cut] - clicks[low]
        left = counts[cut] - counts[low]
        value = impurity(left_clicks, left, total_clicks - left_clicks, total - left, prior, settings)
        if value < min_impurity:
            min_impurity = value
            best = cut
    if best == NO_CUT:
        return best, 0.0
    return best, impurity_before(total_clicks, total, prior, settings) - min_impurity


@internal
def best_interval(
    clicks: Integers, counts: Integers, size: int, single: bool, settings: Floats
) -> tuple[int, int, float]:
    """The best interval of tuples, from `low` to before `high`, against all others, and its gain."""
    best_low = best_high = NO_CUT
    min_impurity = np.inf
    for low in range(size):
        for high in range(low + 1, low + 2 if single else size + 1):
            if high - low == size:
                continue
            inside_clicks = clicks[high] - clicks[low]
            inside = counts[high] - counts[low]
            value = impurity(
                inside_clicks,
                inside,
                clicks[size] - inside_clicks,
                counts[size] - inside,
                settings[SETTING_PRIOR],
                settings,
            )
            if value < min_impurity:
                min_impurity = value
                best_low = low
                best_high = high
    if best_low == NO_CUT:
        return best_low, best_high, 0.0
    return (
        best_low,
        best_high,
        impurity_before(clicks[size], counts[size], settings[SETTING_PRIOR], settings) - min_impurity,
    )


class Partitions(NamedTuple):
    """The intervals of many predictors: their cuts, and the output in each interval."""

    cuts: Floats  # (predictors, cuts), ascending; an interval includes its upper end
    n_cuts: Integers  # (predictors,)
    probabilities: Floats  # (predictors, cuts + 2): the output in each interval, and last for a missing value
    merits: Floats  # (predictors,): the gain of the first cut


def new_partitions(n_predictors: int, n_cuts: int, initial: Floats) -> Partitions:
    """One interval for each predictor, with its initial output."""
    reserve(8 * n_predictors * (2 * n_cuts + 4))
    probabilities = np.repeat(initial[:, np.newaxis], n_cuts + 2, axis=1)
    return Partitions(
        np.zeros((n_predictors, n_cuts)), np.zeros(n_predictors, np.int64), probabilities, np.zeros(n_predictors)
    )


@internal
def fit_stump(
    partitions: Partitions, p: int, values: Floats, clicks: Integers, counts: Integers, size: int, settings: Floats
) -> None:
    """Fit a stump: one cut, in place."""
    prior, m = settings[SETTING_PRIOR], settings[SETTING_M]
    cut, merit = best_cut(clicks, counts, 0, size, prior, settings)
    partitions.merits[p] = merit
    if cut == NO_CUT:
        partitions.n_cuts[p] = 0
        partitions.probabilities[p, 0] = probability(clicks[size], counts[size], prior, m)
        return
    partitions.n_cuts[p] = 1
    partitions.cuts[p, 0] = values[cut - 1]
    partitions.probabilities[p, 0] = probability(clicks[cut], counts[cut], prior, m)
    partitions.probabilities[p, 1] = probability(clicks[size] - clicks[cut], counts[size] - counts[cut], prior, m)


@internal
def fit_rule(
    partitions: Partitions,
    p: int,
    values: Floats,
    clicks: Integers,
    counts: Integers,
    size: int,
    kind: int,
    settings: Floats,
) -> None:
    """Fit a rule, one interval or one value against the rest, in place."""
    prior, m = settings[SETTING_PRIOR], settings[SETTING_M]
    low, high, merit = best_interval(clicks, counts, size, kind == KIND_ONE_VERSUS_ALL, settings)
    partitions.merits[p] = merit
    if low == NO_CUT:
        partitions.n_cuts[p] = 0
        partitions.probabilities[p, 0] = probability(clicks[size], counts[size], prior, m)
        return
    inside_clicks = clicks[high] - clicks[low]
    count = counts[high] - counts[low]
    inside = probability(inside_clicks, count, prior, m)
    outside = probability(clicks[size] - inside_clicks, counts[size] - count, prior, m)
    if settings[SETTING_OUTPUT] == OUTPUT_BINARY:
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
def best_split(
    clicks: Integers, counts: Integers, low: int, high: int, prior: float, settings: Floats
) -> tuple[int, float]:
    """The best cut of a leaf with enough events, and its gain times their number; NO_CUT where there is none."""
    count = counts[high] - counts[low]
    if count < settings[SETTING_MIN_SAMPLES_SPLIT]:
        return NO_CUT, 0.0
    cut, gain = best_cut(clicks, counts, low, high, prior, settings)
    return cut, count * gain


@internal
def fit_tree(
    partitions: Partitions, p: int, values: Floats, clicks: Integers, counts: Integers, size: int, settings: Floats
) -> None:
    """Fit a univariate tree, best split first, in place; probabilities shrink to the parent's."""
    m, probabilities, cuts = settings[SETTING_M], partitions.probabilities[p], partitions.cuts[p]
    max_leaves = cuts.shape[0] + 1  # leaves are in the order of their values
    highs, best_cuts, gains = np.empty(max_leaves, np.int64), np.empty(max_leaves, np.int64), np.empty(max_leaves)
    highs[0], probabilities[0] = size, probability(clicks[size], counts[size], settings[SETTING_PRIOR], m)
    best_cuts[0], gains[0] = best_cut(clicks, counts, 0, size, settings[SETTING_PRIOR], settings)
    partitions.merits[p] = gains[0]
    n_leaves = 1
    while n_leaves < max_leaves:
        chosen = NO_CUT
        for leaf in range(n_leaves):
            if best_cuts[leaf] != NO_CUT and (chosen == NO_CUT or gains[leaf] > gains[chosen]):
                chosen = leaf
        if chosen == NO_CUT:
            break
        for leaf in range(n_leaves, chosen, -1):
            highs[leaf], best_cuts[leaf] = highs[leaf - 1], best_cuts[leaf - 1]
            gains[leaf], probabilities[leaf] = gains[leaf - 1], probabilities[leaf - 1]
        n_leaves += 1
        highs[chosen] = best_cuts[chosen]
        parent = probabilities[chosen]
        low = highs[chosen - 1] if chosen > 0 else 0
        for leaf in (chosen, chosen + 1):
            high = highs[leaf]
            probabilities[leaf] = probability(clicks[high] - clicks[low], counts[high] - counts[low], parent, m)
            best_cuts[leaf], gains[leaf] = best_split(clicks, counts, low, high, probabilities[leaf], settings)
            low = high
    for leaf in range(n_leaves - 1):
        cuts[leaf] = values[highs[leaf] - 1]
    partitions.n_cuts[p] = n_leaves - 1


@internal
def log_ratio(probability: float, average: float) -> float:
    """The logarithm of a probability over the average probability."""
    return float(math.log(max(probability, MIN_PROBABILITY) / max(average, MIN_PROBABILITY)))


@internal
def take_log_ratios(partitions: Partitions, p: int, average: float) -> None:
    """Replace the probabilities of a predictor's intervals by their log ratios, in place."""
    for index in range(partitions.n_cuts[p] + 1):
        partitions.probabilities[p, index] = log_ratio(partitions.probabilities[p, index], average)


@internal
def interval_of(partitions: Partitions, p: int, value: float) -> int:
    """The index of the interval of a value; the last index if it is missing."""
    if np.isnan(value):
        return int(partitions.probabilities.shape[1]) - 1
    below = 0
    if partitions.n_cuts[p] <= MAX_LINEAR_SEARCH:  # without branches that are mispredicted
        for index in range(partitions.n_cuts[p]):
            below += partitions.cuts[p, index] < value
        return below
    above = int(partitions.n_cuts[p])
    while below < above:
        middle = (below + above) // 2
        if partitions.cuts[p, middle] < value:
            below = middle + 1
        else:
            above = middle
    return below
