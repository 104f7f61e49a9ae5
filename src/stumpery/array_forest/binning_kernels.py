"""Binning of a leaf's events for the split search: what of a number is stored, scratch buffers, thresholds and bins.

Reward forests and Hoeffding trees share this, each with a criterion of its own. A value is rounded to 32 bits, about
seven digits, unless that changes it and it is larger than 2^16, as ids, timestamps and amounts of money are, or outside
the range of 32-bit numbers. A column becomes one of 64 bits with the first such value. Thresholds lie between values of
the events in the leaf itself.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    MAX_CODES,
    MAX_THRESHOLDS,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    Float32s,
    Int32s,
    aligned_zeros,
)
from stumpery.jit import internal, prefetch
from stumpery.types import Floats

SINGLE, DOUBLE = 4, 8  # bytes
DOUBLE_INFINITY = 8e307  # stands for infinity, so that differences are finite
SINGLE_INFINITY, MIN_SINGLE = 3e38, 1e-37  # magnitudes of 32-bit numbers; the first stands for infinity there
MAX_EXACT_SINGLE = 2.0**16  # above it 32-bit numbers are 1/128 and more apart
MAX_SPLIT_EVENTS = 8192  # the latest events of a leaf that a split search considers, and up to a block more
LANES = 16  # loops run to a multiple of it, so that they vectorise without a remainder
SCRATCH_PADDING = 256  # elements: loops run past the end, and equal page offsets of arrays would cause cache conflicts
MAX_SAMPLE = 2 * LANES  # values of a column that are sorted
PREFETCH_DISTANCE = 12  # events


class Doubles(NamedTuple):
    """The columns of 64 bits of a ring of 32-bit floats."""

    values: Floats  # (events, columns of 64 bits)
    widths: NDArray[np.uint8]  # (columns,): SINGLE or DOUBLE
    value_index: Int32s  # (columns,): the index of each column in `values`
    columns: Int32s  # (columns of 64 bits,): their indices


@internal
def round_row(values: Floats, widths: NDArray[np.uint8], row: Floats) -> bool:
    """Write values into a row as they are stored, in place; return whether no column needs to become wider.

    All values that 32 bits represent well enough are rounded, whatever their column.
    """
    n_lost = 0
    for column in range(row.shape[0]):
        value = values[column]
        narrow, size = np.float64(np.float32(value)), abs(value)
        row[column] = narrow
        n_lost += int((narrow != value) & ((size > MAX_EXACT_SINGLE) | (size < MIN_SINGLE)))
    if n_lost == 0:
        return True
    n_too_wide = 0
    for column in range(row.shape[0]):
        value, size = values[column], abs(values[column])
        if row[column] != value and (size > MAX_EXACT_SINGLE or size < MIN_SINGLE):
            row[column] = value
            if widths[column] != DOUBLE and size < DOUBLE_INFINITY:
                n_too_wide += 1
            elif widths[column] != DOUBLE:
                row[column] = np.float64(np.float32(SINGLE_INFINITY if value > 0.0 else -SINGLE_INFINITY))
    return n_too_wide == 0


@internal
def gather_doubles(doubles: Doubles, numbers: Int32s, n: int, column: int, values: Floats) -> None:
    """Write the values of a 64-bit column of the events of the first n numbers, in place."""
    source, size = doubles.value_index[column], doubles.values.shape[0]
    for index in range(n):
        values[index] = doubles.values[numbers[index] % size, source]


class SplitTable(NamedTuple):
    """Counts and sums of rewards on one side of many candidate splits, and the gains of these."""

    counts: Float32s  # a row of splits for inactive actions, then one for each active action, end to end
    sums: Float32s  # the same of their rewards
    gains: Float32s  # (splits,)
    sizes: Float32s  # (splits,), events on that side


class Scratch(NamedTuple):
    """Scratch buffers of one split search."""

    event_numbers: Int32s  # (events,)
    table_rows: Int32s  # (events,): 1 + the index among the active actions, or 0; the index among a leaf's classes
    amounts: Float32s  # (events,), what tables sum: rewards; weights, or weights times distances from a mean
    events: Any  # copies of the events, side by side: (events, values), or a ring
    values: Float32s  # (events,): one column of them
    bins: Int32s  # (events,): the bin between two thresholds, or the code
    table: SplitTable  # by bin, of one column
    ordered: SplitTable  # the same, in another order
    bits: SplitTable  # by column: the events with a 1
    totals: Floats  # (6, actions)
    active: Int32s  # (actions + 1,): 1 + the index of each action among the active ones, or 0; the last for no action
    thresholds: Float32s  # (MAX_THRESHOLDS,)
    sample: Float32s  # (MAX_SAMPLE,)
    sorted: Float32s  # (MAX_SAMPLE,)
    order: Int32s  # (MAX_CODES,)
    codes: Floats  # (3, MAX_CODES): key, count and sum
    double_values: Floats  # (events,): one column of 64 bits
    double_thresholds: Floats  # (MAX_THRESHOLDS,)
    double_sample: Floats  # (MAX_SAMPLE,)


def whole_lanes(n: int) -> int:
    """The next multiple of LANES."""
    return (n + LANES - 1) // LANES * LANES


round_up_to_lanes = internal(whole_lanes)  # the same in kernels


def new_table(n_actions: int, n_splits: int) -> SplitTable:
    """A table for a number of splits."""
    width = whole_lanes(n_splits)
    whole = (1 + n_actions) * width
    return SplitTable(*(aligned_zeros((size,), np.float32) for size in (whole, whole, width, width)))


def scratch_size(n_events: int) -> int:
    """The number of events that scratch buffers hold, for a ring of `n_events`."""
    return min(whole_lanes(n_events), MAX_SPLIT_EVENTS) + SCRATCH_PADDING


def new_scratch(n_actions: int, n_values: int, copies: Any, n_events: int) -> Scratch:
    """Scratch buffers for a ring of `n_events` with `n_values` each; `copies` takes copies of events."""
    width = scratch_size(n_events)
    return Scratch(
        aligned_zeros((width,), np.int32),
        aligned_zeros((width,), np.int32),
        aligned_zeros((width,), np.float32),
        copies,
        aligned_zeros((width,), np.float32),
        aligned_zeros((width,), np.int32),
        new_table(n_actions, MAX_CODES),
        new_table(n_actions, MAX_CODES),
        new_table(n_actions, n_values),
        aligned_zeros((6, n_actions), np.float64),
        aligned_zeros((n_actions + 1,), np.int32),
        aligned_zeros((MAX_THRESHOLDS,), np.float32),
        aligned_zeros((MAX_SAMPLE,), np.float32),
        aligned_zeros((MAX_SAMPLE,), np.float32),
        aligned_zeros((MAX_CODES,), np.int32),
        aligned_zeros((3, MAX_CODES), np.float64),
        aligned_zeros((width,), np.float64),
        aligned_zeros((MAX_THRESHOLDS,), np.float64),
        aligned_zeros((MAX_SAMPLE,), np.float64),
    )


@internal
def store_event(events: Float32s, doubles: Doubles, time: int, row: Floats, label: float, weight: float) -> None:
    """Write one event into a ring of 32-bit floats, in place."""
    number = time % events.shape[0]
    event = events[number]
    for column in range(row.shape[0]):
        event[column] = row[column]
    for index in range(doubles.columns.shape[0]):
        doubles.values[number, index] = row[doubles.columns[index]]
    event[-2] = label
    event[-1] = weight


@internal
def copy_events(events: NDArray[Any], numbers: Int32s, n: int, time: int, copies: NDArray[Any]) -> None:
    """Copy the events of the first n numbers out of a ring, in place."""
    size = events.shape[0]
    lap = time // size * size  # a division for each event would cost more than the copy
    for index in range(n):
        ahead = numbers[min(index + PREFETCH_DISTANCE, n - 1)] - lap
        prefetch(events, ahead if ahead >= 0 else ahead + size)
        offset = numbers[index] - lap
        event, copy = events[offset if offset >= 0 else offset + size], copies[index]
        for field in range(event.shape[0]):
            copy[field] = event[field]


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
def insert_code(order: Int32s, keys: Floats, n: int, code: int, key: float) -> None:
    """Insert a code among the n first, which are sorted by ascending keys, in place."""
    index = n
    while index > 0 and keys[index - 1] > key:
        keys[index], order[index] = keys[index - 1], order[index - 1]
        index -= 1
    keys[index], order[index] = key, code


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
