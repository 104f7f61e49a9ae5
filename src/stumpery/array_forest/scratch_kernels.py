"""Room to look at one leaf: its events side by side, where a column's numbers may be cut, and the best of many cuts.

Reward forests and the trees of streams weigh their cuts in their own ways; this is what they share. Cut points lie
between values of the leaf's own events.
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

MAX_SPLIT_EVENTS = 8192  # of a leaf that are looked at, and a few more where there are spare places
LANES = 16  # loops go to a multiple of it, past what counts: the compiler then leaves no rest to go through one by one
SCRATCH_PADDING = (
    256  # places: loops go past the last, and arrays that begin at the same place of a page get in each other's way
)
MAX_SAMPLE = 2 * LANES  # values of a column that are put in order
PREFETCH_DISTANCE = 12  # events that are asked for before they are copied


class SplitTable(NamedTuple):
    """Events and their rewards on one side of many cuts, and what these are worth."""

    counts: Float32s  # a row of cuts for inactive actions, then one for each active one, end to end
    sums: Float32s  # the same of their rewards
    gains: Float32s  # (cuts,)
    sizes: Float32s  # (cuts,)


class Scratch(NamedTuple):
    """Room to think, used by one check at a time."""

    event_numbers: Int32s  # (events,)
    active_numbers: Int32s  # (events,): 1 + the index among the active actions, or 0
    rewards: Float32s  # (events,)
    events: Any  # copies of the events, side by side: (events, values), or a ring
    values: Float32s  # (events,): one column of them
    bins: Int32s  # (events,): the bin between two thresholds, or the code
    table: SplitTable  # by place, of one column
    ordered: SplitTable  # the same, in another order
    bits: SplitTable  # by column: the events whose bit is set
    totals: Floats  # (6, actions)
    active: Int32s  # (actions + 1,): 1 + the place of each action among the active ones, or 0; last: of no action
    thresholds: Float32s  # (MAX_CUTS,)
    sample: Float32s  # (SAMPLE,): values that are put in order
    sorted: Float32s  # (SAMPLE,)
    order: Int32s  # (N_CODES,)
    codes: Floats  # (3, N_CODES): key, count and sum
    double_values: Floats  # (events,): one column of 64 bits
    double_thresholds: Floats  # (MAX_CUTS,)
    double_sample: Floats  # (SAMPLE,)


def whole_lanes(n: int) -> int:
    """The next multiple of LANES."""
    return (n + LANES - 1) // LANES * LANES


round_up_to_lanes = internal(whole_lanes)  # the same in kernels


def new_table(n_actions: int, n_cuts: int) -> SplitTable:
    """Room for so many cuts."""
    width = whole_lanes(n_cuts)
    whole = (1 + n_actions) * width
    return SplitTable(*(aligned_zeros((size,), np.float32) for size in (whole, whole, width, width)))


def scratch_size(n_events: int) -> int:
    """For how many events there must be room to look at a leaf, if so many are remembered."""
    return min(whole_lanes(n_events), MAX_SPLIT_EVENTS) + SCRATCH_PADDING


def new_scratch(n_actions: int, n_values: int, copies: Any, n_events: int) -> Scratch:
    """Room for leaves whose events have so many values each, and the copies of these, if so many are remembered."""
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
    """Put one event into a ring of floats, in place."""
    number = time % events.shape[0]
    event = events[number]
    for column in range(row.shape[0]):
        event[column] = row[column]
    for place in range(doubles.columns.shape[0]):
        doubles.values[number, place] = row[doubles.columns[place]]
    event[-2] = label
    event[-1] = weight


@internal
def copy_events(events: NDArray[Any], found: Int32s, n: int, time: int, copies: NDArray[Any]) -> None:
    """Copy the first n found events out of a ring, in place."""
    size = events.shape[0]
    lap = time // size * size  # a division for each event would cost more than the copy
    for index in range(n):
        ahead = found[min(index + PREFETCH_DISTANCE, n - 1)] - lap
        prefetch(events, ahead if ahead >= 0 else ahead + size)
        place = found[index] - lap
        event, copy = events[place if place >= 0 else place + size], copies[index]
        for each in range(event.shape[0]):
            copy[each] = event[each]
