"""Precision of stored values: columns of 32 bits, or of 64 where 32 lose too much.

A value is rounded to 32 bits, about seven digits, unless that changes it and it is larger than 2^16, as ids, timestamps
and amounts of money are, or outside the range of 32-bit numbers. A column becomes one of 64 bits with the first such.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import Int32s
from stumpery.jit import internal
from stumpery.types import Floats

SINGLE, DOUBLE = 4, 8  # bytes
DOUBLE_INFINITY = 8e307  # stands for infinity, so that differences are finite
SINGLE_INFINITY, MIN_SINGLE = 3e38, 1e-37  # magnitudes of 32-bit numbers; the first stands for infinity there
MAX_EXACT_SINGLE = 2.0**16  # above it 32-bit numbers are 1/128 and more apart


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
