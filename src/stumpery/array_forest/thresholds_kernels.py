"""Candidate thresholds of a numerical column, and the best of many splits.

Thresholds lie between values of the events in the leaf itself. Reward forests and Hoeffding trees have their own
criteria; this is what their split searches share.
"""

import numpy as np

from stumpery.array_forest.forest_kernels import MAX_THRESHOLDS, MIN_CHILD_EVENTS, NO_INDEX, Float32s
from stumpery.array_forest.scratch_kernels import Scratch, SplitTable, round_up_to_lanes
from stumpery.jit import internal
from stumpery.types import Floats


@internal
def sort(values: Float32s, ordered: Float32s, n: int) -> None:
    """Sort the first n values into `ordered`, in place, without branches: each index is the number of lesser values.

    Of equal values only the first index is filled; the others hold NaN.
    """
    width = round_up_to_lanes(n)
    for index in range(width):
        ordered[index] = np.nan
    for index in range(n, width):
        values[index] = np.inf
    for index in range(n):
        value = values[index]
        rank = np.int32(0)
        for other in range(width):
            rank += np.int32(values[other] < value)
        ordered[np.uint32(rank)] = value


@internal
def choose_thresholds(scratch: Scratch, n: int, spacing: int, thresholds: Float32s) -> int:
    """Write thresholds half-way between sampled values into `thresholds`, in place, ascending; return their number.

    `spacing` is the number of sorted values from one threshold to the next: with 2 they are closer to quantiles than
    with 1. Half-way between neighbouring floats is the lower one.
    """
    values, sample, ordered = scratch.values, scratch.sample, scratch.sorted
    size = min(n, spacing * min(MAX_THRESHOLDS, n // MIN_CHILD_EVENTS) + 1)
    # A single division: the index times `step`, with 20 bits of fraction dropped.
    step = ((np.uint64(n) << np.uint64(20)) + np.uint64(size - 1)) // np.uint64(size)
    for index in range(size):
        sample[index] = values[(np.uint64(index) * step) >> np.uint64(20)]
    sort(sample, ordered, size)
    n_thresholds, due = 0, spacing
    value = ordered[0]
    for position in range(1, size):
        above = ordered[position]
        if above > value:
            if position >= due:
                middle = value if value == -np.inf else value + (above - value) * np.float32(0.5)
                thresholds[n_thresholds] = middle if middle < above else value
                n_thresholds += 1
                due = position + spacing
            value = above
    return n_thresholds


@internal
def assign_bins(scratch: Scratch, n: int, thresholds: Float32s, n_thresholds: int) -> None:
    """Write the bin of every value into `scratch.bins`, in place; threshold by threshold, so that it vectorises."""
    values, bins = scratch.values, scratch.bins
    width = round_up_to_lanes(n)
    for index in range(width):
        bins[index] = 0
    for bin_ in range(n_thresholds):
        threshold = thresholds[bin_]
        for index in range(width):
            bins[index] += values[index] > threshold


@internal
def bin_doubles(scratch: Scratch, n: int, spacing: int, thresholds: Floats) -> int:
    """Thresholds and bins of a 64-bit column, in `scratch.double_values`; there are few: quick to compile."""
    values, ordered, bins = scratch.double_values, scratch.double_sample, scratch.bins
    size = min(n, spacing * min(MAX_THRESHOLDS, n // MIN_CHILD_EVENTS) + 1)
    step = ((np.uint64(n) << np.uint64(20)) + np.uint64(size - 1)) // np.uint64(size)
    for index in range(size):
        value, position = values[(np.uint64(index) * step) >> np.uint64(20)], index
        while position > 0 and ordered[position - 1] > value:
            ordered[position] = ordered[position - 1]
            position -= 1
        ordered[position] = value
    n_thresholds, due = 0, spacing
    for position in range(1, size):
        value, above = ordered[position - 1], ordered[position]
        if above > value and position >= due:
            middle = value if value == -np.inf else value + (above - value) * 0.5
            thresholds[n_thresholds] = middle if middle < above else value
            n_thresholds += 1
            due = position + spacing
    for bin_ in range(n_thresholds, MAX_THRESHOLDS):
        thresholds[bin_] = np.inf
    for index in range(n):
        position = 0
        while position < n_thresholds and values[index] > thresholds[position]:
            position += 1
        bins[index] = position
    return n_thresholds


@internal
def best_candidate(table: SplitTable, first: int, end: int, n: int, gain: float) -> int:
    """The split with the highest gain above `gain` and enough events on both sides, or NO_INDEX."""
    best = NO_INDEX
    for split in range(first, end):
        if (
            table.gains[split] > gain
            and table.sizes[split] >= MIN_CHILD_EVENTS
            and n - table.sizes[split] >= MIN_CHILD_EVENTS
        ):
            gain, best = np.float64(table.gains[split]), split
    return best
