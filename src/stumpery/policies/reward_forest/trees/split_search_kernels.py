"""Split search of the reward forest: the best split of a leaf's own events over a random half of the columns.

Histograms hold the counts and sums of a leaf's rewards per bin and action, the input of the split criterion
(`criterion_kernels.py`). Numerical columns are split between values of the leaf's events, categorical ones into one
category against the rest or the poorest ones together, binary ones all at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.binning_kernels import (
    DOUBLE,
    Scratch,
    SplitTable,
    assign_bins,
    best_candidate,
    bin_doubles,
    choose_thresholds,
    copy_events,
    insert_code,
    round_up_to_lanes,
)
from stumpery.array_forest.forest_kernels import (
    BINARY,
    CATEGORICAL,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    ForestState,
    column_of,
    value_goes_right,
)
from stumpery.hashing_kernels import GOLDEN, splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.criterion_kernels import (
    TOTAL_COUNT,
    TOTAL_PLAYS,
    TOTAL_REWARD,
    TOTAL_SCALE,
    TOTAL_SQUARES,
    TOTAL_SUM,
    TOTAL_VARIANCE,
    VARIANCE_OFFSET,
    fill_gains,
)
from stumpery.policies.reward_forest.trees.ring_kernels import (
    EVENT_ACTION,
    EVENT_REWARD,
    Ring,
    fill_doubles,
    fill_values,
    value_of,
)

THRESHOLD_SPACING = 1  # between thresholds, in sampled values


@internal
def clear_table(table: SplitTable, size: int) -> None:
    """Set the counts and sums of a table to 0, in place; assigning to a slice compiles ten times as long."""
    for cell in range(size):
        table.counts[cell] = 0.0
    for cell in range(size):
        table.sums[cell] = 0.0


@internal
def gather_events(ring: Ring, scratch: Scratch, n: int, time: int) -> int:
    """Copy a leaf's events side by side and fill the totals, in place; return the number of active actions."""
    totals = scratch.totals
    n_actions = totals.shape[1]
    copy_events(ring.words, scratch.event_numbers, n, time, scratch.events.words)
    for action in range(n_actions):
        totals[TOTAL_COUNT, action] = 0.0
        totals[TOTAL_SUM, action] = 0.0
        totals[TOTAL_SQUARES, action] = 0.0
    for index in range(n):
        event = scratch.events.floats[index]
        action, reward = int(event[EVENT_ACTION]), event[EVENT_REWARD]
        scratch.amounts[index] = reward
        scratch.table_rows[index] = action if action != NO_INDEX else n_actions
        if action == NO_INDEX:  # it was removed
            continue
        totals[TOTAL_COUNT, action] += 1.0
        totals[TOTAL_SUM, action] += reward
        totals[TOTAL_SQUARES, action] += reward * reward
    n_active = find_active(scratch)
    for index in range(n):
        scratch.table_rows[index] = scratch.active[scratch.table_rows[index]]
    return n_active


@internal
def find_active(scratch: Scratch) -> int:
    """Move the totals of active actions to the front, in place; return their number.

    An action is active if it has two rewards or more that are not all equal.
    """
    totals, active = scratch.totals, scratch.active
    n_actions, n_active = totals.shape[1], 0
    active[n_actions] = 0
    for action in range(n_actions):
        active[action] = 0
        count, total, squares = totals[TOTAL_COUNT, action], totals[TOTAL_SUM, action], totals[TOTAL_SQUARES, action]
        totals[TOTAL_PLAYS, action], totals[TOTAL_REWARD, action] = count, total
        if count >= 2.0:
            variance = squares / count - (total / count) * (total / count)
            if variance > 1e-9:
                totals[TOTAL_COUNT, n_active], totals[TOTAL_SUM, n_active] = count, total
                totals[TOTAL_VARIANCE, n_active] = variance
                totals[TOTAL_SCALE, n_active] = 1.0 / (variance + VARIANCE_OFFSET)
                n_active += 1
                active[action] = n_active
    return n_active


@internal
def fill_histogram(scratch: Scratch, n: int, width: int, n_active: int) -> None:
    """Count the events of each bin and sum their rewards, in place."""
    counts, sums = scratch.table.counts, scratch.table.sums
    clear_table(scratch.table, (n_active + 1) * width)
    for index in range(n):
        cell = scratch.table_rows[index] * width + scratch.bins[index]
        counts[cell] += np.float32(1.0)
        sums[cell] += scratch.amounts[index]


