"""Many encoded rows, written a stretch at a time when a model comes to them."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stumpery.types import Floats

CHUNK_ROWS = 4096  # rows


class EncodedColumns:
    """The columns of a matrix of 64-bit floats, each in the type that it came in; a slice of rows is such a matrix.

    A whole one would take twice the memory of 32-bit floats and be gone from the processor's caches when it is read.
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
            for place, values in enumerate(self._columns):
                matrix[first - start : last - start, place] = values[first:last]
        return matrix


Rows: TypeAlias = Floats | EncodedColumns


def chunks(rows: Rows) -> Iterator[tuple[slice, Floats]]:
    """Which rows they are, and the rows, from the first to the last."""
    for start in range(0, len(rows), CHUNK_ROWS):
        here = slice(start, start + CHUNK_ROWS)
        yield here, rows[here]
