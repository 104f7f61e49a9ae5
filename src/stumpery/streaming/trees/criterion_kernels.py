"""Split criteria of Hoeffding trees: information gain, Gini impurity and variance reduction, of many cuts at once.

A table has a row for each class that occurs: the weight in each bin of a column. For numbers to predict it has two
rows: the weight, and the weight times the distance from the leaf's mean.
"""

import math

import numpy as np

from stumpery.array_forest.binning_kernels import Scratch, SplitTable
from stumpery.jit import internal, log2_of
from stumpery.types import Floats

GINI, INFORMATION_GAIN, VARIANCE = range(3)
EVENT_LABEL, EVENT_WEIGHT = -2, -1  # behind the columns of an event
TOTALS_BY_ROW, TOTALS_LEAF = 0, 1  # rows of `scratch.totals`: weights of table rows; weight and impurity of the leaf
CUT_SPACING = 2  # sampled values from one cut to the next
TINY = np.float32(1e-30)


@internal
def sum_labels(scratch: Scratch, n: int, criterion: int) -> int:
    """Sum the weights of the copied events by class, in place; give the number of table rows."""
    if criterion == VARIANCE:
        return sum_numbers(scratch, n)
    totals = scratch.totals[TOTALS_BY_ROW]
    n_classes = totals.shape[0]
    for label in range(n_classes):
        totals[label] = 0.0
    for index in range(n):
        label, weight = int(scratch.events[index, EVENT_LABEL]), scratch.events[index, EVENT_WEIGHT]
        scratch.active_numbers[index] = label
        scratch.rewards[index] = weight
        totals[label] += weight
    rows = scratch.active
    n_rows = 0
    weight, squares, logs = 0.0, 0.0, 0.0
    for label in range(n_classes):
        total = totals[label]
        if total > 0.0:
            totals[n_rows] = total
            rows[label] = n_rows
            n_rows += 1
            weight += total
            squares += total * total
            logs += total * math.log2(total)
    for index in range(n):
        scratch.active_numbers[index] = rows[scratch.active_numbers[index]]
    scratch.totals[TOTALS_LEAF, 0] = weight
    pure = squares / max(weight * weight, 1e-300)
    scratch.totals[TOTALS_LEAF, 1] = 1.0 - pure if criterion == GINI else math.log2(max(weight, 1e-300)) - logs / weight
    return n_rows


@internal
def sum_numbers(scratch: Scratch, n: int) -> int:
    """Write the weighted distances of numbers from their mean, in place; two table rows, or one if all are equal."""
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
        scratch.active_numbers[index] = 1
        scratch.rewards[index] = scratch.events[index, EVENT_WEIGHT] * distance
    scratch.totals[TOTALS_BY_ROW, 0], scratch.totals[TOTALS_BY_ROW, 1] = weight, 0.0
    scratch.totals[TOTALS_LEAF, 0], scratch.totals[TOTALS_LEAF, 1] = weight, squares / weight
    return 2 if deviation > 1e-6 * abs(mean) else 1


@internal
def compute_gains(table: SplitTable, totals: Floats, width: int, n_rows: int, criterion: int) -> None:
    """Write the gain of every cut, times the weight of the leaf, and the weight on its left, in place."""
    gains, sizes = table.gains, table.sizes
    total = np.float32(totals[TOTALS_LEAF, 0])
    n_counted = 1 if criterion == VARIANCE else n_rows
    for cut in range(width):
        sizes[cut] = 0.0
        gains[cut] = 0.0
    for row in range(n_counted):
        sums = table.sums[row * width : (row + 1) * width]
        for cut in range(width):
            sizes[cut] += sums[cut]
    if criterion == INFORMATION_GAIN:
        compute_information_gains(table, totals, width, n_rows)
        return
    for row in range(n_rows - n_counted, n_rows):
        weight = np.float32(totals[TOTALS_BY_ROW, row])
        sums = table.sums[row * width : (row + 1) * width]
        for cut in range(width):
            left, right = sums[cut], weight - sums[cut]
            gains[cut] += left * left / (sizes[cut] + TINY) + right * right / (abs(total - sizes[cut]) + TINY)


@internal
def compute_information_gains(table: SplitTable, totals: Floats, width: int, n_rows: int) -> None:
    """Write the information gain of every cut in bits, times the weight of the leaf, in place."""
    gains, sizes = table.gains, table.sizes
    total = np.float32(totals[TOTALS_LEAF, 0])
    for cut in range(width):
        size, rest = sizes[cut], max(total - sizes[cut], np.float32(0.0))
        gains[cut] = -size * log2_of(size + TINY) - rest * log2_of(rest + TINY)
    for row in range(n_rows):
        weight = np.float32(totals[TOTALS_BY_ROW, row])
        sums = table.sums[row * width : (row + 1) * width]
        for cut in range(width):
            left, right = sums[cut], max(weight - sums[cut], np.float32(0.0))
            gains[cut] += left * log2_of(left + TINY) + right * log2_of(right + TINY)


@internal
def fill_sums(scratch: Scratch, n: int, width: int, n_rows: int, criterion: int) -> None:
    """Fill the table with the weights in each bin, in place."""
    sums = scratch.table.sums
    for cell in range(n_rows * width):
        sums[cell] = 0.0
    for index in range(n):
        sums[scratch.active_numbers[index] * width + scratch.bins[index]] += scratch.rewards[index]
    if criterion == VARIANCE:
        for index in range(n):
            sums[scratch.bins[index]] += scratch.events[index, EVENT_WEIGHT]


@internal
def cumulate(table: SplitTable, width: int, n_rows: int) -> None:
    """Replace the sums of bins by cumulative sums, in place."""
    for row in range(n_rows):
        sums = table.sums[row * width : (row + 1) * width]
        total = np.float32(0.0)
        for index in range(width):
            total += sums[index]
            sums[index] = total
