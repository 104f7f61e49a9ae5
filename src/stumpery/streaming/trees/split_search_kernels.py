"""Split search of Hoeffding trees: the best cut of each column of a leaf's events by a criterion, and the best of all.

Criteria are information gain, Gini impurity and variance reduction, of many cuts at once. A table has a row for each
class that occurs: the weight in each bin of a column. For numbers to predict it has two rows: the weight, and the
weight times the distance from the leaf's mean.

Numerical columns are cut between values of the leaf's own events. Categories are split one against the rest, in order
of their mean, or each to a child of its own. Binary columns are searched all at once. Every column gives one candidate;
the Hoeffding bound compares the best two.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import (
    DOUBLE,
    Doubles,
    Scratch,
    SplitTable,
    assign_bins,
    best_candidate,
    bin_doubles,
    choose_thresholds,
    gather_doubles,
    insert_code,
    round_up_to_lanes,
)
from stumpery.array_forest.forest_kernels import MAX_CODES, MIN_CHILD_EVENTS
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal, log2_of
from stumpery.types import Floats

GINI, INFORMATION_GAIN, VARIANCE = range(3)
EVENT_LABEL, EVENT_WEIGHT = -2, -1  # behind the columns of an event
TOTALS_BY_ROW, TOTALS_LEAF = 0, 1  # rows of `scratch.totals`: weights of table rows; weight and impurity of the leaf
CUT_SPACING = 2  # sampled values from one cut to the next
TINY = np.float32(1e-30)


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
        sums[scratch.table_rows[index] * width + scratch.bins[index]] += scratch.amounts[index]
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


class SplitCandidate(NamedTuple):
    """The best split of a leaf, and the gain of the best one of any other column."""

    gain: float
    column: int  # ~column where categories are split
    threshold: float
    mask: np.uint64  # of the codes of categories on the left
    second_gain: float
    n_tried: int
    n_children: int  # with more than two, a child for each code of the mask


@internal
def best_numerical_split(
    scratch: Scratch, doubles: Doubles, n: int, n_rows: int, column: int, criterion: int
) -> tuple[float, float, int]:
    """The gain and the threshold of a numerical column's best cut, and the number of cuts."""
    is_double = doubles.widths[column] == DOUBLE
    if is_double:
        gather_doubles(doubles, scratch.event_numbers, n, column, scratch.double_values)
        n_cuts = bin_doubles(scratch, n, CUT_SPACING, scratch.double_thresholds)
    else:
        for index in range(n):
            scratch.values[index] = scratch.events[index, column]
        n_cuts = choose_thresholds(scratch, n, CUT_SPACING, scratch.thresholds)
        assign_bins(scratch, n, scratch.thresholds, n_cuts)
    if n_cuts == 0:
        return -np.inf, 0.0, 0
    width = round_up_to_lanes(n_cuts + 1)
    fill_sums(scratch, n, width, n_rows, criterion)
    cumulate(scratch.table, width, n_rows)
    compute_gains(scratch.table, scratch.totals, width, n_rows, criterion)
    best = best_candidate(scratch.table, 0, n_cuts, scratch.totals[TOTALS_LEAF, 0], -np.inf)
    if best == forests.NO_INDEX:
        return -np.inf, 0.0, n_cuts
    threshold = scratch.double_thresholds[best] if is_double else np.float64(scratch.thresholds[best])
    return np.float64(scratch.table.gains[best]), threshold, n_cuts


@internal
def order_codes(scratch: Scratch, n_rows: int, criterion: int) -> int:
    """Sort the codes that occur into `scratch.order`, in place: by the share of the majority class, or their mean."""
    totals, sums, order, keys = scratch.totals[TOTALS_BY_ROW], scratch.table.sums, scratch.order, scratch.codes[0]
    top = 1 if criterion == VARIANCE else 0
    if criterion != VARIANCE:
        for row in range(n_rows):
            if totals[row] > totals[top]:
                top = row
    n_codes = 0
    for code in range(MAX_CODES):
        weight = np.float64(sums[code])
        if criterion != VARIANCE:
            for row in range(1, n_rows):
                weight += np.float64(sums[row * MAX_CODES + code])
        if weight > 0.0:
            insert_code(order, keys, n_codes, code, np.float64(sums[top * MAX_CODES + code]) / weight)
            n_codes += 1
    return n_codes


@internal
def best_categorical_split(
    scratch: Scratch, n: int, n_rows: int, column: int, criterion: int
) -> tuple[float, np.uint64, int]:
    """The gain and the codes of a categorical column's best subset, and the number of subsets."""
    table, ordered, weight = scratch.table, scratch.ordered, scratch.totals[TOTALS_LEAF, 0]
    order = scratch.order
    for index in range(n):
        scratch.bins[index] = np.int32(scratch.events[index, column])
    fill_sums(scratch, n, MAX_CODES, n_rows, criterion)
    n_codes = order_codes(scratch, n_rows, criterion)
    width = round_up_to_lanes(n_codes)
    for cell in range(n_rows * width):
        ordered.sums[cell] = 0.0
    for row in range(n_rows):
        for index in range(n_codes):
            ordered.sums[row * width + index] = table.sums[row * MAX_CODES + order[index]]
    gain, mask = -np.inf, np.uint64(0)
    if n_codes > 2:  # one against the rest; the first and the last are among the subsets below
        compute_gains(ordered, scratch.totals, width, n_rows, criterion)
        best = best_candidate(ordered, 1, n_codes - 1, weight, gain)
        if best != forests.NO_INDEX:
            gain, mask = np.float64(ordered.gains[best]), np.uint64(1) << np.uint64(order[best])
    cumulate(ordered, width, n_rows)
    compute_gains(ordered, scratch.totals, width, n_rows, criterion)
    best = best_candidate(ordered, 0, n_codes - 1, weight, gain)
    if best != forests.NO_INDEX:
        gain, mask = np.float64(ordered.gains[best]), np.uint64(0)
        for index in range(best + 1):
            mask |= np.uint64(1) << np.uint64(order[index])
    return gain, mask, max(2 * n_codes - 3, 0)


