"""What a cut of a leaf's events is worth: information gain, Gini, or the variance that it explains.

A table has a row for each class that is there, of the weight at each place. For numbers to be predicted it has two: the
weight, and the weight times the distance from the leaf's mean.
"""

import math

import numpy as np

from stumpery.array_forest.scratch_kernels import Scratch, SplitTable
from stumpery.jit import internal, log2_of
from stumpery.types import Floats

GINI, INFORMATION_GAIN, VARIANCE = range(3)  # criteria
EVENT_LABEL, EVENT_WEIGHT = -2, -1  # of an event, behind its columns: its class or its number, and its weight
TOTALS_BY_ROW, TOTALS_LEAF = 0, 1  # of the scratch's totals: the weight of each row; in all, and the impurity
CUT_SPACING = 2  # of cuts, in sampled values
TINY = np.float32(1e-30)


@internal
def sum_labels(scratch: Scratch, n: int, criterion: int) -> int:
    """Sum the weights of the copied events by rows of the table, in place; give the number of rows."""
    if criterion == VARIANCE:
        return sum_numbers(scratch, n)
    totals = scratch.totals[TOTALS_BY_ROW]
    n_classes = totals.shape[0]
    for each in range(n_classes):
        totals[each] = 0.0
    for index in range(n):
        each, weight = int(scratch.events[index, EVENT_LABEL]), scratch.events[index, EVENT_WEIGHT]
        scratch.arms[index] = each
        scratch.rewards[index] = weight
        totals[each] += weight
    places = scratch.active
    n_rows = 0
    weight, squares, logs = 0.0, 0.0, 0.0
    for each in range(n_classes):
        total = totals[each]
        if total > 0.0:
            totals[n_rows] = total
            places[each] = n_rows
            n_rows += 1
            weight += total
            squares += total * total
            logs += total * math.log2(total)
    for index in range(n):
        scratch.arms[index] = places[scratch.arms[index]]
    scratch.totals[TOTALS_LEAF, 0] = weight
    pure = squares / max(weight * weight, 1e-300)
    scratch.totals[TOTALS_LEAF, 1] = 1.0 - pure if criterion == GINI else math.log2(max(weight, 1e-300)) - logs / weight
    return n_rows


@internal
def sum_numbers(scratch: Scratch, n: int) -> int:
    """Write weights times distances from the mean as rewards, in place; two rows, or one if all numbers are equal."""
    weight, mean, squares = 0.0, 0.0, 0.0
    for index in range(n):
        weight += np.float64(scratch.events[index, EVENT_WEIGHT])
        mean += np.float64(scratch.events[index, EVENT_WEIGHT]) * np.float64(scratch.events[index, EVENT_LABEL])
    mean /= weight
    for index in range(n):
        distance = np.float64(scratch.events[index, EVENT_LABEL]) - mean
        squares += np.float64(scratch.events[index, EVENT_WEIGHT]) * distance * distance
    deviation = math.sqrt(squares / weight)
    for index in range(n):  # in units of the deviation, so that sums fit whatever the numbers are
        distance = (np.float64(scratch.events[index, EVENT_LABEL]) - mean) / max(deviation, 1e-300)
        scratch.arms[index] = 1
        scratch.rewards[index] = scratch.events[index, EVENT_WEIGHT] * distance
    scratch.totals[TOTALS_BY_ROW, 0], scratch.totals[TOTALS_BY_ROW, 1] = weight, 0.0
    scratch.totals[TOTALS_LEAF, 0], scratch.totals[TOTALS_LEAF, 1] = weight, squares / weight
    return 2 if deviation > 1e-6 * abs(mean) else 1


@internal
def compute_gains(table: SplitTable, totals: Floats, width: int, n_rows: int, criterion: int) -> None:
    """Write what every cut makes pure, times the weight of the leaf, and the weight of its one side, in place."""
    gains, sizes = table.gains, table.sizes
    total = np.float32(totals[TOTALS_LEAF, 0])
    n_counted = 1 if criterion == VARIANCE else n_rows
    for cut in range(width):
        sizes[cut] = 0.0
        gains[cut] = 0.0
    for each in range(n_counted):
        sums = table.sums[each * width : (each + 1) * width]
        for cut in range(width):
            sizes[cut] += sums[cut]
    if criterion == INFORMATION_GAIN:
        compute_information_gains(table, totals, width, n_rows)
        return
    for each in range(n_rows - n_counted, n_rows):
        weight = np.float32(totals[TOTALS_BY_ROW, each])
        sums = table.sums[each * width : (each + 1) * width]
        for cut in range(width):
            one, other = sums[cut], weight - sums[cut]
            gains[cut] += one * one / (sizes[cut] + TINY) + other * other / (abs(total - sizes[cut]) + TINY)


@internal
def compute_information_gains(table: SplitTable, totals: Floats, width: int, n_rows: int) -> None:
    """The same for information, whose logarithms are of base 2, in place."""
    gains, sizes = table.gains, table.sizes
    total = np.float32(totals[TOTALS_LEAF, 0])
    for cut in range(width):
        size, rest = sizes[cut], max(total - sizes[cut], np.float32(0.0))
        gains[cut] = -size * log2_of(size + TINY) - rest * log2_of(rest + TINY)
    for each in range(n_rows):
        weight = np.float32(totals[TOTALS_BY_ROW, each])
        sums = table.sums[each * width : (each + 1) * width]
        for cut in range(width):
            one, other = sums[cut], max(weight - sums[cut], np.float32(0.0))
            gains[cut] += one * log2_of(one + TINY) + other * log2_of(other + TINY)


@internal
def fill_sums(scratch: Scratch, n: int, width: int, n_rows: int, criterion: int) -> None:
    """Fill the table by places, in place."""
    sums = scratch.table.sums
    for cell in range(n_rows * width):
        sums[cell] = 0.0
    for index in range(n):
        sums[scratch.arms[index] * width + scratch.places[index]] += scratch.rewards[index]
    if criterion == VARIANCE:
        for index in range(n):
            sums[scratch.places[index]] += scratch.events[index, EVENT_WEIGHT]


@internal
def cumulate(table: SplitTable, width: int, n_rows: int) -> None:
    """Turn the sums of places into those of all places up to each, in place."""
    for each in range(n_rows):
        sums = table.sums[each * width : (each + 1) * width]
        total = np.float32(0.0)
        for place in range(width):
            total += sums[place]
            sums[place] = total
