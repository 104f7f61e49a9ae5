"""One-hot places: where in an encoded row each code of each column sets a 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.code_encoder_kernels import NO_PLACE, set_ones
from stumpery.system.allocation import reserve
from stumpery.types import Integers


class Ones:
    """A table from (column, code) to a place in a row in which every column takes `sizes[column]` places.

    The codes `coded[column]` take that column's places in their order; the others set nothing.
    """

    def __init__(self, *, coded: Sequence[list[int]], n_codes: Sequence[int], sizes: Sequence[int]) -> None:
        self._starts = ragged_starts(n_codes)
        self.firsts = ragged_starts(sizes)
        reserve(8 * int(self._starts[-1]))
        self._places = np.full(self._starts[-1], NO_PLACE, np.int64)
        for start, first, codes in zip(self._starts, self.firsts, coded, strict=False):
            self._places[[start + code for code in codes]] = first + np.arange(len(codes))

    def set(self, ones: NDArray[Any], codes: NDArray[Any]) -> None:
        """Set the places of a matrix of codes to 1 in a matrix of places, in place."""
        set_ones(ones, codes, self._places, self._starts)


def ragged_starts(sizes: Sequence[int]) -> Integers:
    """Where each of several runs begins when they stand one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
