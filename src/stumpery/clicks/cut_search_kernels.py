"""Searching the best cut of one column by the counts per class that a quantile summary keeps.

The tuples of a summary are ascending; `clicks[i]` and `counts[i]` are the clicks and values of the first i of them. A
side's probability of a click is the m-estimate (clicks + m * prior) / (count + m). The best cut has the lowest Gini
impurity p (1 - p) of its two sides: their sum, as Salperwyck and Urvoy (2011) print it, or weighted by their counts.
"""

import numpy as np

from stumpery.jit import internal
from stumpery.summaries.quantile_streams_kernels import QuantileStreams
from stumpery.types import Floats, Integers

SETTING_PRIOR, SETTING_M, SETTING_MIN_SAMPLES_SPLIT, SETTING_WEIGHTED, SETTING_OUTPUT = range(5)
N_SETTINGS = 5
NO_CUT = -1


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