@internal
def multiway_split(scratch: Scratch, n: int, n_rows: int, column: int, criterion: int) -> tuple[float, np.uint64, int]:
    """The gain of a child for each category, the codes that occur, and their number; two must have enough events."""
    for index in range(n):
        scratch.bins[index] = np.int32(scratch.events[index, column])
    fill_sums(scratch, n, MAX_CODES, n_rows, criterion)
    sums, n_counted = scratch.table.sums, 1 if criterion == VARIANCE else n_rows
    gain, mask, n_children, n_large = 0.0, np.uint64(0), 0, 0
    for code in range(MAX_CODES):
        size = 0.0
        for row in range(n_counted):
            size += np.float64(sums[row * MAX_CODES + code])
        if size <= 0.0:
            continue
        mask |= np.uint64(1) << np.uint64(code)
        n_children += 1
        n_large += size >= MIN_CHILD_EVENTS
        if criterion == INFORMATION_GAIN:
            gain -= size * math.log2(size)
        for row in range(n_rows - n_counted, n_rows):
            value = np.float64(sums[row * MAX_CODES + code])
            if criterion != INFORMATION_GAIN:
                gain += value * value / size
            elif value > 0.0:
                gain += value * math.log2(value)
    return gain if n_large > 1 else -np.inf, mask, n_children


@internal
def compute_binary_gains(scratch: Scratch, n: int, n_rows: int, criterion: int) -> None:
    """Write the gains of all binary columns at once, in place."""
    bits = scratch.bits
    n_values = scratch.events.shape[1]  # with label and weight, whose gains are not used
    width = round_up_to_lanes(n_values)
    for cell in range(n_rows * width):
        bits.sums[cell] = 0.0
    for index in range(n):
        event, weight = scratch.events[index], scratch.amounts[index]
        row = scratch.table_rows[index] * width
        sums = bits.sums[row : row + n_values]
        for column in range(n_values):
            sums[column] += weight * event[column]
    if criterion == VARIANCE:
        for index in range(n):
            event, weight = scratch.events[index], scratch.events[index, EVENT_WEIGHT]
            for column in range(n_values):
                bits.sums[column] += weight * event[column]
    compute_gains(bits, scratch.totals, width, n_rows, criterion)


@internal
def find_split(
    kinds: NDArray[np.uint8],
    doubles: Doubles,
    scratch: Scratch,
    n: int,
    n_rows: int,
    criterion: int,
    n_drawn: int,
    multiway: bool,
    key: np.uint64,
) -> SplitCandidate:
    """The best split over `n_drawn` columns, drawn by `key`; gains are divided by the leaf's weight."""
    n_columns = kinds.shape[0]
    weight, impurity = scratch.totals[TOTALS_LEAF, 0], scratch.totals[TOTALS_LEAF, 1]
    if criterion == GINI:
        impurity -= 1.0
    elif criterion == VARIANCE:
        impurity = 0.0
    for column in range(n_columns):
        if kinds[column] == forests.BINARY:
            compute_binary_gains(scratch, n, n_rows, criterion)
            break
    best = SplitCandidate(0.0, n_columns, 0.0, np.uint64(0), 0.0, 0, 2)
    needed = n_drawn
    for column in range(n_columns):
        key = splitmix64(key + np.uint64(0x9E3779B97F4A7C15))
        if (key >> np.uint64(32)) % np.uint64(n_columns - column) >= np.uint64(needed):
            continue
        needed -= 1
        weighted_gain, threshold, mask, coded, n_children = -np.inf, 0.5, np.uint64(0), column, 2
        if kinds[column] == forests.BINARY:
            tried, size = 1, scratch.bits.sizes[column]
            if size >= MIN_CHILD_EVENTS and weight - size >= MIN_CHILD_EVENTS:
                weighted_gain = float(scratch.bits.gains[column])
        elif kinds[column] == forests.CATEGORICAL and multiway:
            weighted_gain, mask, n_children = multiway_split(scratch, n, n_rows, column, criterion)
            coded, tried = ~column, 1
        elif kinds[column] == forests.CATEGORICAL:
            weighted_gain, mask, tried = best_categorical_split(scratch, n, n_rows, column, criterion)
            coded = ~column
        else:
            weighted_gain, threshold, tried = best_numerical_split(scratch, doubles, n, n_rows, column, criterion)
        gain, n_tried = impurity + weighted_gain / weight, best.n_tried + tried
        if gain > best.gain:
            best = SplitCandidate(gain, coded, threshold, mask, best.gain, n_tried, n_children)
        else:
            second_gain = max(best.second_gain, gain)
            best = SplitCandidate(
                best.gain, best.column, best.threshold, best.mask, second_gain, n_tried, best.n_children
            )
    return best
