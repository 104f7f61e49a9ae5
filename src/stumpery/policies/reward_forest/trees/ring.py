"""Event ring in Python: layout, widening, reading and validation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.binning_kernels import DOUBLE, LANES, scratch_size
from stumpery.array_forest.forest_kernels import aligned_zeros
from stumpery.array_forest.precision import doubles_of, needs_double
from stumpery.errors import CorruptFile
from stumpery.policies.reward_forest.trees.ring_kernels import (
    BYTE,
    EVENT_ACTION,
    EVENT_REWARD,
    FLOAT,
    MAX_BYTE,
    MAX_SHORT,
    MISSING_BYTE,
    MISSING_SHORT,
    SHORT,
    Ring,
)
from stumpery.saving.validation import check, check_within
from stumpery.types import Floats

Widths = NDArray[np.uint8]


def event_bytes(widths: Widths) -> int:
    """The bytes of an event with action and reward: a multiple of eight, since it is copied by words."""
    return -(-(int(widths.sum()) + 2 * FLOAT) // 8) * 8


def new_ring(n_events: int, widths: Widths) -> Ring:
    """An empty ring."""
    return ring_over(aligned_zeros((n_events, event_bytes(widths)), np.int8), widths)


def new_event_copies(ring: Ring) -> Ring:
    """A ring for the copies of a leaf's events, with padding after each, since loops run past the last byte."""
    return ring_over(aligned_zeros((scratch_size(len(ring.bytes)), ring.bytes.shape[1] + LANES), np.int8), ring.widths)


def ring_over(memory: NDArray[np.int8], widths: Widths) -> Ring:
    """A ring as views of the memory of its events."""
    starts, end = np.empty(len(widths), np.int32), 2 * FLOAT
    for width in (DOUBLE, FLOAT, SHORT, BYTE):
        of_width = np.flatnonzero(widths == width)
        starts[of_width] = end // width + np.arange(len(of_width))
        first, end = end, end + width * len(of_width)
    views = memory.view(np.int16), memory.view(np.float32), memory.view(np.int64), memory.view(np.float64)
    return Ring(memory, *views, widths, starts, np.array([first, end], np.int32))


def widths_of(rows: NDArray[Any]) -> Widths:
    """The widths in bytes that the columns of some rows need."""
    values = np.where(rows == -np.inf, 0.0, rows)
    max_size = np.abs(values).max(axis=0, initial=0.0)
    is_whole = (values == np.floor(values)).all(axis=0)
    widths = np.where(max_size <= MAX_BYTE, BYTE, np.where(max_size <= MAX_SHORT, SHORT, FLOAT))
    widths = np.where(is_whole, widths, FLOAT)
    return np.where(needs_double(values).any(axis=0), DOUBLE, widths).astype(np.uint8)


def column(ring: Ring, index: int) -> NDArray[Any]:
    """A column of all events in its own type, live."""
    views: dict[int, NDArray[Any]] = {BYTE: ring.bytes, SHORT: ring.shorts, FLOAT: ring.floats, DOUBLE: ring.doubles}
    return views[int(ring.widths[index])][:, ring.starts[index]]


def column_values(ring: Ring, index: int) -> Floats:
    """A column of all events as 64-bit floats."""
    stored = column(ring, index)
    missing = {BYTE: MISSING_BYTE, SHORT: MISSING_SHORT}.get(int(ring.widths[index]))
    wide = stored.astype(np.float64)
    return wide if missing is None else np.where(stored == missing, -np.inf, wide)


def event_rows(ring: Ring, indices: NDArray[np.integer]) -> Floats:
    """The rows of some events, given by their indices."""
    memory = ring_over(np.ascontiguousarray(ring.bytes[indices]), ring.widths)
    columns = [column_values(memory, index) for index in range(len(ring.widths))]
    return np.stack(columns, axis=1) if columns else np.zeros((len(indices), 0))


def with_layout(ring: Ring, widths: Widths, n_events: int, time: int) -> Ring:
    """A ring of `n_events` with the latest of `time` events, its columns at least as wide as now."""
    new = new_ring(n_events, widths)
    numbers = np.arange(max(time - min(len(ring.bytes), n_events), 0), time)
    before, now = numbers % len(ring.bytes), numbers % n_events
    for index in range(len(widths)):
        stored = column(ring, index)[before]
        if widths[index] == DOUBLE > ring.widths[index]:
            stored = doubles_of(column_values(ring, index)[before])
        elif widths[index] >= FLOAT:
            stored = column_values(ring, index)[before]
        elif widths[index] > ring.widths[index]:
            stored = np.where(stored == MISSING_BYTE, MISSING_SHORT, stored)
        column(new, index)[now] = stored
    for field in (EVENT_ACTION, EVENT_REWARD):
        new.floats[now, field] = ring.floats[before, field]
    return new


def validate(ring: Ring, n_actions: int, is_categorical: NDArray[np.bool_]) -> None:
    """Refuse events with an impossible code, action or reward, or with padding that is not 0."""
    actions, rewards = ring.floats[:, EVENT_ACTION], ring.floats[:, EVENT_REWARD]
    check(np.isin(actions, np.arange(-1, n_actions)).all(), "the action of an event does not exist")
    check_within(rewards, 0.0, 1.0, "the reward of an event")
    for index in np.flatnonzero(ring.widths >= FLOAT).tolist():
        check(not np.isnan(column(ring, index)).any(), "the value of an event is NaN")
    check(not ring.bytes[:, ring.span[1] :].any(), "a byte behind an event is in use")
    for index in np.flatnonzero(is_categorical).tolist():
        check_within(column(ring, index), 0, trees.MAX_CODES - 1, "the code of an event's category")


def check_widths(widths: NDArray[np.generic] | None, is_categorical: NDArray[np.bool_]) -> None:
    """Refuse saved widths that do not fit the columns."""
    if widths is None:
        raise CorruptFile("its array 'ring.widths' is missing, as in a file of another version of Stumpery")
    fits = widths.dtype == np.uint8 and widths.shape == is_categorical.shape
    if not fits or not np.isin(widths, (BYTE, SHORT, FLOAT, DOUBLE)).all() or (widths[is_categorical] != BYTE).any():
        raise CorruptFile(f"its columns are {widths.tolist()} bytes wide, which is not possible for their kinds")