@internal
def accumulate_bins(table: SplitTable, width: int, n_active: int) -> None:
    """Turn the counts and sums of bins into those of all bins up to each, in place."""
    for active in range(n_active + 1):
        row = active * width
        counts, sums = table.counts[row : row + width], table.sums[row : row + width]
        count, total = np.float32(0.0), np.float32(0.0)
        for index in range(width):
            count += counts[index]
            total += sums[index]
            counts[index] = count
            sums[index] = total


@internal
def sum_sides(forest: ForestState, scratch: Scratch, n: int, node: int) -> None:
    """Write counts and sums of the gathered rewards on both sides of a node into the totals, in place.

    The side of each event goes into `scratch.bins`; all are on the first side where the node is NO_INDEX.
    """
    totals = scratch.totals
    for row in range(totals.shape[0]):
        for action in range(totals.shape[1]):
            totals[row, action] = 0.0
    column = int(column_of(forest, node)) if node != NO_INDEX else 0
    for index in range(n - 1, -1, -1):
        event = scratch.events.floats[index]
        value = value_of(scratch.events, index, column) if node != NO_INDEX else 0.0
        side = int(value_goes_right(forest, node, value)) if node != NO_INDEX else 0
        scratch.bins[index] = side
        action = int(event[EVENT_ACTION])
        if action != NO_INDEX:
            totals[2 * side, action] += 1.0
            totals[2 * side + 1, action] += event[EVENT_REWARD]


class RewardSplit(NamedTuple):
    """A split and its gain; a categorical column is given as ~column, and its mask holds the codes on the left."""

    gain: float
    column: int
    threshold: float
    mask: np.uint64
    n_tried: int


@internal
def best_numerical_split(scratch: Scratch, n: int, n_active: int, column: int, best: RewardSplit) -> RewardSplit:
    """The better of `best` and the best split of a numerical column."""
    is_double = scratch.events.widths[column] == DOUBLE
    if is_double:
        fill_doubles(scratch.events, column, n, scratch.double_values)
        n_thresholds = bin_doubles(scratch, n, THRESHOLD_SPACING, scratch.double_thresholds)
    else:
        fill_values(scratch.events, column, n, scratch.values)
        n_thresholds = choose_thresholds(scratch, n, THRESHOLD_SPACING, scratch.thresholds)
        assign_bins(scratch, n, scratch.thresholds, n_thresholds)
    width = round_up_to_lanes(n_thresholds + 1)
    fill_histogram(scratch, n, width, n_active)
    accumulate_bins(scratch.table, width, n_active)
    fill_gains(scratch.table, scratch.totals, width, n_active)
    index = best_candidate(scratch.table, 0, n_thresholds, n, best.gain)
    n_tried = best.n_tried + n_thresholds
    if index == NO_INDEX:
        return RewardSplit(best.gain, best.column, best.threshold, best.mask, n_tried)
    threshold = scratch.double_thresholds[index] if is_double else np.float64(scratch.thresholds[index])
    return RewardSplit(np.float64(scratch.table.gains[index]), column, threshold, np.uint64(0), n_tried)


@internal
def order_codes(scratch: Scratch, width: int, n_active: int) -> int:
    """Write the codes that occur into `scratch.order`, in place, those of low rewards first; return their number."""
    table, order = scratch.table, scratch.order
    keys, counts, sums = scratch.codes[0], scratch.codes[1], scratch.codes[2]
    for code in range(width):
        counts[code] = 0.0
        sums[code] = 0.0
    for active in range(1, n_active + 1):
        for code in range(width):
            counts[code] += np.float64(table.counts[active * width + code])  # 64 bits also in plain Python
            sums[code] += np.float64(table.sums[active * width + code])
    n_codes = 0
    for code in range(width):
        if counts[code] + table.counts[code] > 0.0:
            insert_code(order, keys, n_codes, code, sums[code] / (counts[code] + 1e-9))
            n_codes += 1
    return n_codes


@internal
def fill_ordered_histogram(scratch: Scratch, n: int, n_active: int, column: int) -> int:
    """Fill the histogram of a categorical column, its codes ordered by reward, in place; return their number."""
    table, ordered, order = scratch.table, scratch.ordered, scratch.order
    last = np.int32(0)
    start = scratch.events.starts[column]
    for index in range(n):
        code = np.int32(scratch.events.bytes[index, start])
        scratch.bins[index] = code
        last = max(last, code)
    all_codes = round_up_to_lanes(int(last) + 1)
    fill_histogram(scratch, n, all_codes, n_active)
    n_codes = order_codes(scratch, all_codes, n_active)
    width = round_up_to_lanes(n_codes)
    for active in range(n_active + 1):
        for index in range(n_codes):
            ordered.counts[active * width + index] = table.counts[active * all_codes + order[index]]
            ordered.sums[active * width + index] = table.sums[active * all_codes + order[index]]
    return n_codes


