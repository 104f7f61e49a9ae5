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
    """Write the first n values in ascending order, in place; without a branch, each goes where as many are less.

    Equal values go to the first of their places; NaN stands in the others.
    """
    width = round_up_to_lanes(n)
    for index in range(width):
        ordered[index] = np.nan
    for index in range(n, width):
        values[index] = np.inf
    for index in range(n):
        value = values[index]
        place = np.int32(0)
        for other in range(width):
            place += np.int32(values[other] < value)
        ordered[np.uint32(place)] = value


@internal
def choose_thresholds(scratch: Scratch, n: int, spacing: int, cuts: Float32s) -> int:
    """Put cut points half-way between some of the values into `cuts`, in place and ascending; give their number.

    `spacing` is how many values, put in order, a cut is from the next: with 2 they are closer to quantiles than with 1.
    Half-way between numbers that have none between them is the lower one.
    """
    values, sample, ordered = scratch.values, scratch.sample, scratch.sorted
    size = min(n, spacing * min(MAX_THRESHOLDS, n // MIN_CHILD_EVENTS) + 1)
    # One division for all: times the index, its 20 bits of fraction dropped.
    step = ((np.uint64(n) << np.uint64(20)) + np.uint64(size - 1)) // np.uint64(size)
    for index in range(size):
        sample[index] = values[(np.uint64(index) * step) >> np.uint64(20)]
    sort(sample, ordered, size)
    n_cuts, due = 0, spacing
    value = ordered[0]
    for place in range(1, size):
        above = ordered[place]
        if above > value:
            if place >= due:
                middle = value if value == -np.inf else value + (above - value) * np.float32(0.5)
                cuts[n_cuts] = middle if middle < above else value
                n_cuts += 1
                due = place + spacing
            value = above
    return n_cuts


@internal
def assign_bins(scratch: Scratch, n: int, cuts: Float32s, n_cuts: int) -> None:
    """Write into `scratch.bins` between which cuts every value lies, in place; cut by cut, so that it vectorises."""
    values, places = scratch.values, scratch.bins
    width = round_up_to_lanes(n)
    for index in range(width):
        places[index] = 0
    for cut in range(n_cuts):
        threshold = cuts[cut]
        for index in range(width):
            places[index] += values[index] > threshold


@internal
def bin_doubles(scratch: Scratch, n: int, spacing: int, cuts: Floats) -> int:
    """Both for a column of 64 bits, in `scratch.double_values`; there are few, so this is quick to compile instead."""
    values, ordered, places = scratch.double_values, scratch.double_sample, scratch.bins
    size = min(n, spacing * min(MAX_THRESHOLDS, n // MIN_CHILD_EVENTS) + 1)
    step = ((np.uint64(n) << np.uint64(20)) + np.uint64(size - 1)) // np.uint64(size)
    for index in range(size):
        value, place = values[(np.uint64(index) * step) >> np.uint64(20)], index
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    n_cuts, due = 0, spacing
    for place in range(1, size):
        value, above = ordered[place - 1], ordered[place]
        if above > value and place >= due:
            middle = value if value == -np.inf else value + (above - value) * 0.5
            cuts[n_cuts] = middle if middle < above else value
            n_cuts += 1
            due = place + spacing
    for cut in range(n_cuts, MAX_THRESHOLDS):
        cuts[cut] = np.inf
    for index in range(n):
        place = 0
        while place < n_cuts and values[index] > cuts[place]:
            place += 1
        places[index] = place
    return n_cuts


@internal
def best_candidate(table: SplitTable, first: int, end: int, n: int, gain: float) -> int:
    """The cut that is worth most, and more than `gain`, with enough events on both sides; NOTHING where none is."""
    found = NO_INDEX
    for cut in range(first, end):
        if (
            table.gains[cut] > gain
            and table.sizes[cut] >= MIN_CHILD_EVENTS
            and n - table.sizes[cut] >= MIN_CHILD_EVENTS
        ):
            gain, found = np.float64(table.gains[cut]), cut
    return found
