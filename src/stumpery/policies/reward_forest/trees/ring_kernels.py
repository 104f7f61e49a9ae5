"""The ring of remembered events, each column in as few bytes as its values so far need.

Whole numbers from -127 to 127, bits and codes of names among them, take one byte, those up to 32,767 two, others four,
or eight where 32-bit floats lose too much (`precision_kernels.py`); the lowest number of a byte or a short stands for a
missing value. So an event reads back as equal floats.
A column of bits always takes a byte, since any other value, or none, makes it one of numbers.
In memory come its action and its reward, then the doubles, the floats, the shorts, and the bytes side by side.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import Float32s, Int32s
from stumpery.jit import internal
from stumpery.types import Floats

BYTE, SHORT, FLOAT = 1, 2, 4  # widths of columns; the widest, of 8, is `precision_kernels.DOUBLE`
MAX_BYTE, MAX_SHORT = 2**7 - 1, 2**15 - 1  # what they can tell, of either sign
MISSING_BYTE, MISSING_SHORT = np.int8(-(2**7)), np.int16(-(2**15))  # a missing value
EVENT_ACTION, EVENT_REWARD = range(2)  # the first floats of an event


class Ring(NamedTuple):
    """Events of one layout."""

    bytes: NDArray[np.int8]  # (events, bytes of an event)
    shorts: NDArray[np.int16]  # the same memory in twos
    floats: Float32s  # in fours
    words: NDArray[np.int64]  # in eights
    doubles: Floats  # the same
    widths: NDArray[np.uint8]  # (columns,)
    starts: Int32s  # (columns,): the place of each among the bytes, the shorts, the floats or the doubles
    span: Int32s  # (2,): where the columns of a byte begin and end


@internal
def fits_widths(ring: Ring, row: Floats) -> bool:
    """Whether every value of a row that columns can `hold` can be told by the bytes of its own."""
    for column in range(row.shape[0]):
        value, width = row[column], ring.widths[column]
        if width >= FLOAT or value == -np.inf:
            continue
        most = MAX_BYTE if width == BYTE else MAX_SHORT
        if not (-most <= value <= most) or value != np.floor(value):
            return False
    return True


@internal
def write_event(ring: Ring, time: int, row: Floats, action: float, reward: float) -> None:
    """Put one event that fits into the ring, in place."""
    place = time % ring.bytes.shape[0]
    ring.floats[place, EVENT_ACTION] = action
    ring.floats[place, EVENT_REWARD] = reward
    for column in range(row.shape[0]):
        value, width, start = row[column], ring.widths[column], ring.starts[column]
        if width == BYTE:
            ring.bytes[place, start] = np.int8(value) if value > -np.inf else MISSING_BYTE
        elif width == SHORT:
            ring.shorts[place, start] = np.int16(value) if value > -np.inf else MISSING_SHORT
        elif width == FLOAT:
            ring.floats[place, start] = value
        else:
            ring.doubles[place, start] = value


@internal
def byte_value(byte: np.int8) -> np.float32:
    """The value that a byte stands for."""
    return np.float32(byte) if byte != MISSING_BYTE else np.float32(-np.inf)


@internal
def short_value(short: np.int16) -> np.float32:
    """The value that a short stands for."""
    return np.float32(short) if short != MISSING_SHORT else np.float32(-np.inf)


@internal
def value_of(ring: Ring, place: int, column: int) -> float:
    """What the event at a place has in a column."""
    width, start = ring.widths[column], ring.starts[column]
    if width == BYTE:
        return np.float64(byte_value(ring.bytes[place, start]))
    if width == SHORT:
        return np.float64(short_value(ring.shorts[place, start]))
    if width == FLOAT:
        return np.float64(ring.floats[place, start])
    return float(ring.doubles[place, start])


@internal
def fill_values(ring: Ring, column: int, n: int, values: Float32s) -> None:
    """Write what the first n events have in a column of at most 32 bits, in place."""
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
    """Write what the first n events have in a column of 64 bits, in place."""
    start = ring.starts[column]
    for index in range(n):
        values[index] = ring.doubles[index, start]
