"""Integer codes of values by cut points, and one-hot encoding of codes.

The cut points of all columns are concatenated in `edges`; those of a column begin at `starts[column]`. A code is 0 for
a missing value, else one more than the number of cut points below the value. The value of a category is its code, so
its cut points are 1, 2, 3, ... and need no case of their own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import kernel
from stumpery.types import Floats, Integers

NO_COLUMN = -1  # of a code that sets nothing


@kernel
def code_of(value: float, edges: Floats, start: int, stop: int) -> int:
    """The code of `value` among the ascending `edges[start:stop]`."""
    if np.isnan(value):
        return 0
    low = start
    high = stop
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low - start + 1


@kernel
def encode_row(codes: NDArray[Any], row: Floats, edges: Floats, starts: Integers) -> None:
    """Write one row's codes, in place."""
    for column in range(row.shape[0]):
        codes[column] = code_of(row[column], edges, starts[column], starts[column + 1])


@kernel
def encode_column(codes: NDArray[Any], column: int, values: Floats, edges: Floats) -> None:
    """Write one column of a matrix of codes, in place."""
    for row in range(values.shape[0]):
        codes[row, column] = code_of(values[row], edges, 0, edges.shape[0])


@kernel
def set_ones(encoded: NDArray[Any], codes: NDArray[Any], columns: Integers, starts: Integers) -> None:
    """One-hot encode a matrix of codes: set the column `columns[starts[column] + code]` of each code to 1, in place."""
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            target = columns[starts[column] + codes[row, column]]
            if target != NO_COLUMN:
                encoded[row, target] = 1
