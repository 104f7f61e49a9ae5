"""Scratch buffers for the split search in one leaf: copies of its events, and tables of candidate splits.

Reward forests and Hoeffding trees share them, each with a criterion of its own.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    MAX_CODES,
    MAX_THRESHOLDS,
    Float32s,
    Int32s,
    aligned_zeros,
)
from stumpery.array_forest.precision_kernels import Doubles
from stumpery.jit import internal, prefetch
from stumpery.types import Floats

MAX_SPLIT_EVENTS = 8192  # the latest events of a leaf that a split search considers, and up to a block more
LANES = 16  # loops run to a multiple of it, so that they vectorise without a remainder
SCRATCH_PADDING = 256  # elements: loops run past the end, and equal page offsets of arrays would cause cache conflicts
MAX_SAMPLE = 2 * LANES  # values of a column that are sorted
PREFETCH_DISTANCE = 12  # events


class SplitTable(NamedTuple):
    """Counts and sums of rewards on one side of many candidate splits, and the gains of these."""

    counts: Float32s  # a row of splits for inactive actions, then one for each active action, end to end
    sums: Float32s  # the same of their rewards
    gains: Float32s  # (splits,)
    sizes: Float32s  # (splits,), events on that side


class Scratch(NamedTuple):
    """Scratch buffers of one split search."""

    event_numbers: Int32s  # (events,)
    active_numbers: Int32s  # (events,): 1 + the index among the active actions, or 0
    rewards: Float32s  # (events,)
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
def insert_code(order: Int32s, keys: Floats, n: int, code: int, key: float) -> None:
    """Insert a code among the n first, which are sorted by ascending keys, in place."""
    index = n
    while index > 0 and keys[index - 1] > key:
        keys[index], order[index] = keys[index - 1], order[index - 1]
        index -= 1
    keys[index], order[index] = key, code
