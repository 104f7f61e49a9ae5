"""Online standardisation of rows for linear and neural policies: sparse rows with a constant, without missing values.

A column of zeros and ones stays as it is, since bits and one-hot categories are sparse. From its first other value on a
column is numerical: its moments are updated and its values are standardised by them.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers

MAX_SDS = 10.0  # standardised values are clipped, so that no outlier dominates a score
MAX_OBSERVED = 1e100  # larger values do not count for the moments: squares stay finite


class SparseRow(NamedTuple):
    """A row and the columns where it is not 0."""

    x: Floats  # (width + 1), the constant last
    indices: Integers  # (width + 1): the first n_set are the columns that are not 0
    n_set: int


@internal
def standardise(x: Floats, indices: Integers, columns: Floats, row: Floats) -> int:
    """Write a row and a constant 1 into `x`, and the columns that are not 0 into `indices`; return how many."""
    width = row.shape[0]
    n_set = 0
    for column in range(width):
        value = row[column]
        if columns[column, moments.COUNT] > 0.0:
            variance = columns[column, moments.SQUARES] / columns[column, moments.COUNT]
            deviation = value - columns[column, moments.MEAN]
            value = min(max(deviation / math.sqrt(variance), -MAX_SDS), MAX_SDS) if variance > 0.0 else 0.0
        elif value != 1.0:
            value = 0.0
        if value != 0.0 and not np.isnan(row[column]):
            x[column] = value
            indices[n_set] = column
            n_set += 1
        else:
            x[column] = 0.0
    x[width] = 1.0
    indices[n_set] = width
    return n_set + 1


@kernel
def standardised_row(columns: Floats, row: Floats) -> Floats:
    """A row, standardised, with the constant last; an array, since an interrupt while Numba boxes a tuple crashes."""
    x, indices = np.empty(row.shape[0] + 1), np.empty(row.shape[0] + 1, dtype=np.int64)
    standardise(x, indices, columns, row)
    return x


@internal
def sparse_row(columns: Floats, row: Floats) -> SparseRow:
    """A row, standardised."""
    x, indices = np.empty(row.shape[0] + 1), np.empty(row.shape[0] + 1, dtype=np.int64)
    return SparseRow(x, indices, standardise(x, indices, columns, row))


@internal
def dot(weights: Floats, row: SparseRow) -> float:
    """The dot product of weights and a sparse row."""
    total = 0.0
    for index in range(row.n_set):
        column = row.indices[index]
        total += weights[column] * row.x[column]
    return total


@internal
def observe_columns(columns: Floats, row: Floats) -> None:
    """Add a row's numbers to the moments of their columns, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        is_bit = value in (0.0, 1.0)
        if abs(value) <= MAX_OBSERVED and not (is_bit and columns[column, moments.COUNT] == 0.0):
            moments.add(columns, column, value, 1.0)


@internal
def count_event(clock: Floats, arms: Floats, columns: Floats, row: Floats, action: int, reward: float) -> None:
    """Add a reward to its action's moments and its row to those of the columns, in place."""
    observe_columns(columns, row)
    moments.add(arms, action, reward, 1.0)
    clock[0] += 1.0
