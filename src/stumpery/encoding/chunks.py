"""Encoded rows in chunks: a matrix is built chunk by chunk when a model needs it."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stumpery.types import Floats

CHUNK_ROWS = 4096


class EncodedColumns:
    """The columns of a matrix of 64-bit floats, each in the type of its source; a slice of rows is such a matrix.

    The whole matrix would take more memory than the source, and would be out of the processor's caches when it is read.

    Args:
        n_rows: the number of rows.
        columns: the values of each column.
    """

    def __init__(self, n_rows: int, columns: Sequence[NDArray[Any]]) -> None:
        self._n_rows = n_rows
        self._columns = columns

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, rows: slice) -> Floats:
        start, stop, _ = rows.indices(self._n_rows)
        matrix = np.empty((max(stop - start, 0), len(self._columns)))
        for first in range(start, stop, CHUNK_ROWS):
            last = min(first + CHUNK_ROWS, stop)
            for column, values in enumerate(self._columns):
                matrix[first - start : last - start, column] = values[first:last]
        return matrix


Rows: TypeAlias = Floats | EncodedColumns


def chunks(rows: Rows) -> Iterator[tuple[slice, Floats]]:
    """The chunks of rows in order: their slice, and their matrix."""
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        yield chunk, rows[chunk]
