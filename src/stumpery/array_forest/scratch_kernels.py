"""Room to look at one leaf: its events side by side, where a column's numbers may be cut, and the best of many cuts.

Reward forests and the trees of streams weigh their cuts in their own ways; this is what they share. Cut points lie
between values of the leaf's own events.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    MAX_CODES,
    MAX_CUTS,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    Float32s,
    Int32s,
    aligned_zeros,
)
from stumpery.array_forest.precision_kernels import Doubles
from stumpery.jit import internal, prefetch
from stumpery.types import Floats

MAX_SPLIT_EVENTS = 8192  # of a leaf that are looked at, and a few more where there are spare places
LANES = 16  # loops go to a multiple of it, past what counts: the compiler then leaves no rest to go through one by one
PADDING = (
    256  # places: loops go past the last, and arrays that begin at the same place of a page get in each other's way
)
SORTED_SAMPLE = 2 * LANES  # values of a column that are put in order
PREFETCH_DISTANCE = 12  # events that are asked for before they are copied


class SplitTable(NamedTuple):
    """Events and their rewards on one side of many cuts, and what these are worth."""

    counts: Float32s  # a row of cuts for inactive actions, then one for each active one, end to end
    sums: Float32s  # the same of their rewards
    gains: Float32s  # (cuts,)
    sizes: Float32s  # (cuts,)


class Scratch(NamedTuple):
    """Room to think, used by one check at a time."""

    found: Int32s  # (events,)
    arms: Int32s  # (events,): 1 + the place among the active actions, or 0
    rewards: Float32s  # (events,)
    events: Any  # copies of the events, side by side: (events, values), or a ring
    values: Float32s  # (events,): one column of them
    places: Int32s  # (events,): between which cuts, or of which code
    table: SplitTable  # by place, of one column
    ordered: SplitTable  # the same, in another order
    bits: SplitTable  # by column: the events whose bit is set
    totals: Floats  # (6, actions)
    active: Int32s  # (actions + 1,): 1 + the place of each action among the active ones, or 0; last: of no action
    cuts: Float32s  # (MAX_CUTS,)
    sample: Float32s  # (SAMPLE,): values that are put in order
    sorted: Float32s  # (SAMPLE,)
    order: Int32s  # (N_CODES,)
    codes: Floats  # (3, N_CODES): key, count and sum
    wide_values: Floats  # (events,): one column of 64 bits
    wide_cuts: Floats  # (MAX_CUTS,)
    wide_sample: Floats  # (SAMPLE,)


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
    return min(whole_lanes(n_events), MAX_SPLIT_EVENTS) + PADDING


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
        aligned_zeros((MAX_CUTS,), np.float32),
        aligned_zeros((SORTED_SAMPLE,), np.float32),
        aligned_zeros((SORTED_SAMPLE,), np.float32),
        aligned_zeros((MAX_CODES,), np.int32),
        aligned_zeros((3, MAX_CODES), np.float64),
        aligned_zeros((width,), np.float64),
        aligned_zeros((MAX_CUTS,), np.float64),
        aligned_zeros((SORTED_SAMPLE,), np.float64),
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
    size = min(n, spacing * min(MAX_CUTS, n // MIN_CHILD_EVENTS) + 1)
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
    """Write into `scratch.places` between which cuts every value lies, in place; cut by cut, so that it vectorises."""
    values, places = scratch.values, scratch.places
    width = round_up_to_lanes(n)
    for index in range(width):
        places[index] = 0
    for cut in range(n_cuts):
        threshold = cuts[cut]
        for index in range(width):
            places[index] += values[index] > threshold


@internal
def bin_doubles(scratch: Scratch, n: int, spacing: int, cuts: Floats) -> int:
    """Both for a column of 64 bits, in `scratch.wide_values`; there are few, so this is quick to compile instead."""
    values, ordered, places = scratch.wide_values, scratch.wide_sample, scratch.places
    size = min(n, spacing * min(MAX_CUTS, n // MIN_CHILD_EVENTS) + 1)
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
    for cut in range(n_cuts, MAX_CUTS):
        cuts[cut] = np.inf
    for index in range(n):
        place = 0
        while place < n_cuts and values[index] > cuts[place]:
            place += 1
        places[index] = place
    return n_cuts


@internal
def best_split(table: SplitTable, first: int, end: int, n: int, gain: float) -> int:
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
