"""Event ring: the latest events, each column in as few bytes as its values so far need, and quantiles of its columns.

Whole numbers from -127 to 127, bits and codes among them, take one byte, those up to 32,767 two, others four, or eight
where 32-bit floats lose too much (`binning_kernels.py`); the lowest number of a byte or a short stands for a missing
value. So an event reads back as equal floats. A binary column always takes a byte, since any other value makes it
numerical. An event's action and reward come first, then its doubles, floats, shorts and bytes.

The bins of the linear scorers have their edges at quantiles of the stored events.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import NUMERICAL, Float32s, Int32s
from stumpery.jit import internal
from stumpery.types import Floats

BYTE, SHORT, FLOAT = 1, 2, 4  # widths of columns in bytes; the widest is `binning_kernels.DOUBLE`
MAX_BYTE, MAX_SHORT = 2**7 - 1, 2**15 - 1  # magnitudes
MISSING_BYTE, MISSING_SHORT = np.int8(-(2**7)), np.int16(-(2**15))  # missing values
EVENT_ACTION, EVENT_REWARD = range(2)  # the first floats of an event
N_BINS = 16
FIRST_BINNING = 12  # events after which numbers get their first bins; checked again whenever the events have doubled
BINNING_SAMPLE = 1024
REBINNING_FACTOR = 1.25  # bins are replaced when the largest holds so many times what it would hold then


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


@internal
def shell_sort(values: Floats, n: int) -> None:
    """Sort the first n values in ascending order, in place (Shell 1959)."""
    gap = n // 2
    while gap > 0:
        for start in range(gap, n):
            value, index = values[start], start
            while index >= gap and values[index - gap] > value:
                values[index] = values[index - gap]
                index -= gap
            values[index] = value
        gap //= 2


@internal
def largest_bin(values: Floats, n: int, edges: Floats) -> int:
    """The count of the fullest bin over the first n values, which ascend."""
    largest, first = 0, 0
    for edge in range(edges.shape[0] + 1):
        end = first
        while end < n and (edge == edges.shape[0] or values[end] <= edges[edge]):
            end += 1
        largest = max(largest, end - first)
        first = end
    return largest


@internal
def fill_sample(ring: Ring, column: int, first: int, n: int, sample: Floats) -> int:
    """Write known values of a column, evenly spaced over n events from `first` on, into `sample`, sorted, in place."""
    n_values, size = 0, min(n, BINNING_SAMPLE)
    for index in range(size):
        value = value_of(ring, (first + index * n // size) % ring.bytes.shape[0], column)
        if value > -np.inf:
            sample[n_values] = value
            n_values += 1
    shell_sort(sample, n_values)
    return n_values


@internal
def fill_quantiles(sample: Floats, n_values: int, quantiles: Floats) -> int:
    """Write distinct quantiles of a sorted sample into `quantiles`, in place, then infinity; return their number."""
    n_edges = 0
    for quantile in range(1, quantiles.shape[0] + 1 if n_values > 0 else 0):
        edge = sample[quantile * n_values // (quantiles.shape[0] + 1)]
        if n_edges == 0 or edge > quantiles[n_edges - 1]:
            quantiles[n_edges] = edge
            n_edges += 1
    for edge_index in range(n_edges, quantiles.shape[0]):
        quantiles[edge_index] = np.inf
    return n_edges


@internal
def update_bin_edges(edges: Floats, ring: Ring, kinds: NDArray[np.uint8], first: int, end: int, sample: Floats) -> None:
    """Set bin edges to quantiles of the events from `first` to `end`, in place, for columns where that helps.

    Weights belong to bins, and after the start events are not learned anew: a column keeps its bins unless there would
    be more of them, or its largest bin holds `REBINNING_FACTOR` times what it would.
    """
    quantiles = sample[BINNING_SAMPLE:]  # the end of the buffer is for new edges
    for column in range(edges.shape[0]):
        if kinds[column] != NUMERICAL:
            continue
        n_values = fill_sample(ring, column, first, end - first, sample)
        n_edges = fill_quantiles(sample, n_values, quantiles)
        has_more = n_edges > 0 and edges[column, n_edges - 1] == np.inf
        largest, balanced = largest_bin(sample, n_values, edges[column]), largest_bin(sample, n_values, quantiles)
        if has_more or largest > REBINNING_FACTOR * balanced:
            for edge in range(quantiles.shape[0]):
                edges[column, edge] = quantiles[edge]