@internal
def best_categorical_split(scratch: Scratch, n: int, n_active: int, column: int, best: RewardSplit) -> RewardSplit:
    """The better of `best` and the best set of categories of a column: one alone, or the poorest ones together."""
    ordered, order = scratch.ordered, scratch.order
    n_codes = fill_ordered_histogram(scratch, n, n_active, column)
    width = round_up_to_lanes(n_codes)
    gain, mask = best.gain, np.uint64(0)
    if n_codes > 2:  # the first and the last alone are among the sets of the poorest
        fill_gains(ordered, scratch.totals, width, n_active)
        index = best_candidate(ordered, 1, n_codes - 1, n, gain)
        if index != NO_INDEX:
            gain, mask = np.float64(ordered.gains[index]), np.uint64(1) << np.uint64(order[index])
    accumulate_bins(ordered, width, n_active)
    fill_gains(ordered, scratch.totals, width, n_active)
    index = best_candidate(ordered, 0, n_codes - 1, n, gain)
    if index != NO_INDEX:
        gain, mask = np.float64(ordered.gains[index]), np.uint64(0)
        for rank in range(index + 1):
            mask |= np.uint64(1) << np.uint64(order[rank])
    n_tried = best.n_tried + max(2 * n_codes - 3, 0)
    if mask != np.uint64(0):
        return RewardSplit(gain, ~column, 0.0, mask, n_tried)
    return RewardSplit(best.gain, best.column, best.threshold, best.mask, n_tried)


@internal
def fill_binary_gains(scratch: Scratch, n: int, n_active: int) -> None:
    """Write the gains of the splits of all one-byte columns at once, in place; only those of binary ones are read."""
    bits, (first, end) = scratch.bits, scratch.events.span
    width = round_up_to_lanes(end - first)
    clear_table(bits, (n_active + 1) * width)
    for index in range(n):
        event, reward = scratch.events.bytes[index, first : first + width], scratch.amounts[index]
        row = scratch.table_rows[index] * width
        counts = bits.counts[row : row + width]
        for column in range(width):
            counts[column] += np.float32(event[column])
        if reward != 0.0:
            sums = bits.sums[row : row + width]
            for column in range(width):
                sums[column] += reward * np.float32(event[column])
    fill_gains(bits, scratch.totals, width, n_active)


@internal
def best_binary_split(scratch: Scratch, n: int, column: int, best: RewardSplit) -> RewardSplit:
    """The better of `best` and the split of a binary column, ones to the right; its gain is there already."""
    index = scratch.events.starts[column] - scratch.events.span[0]
    gain, size = np.float64(scratch.bits.gains[index]), scratch.bits.sizes[index]
    if gain > best.gain and size >= MIN_CHILD_EVENTS and n - size >= MIN_CHILD_EVENTS:
        return RewardSplit(gain, column, 0.5, np.uint64(0), best.n_tried + 1)
    return RewardSplit(best.gain, best.column, best.threshold, best.mask, best.n_tried + 1)


@internal
def best_split(kinds: NDArray[np.uint8], scratch: Scratch, n: int, n_active: int, key: np.uint64) -> RewardSplit:
    """The best split over half of the columns, drawn by `key`."""
    n_columns = kinds.shape[0]
    best = RewardSplit(0.0, n_columns, 0.0, np.uint64(0), 0)
    needed = (n_columns + 1) // 2
    for column in range(n_columns):
        if kinds[column] == BINARY:
            fill_binary_gains(scratch, n, n_active)
            break
    for column in range(n_columns):
        key = splitmix64(key + GOLDEN)
        if ((key >> np.uint64(32)) * np.uint64(n_columns - column)) >> np.uint64(32) >= np.uint64(needed):
            continue
        needed -= 1
        if kinds[column] == BINARY:
            best = best_binary_split(scratch, n, column, best)
        elif kinds[column] == CATEGORICAL:
            best = best_categorical_split(scratch, n, n_active, column, best)
        else:
            best = best_numerical_split(scratch, n, n_active, column, best)
    return best
