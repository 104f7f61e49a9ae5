"""One-hot encoding: which column of the encoded row each code of each column sets to 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.code_encoder_kernels import NO_COLUMN, set_ones
from stumpery.system.allocation import reserve
from stumpery.types import Integers


class OneHot:
    """A table from a column and its code to a column of the one-hot encoded row.

    Args:
        coded: for each column, the codes that have an encoded column, in their order; other codes set nothing.
        n_codes: how many codes each column has.
        widths: how many encoded columns each column has.
    """

    def __init__(self, *, coded: Sequence[list[int]], n_codes: Sequence[int], widths: Sequence[int]) -> None:
        self._starts = ragged_starts(n_codes)
        self.first_columns = ragged_starts(widths)
        reserve(8 * int(self._starts[-1]))
        self._columns = np.full(self._starts[-1], NO_COLUMN, np.int64)
        for start, first, codes in zip(self._starts, self.first_columns, coded, strict=False):
            self._columns[[start + code for code in codes]] = first + np.arange(len(codes))

    def set(self, encoded: NDArray[Any], codes: NDArray[Any]) -> None:
        """Set the columns of a matrix of codes to 1 in an encoded matrix, in place."""
        set_ones(encoded, codes, self._columns, self._starts)


def ragged_starts(lengths: Sequence[int]) -> Integers:
    """The starts of concatenated sequences of these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
