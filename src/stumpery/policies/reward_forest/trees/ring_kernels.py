"""Event ring: the latest events, each column in as few bytes as its values so far need.

Whole numbers from -127 to 127, bits and codes among them, take one byte, those up to 32,767 two, others four, or eight
where 32-bit floats lose too much (`precision_kernels.py`); the lowest number of a byte or a short stands for a missing
value. So an event reads back as equal floats. A binary column always takes a byte, since any other value makes it
numerical. An event's action and reward come first, then its doubles, floats, shorts and bytes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import Float32s, Int32s
from stumpery.jit import internal
from stumpery.types import Floats

BYTE, SHORT, FLOAT = 1, 2, 4  # widths of columns in bytes; the widest is `precision_kernels.DOUBLE`
MAX_BYTE, MAX_SHORT = 2**7 - 1, 2**15 - 1  # magnitudes
MISSING_BYTE, MISSING_SHORT = np.int8(-(2**7)), np.int16(-(2**15))  # missing values
EVENT_ACTION, EVENT_REWARD = range(2)  # the first floats of an event


class Ring(NamedTuple):
    """Events of one layout."""

    bytes: NDArray[np.int8]  # (events, bytes of an event)
    shorts: NDArray[np.int16]  # views of the same memory
    floats: Float32s
    words: NDArray[np.int64]
    doubles: Floats
    widths: NDArray[np.uint8]  # (columns,)
    starts: Int32s  # (columns,): the index of each in the view of its width
    span: Int32s  # (2,): begin and end of the one-byte columns


@internal
def fits_widths(ring: Ring, row: Floats) -> bool:
    """Whether every value of a rounded row fits the width of its column."""
    for column in range(row.shape[0]):
        value, width = row[column], ring.widths[column]
        if width >= FLOAT or value == -np.inf:
            continue
        max_value = MAX_BYTE if width == BYTE else MAX_SHORT
        if not (-max_value <= value <= max_value) or value != np.floor(value):
            return False
    return True


@internal
def write_event(ring: Ring, time: int, row: Floats, action: float, reward: float) -> None:
    """Write one event that fits into the ring, in place."""
    index = time % ring.bytes.shape[0]
    ring.floats[index, EVENT_ACTION] = action
    ring.floats[index, EVENT_REWARD] = reward
    for column in range(row.shape[0]):
        value, width, start = row[column], ring.widths[column], ring.starts[column]
        if width == BYTE:
            ring.bytes[index, start] = np.int8(value) if value > -np.inf else MISSING_BYTE
        elif width == SHORT:
            ring.shorts[index, start] = np.int16(value) if value > -np.inf else MISSING_SHORT
        elif width == FLOAT:
            ring.floats[index, start] = value
        else:
            ring.doubles[index, start] = value


@internal
def byte_value(byte: np.int8) -> np.float32:
    """The value that a byte stands for."""
    return np.float32(byte) if byte != MISSING_BYTE else np.float32(-np.inf)


@internal
def short_value(short: np.int16) -> np.float32:
    """The value that a short stands for."""
    return np.float32(short) if short != MISSING_SHORT else np.float32(-np.inf)


@internal
def value_of(ring: Ring, index: int, column: int) -> float:
    """The value of a column of one event, given by its index."""
    width, start = ring.widths[column], ring.starts[column]
    if width == BYTE:
        return np.float64(byte_value(ring.bytes[index, start]))
    if width == SHORT:
        return np.float64(short_value(ring.shorts[index, start]))
    if width == FLOAT:
        return np.float64(ring.floats[index, start])
    return float(ring.doubles[index, start])


@internal
def fill_values(ring: Ring, column: int, n: int, values: Float32s) -> None:
    """Write the values of the first n events in a column of at most 32 bits, in place."""
    width, start = ring.widths[column], ring.starts[column]
    if width == BYTE:
        for index in range(n):
            values[index] = byte_value(ring.bytes[index, start])
    elif width == SHORT:
        for index in range(n):
            values[index] = short_value(ring.shorts[index, start])
    else:
        for index in range(n):
            values[index] = ring.floats[index, start]


@internal
def fill_doubles(ring: Ring, column: int, n: int, values: Floats) -> None:
    """Write the values of the first n events in a column of 64 bits, in place."""
    start = ring.starts[column]
    for index in range(n):
        values[index] = ring.doubles[index, start]
