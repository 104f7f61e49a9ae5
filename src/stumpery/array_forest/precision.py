"""Precision of stored values in Python: which need 64 bits, and how values are rounded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.binning_kernels import (
    DOUBLE,
    DOUBLE_INFINITY,
    MAX_EXACT_SINGLE,
    MIN_SINGLE,
    SINGLE_INFINITY,
    Doubles,
)
from stumpery.array_forest.forest_kernels import NO_INDEX, aligned_zeros
from stumpery.types import Floats


def is_lost(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether 32 bits lose too much of each value, as in `binning_kernels.round_row`."""
    values = values.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        narrow, size = values.astype(np.float32), np.abs(values)
    lost: NDArray[np.bool_] = (narrow != values) & ((size > MAX_EXACT_SINGLE) | (size < MIN_SINGLE))
    return lost


def needs_double(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value needs a column of 64 bits: what stands for infinity does not."""
    return is_lost(values) & (np.abs(values.astype(np.float64)) < DOUBLE_INFINITY)


def doubles_of(values: NDArray[Any]) -> Floats:
    """The values of a column of 32 bits as one of 64 holds them: what stands for infinity is another number there."""
    wide = values.astype(np.float64)
    is_infinite = np.abs(wide) == np.float64(np.float32(SINGLE_INFINITY))
    return np.where(is_infinite, np.copysign(DOUBLE_INFINITY, wide), wide)


def rounded(values: Floats) -> Floats:
    """Values as they are stored in a column of 64 bits."""
    with np.errstate(over="ignore", under="ignore"):
        return np.where(is_lost(values), values, values.astype(np.float32))


def rounded_row(row: Floats, widths: NDArray[np.uint8]) -> Floats:
    """A row as it is stored, as `binning_kernels.round_row` writes it."""
    is_infinite = is_lost(row) & (np.abs(row) >= DOUBLE_INFINITY) & (widths != DOUBLE)
    return np.where(is_infinite, np.copysign(np.float64(np.float32(SINGLE_INFINITY)), row), rounded(row))


def new_doubles(n_events: int, widths: NDArray[np.uint8]) -> Doubles:
    """The 64-bit columns of a ring of `n_events`."""
    is_double = widths == DOUBLE
    value_index = np.where(is_double, np.cumsum(is_double) - 1, NO_INDEX).astype(np.int32)
    columns = np.flatnonzero(is_double).astype(np.int32)
    return Doubles(aligned_zeros((n_events, len(columns)), np.float64), widths.copy(), value_index, columns)
