"""A row of numbers as a linear model wants it: standardised, without gaps, with a constant, its zeros known.

A column of zeros and ones stays as it is: bits and one-hot names are sparse, and only what is set is walked. The first
other value makes a column one of numbers; from then on its moments are kept and its values are standardised by them.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers

MOST_SDS = 10.0  # of a standardised value: one outlier does not rule a score
LARGEST = 1e100  # of a value that counts for the moments: squares stay finite


class Sparse(NamedTuple):
    """A row and the places where it is not 0."""

    x: Floats  # (width + 1), the constant last
    places: Integers  # (width + 1), of which the first n_set count
    n_set: int


@internal
def standardise(x: Floats, places: Integers, columns: Floats, row: Floats) -> int:
    """Write a row and a last constant 1 into `x`, in place, and where it is not 0 into `places`; give how many."""
    width = row.shape[0]
    n_set = 0
    for column in range(width):
        value = row[column]
        if columns[column, moments.COUNT] > 0.0:
            variance = columns[column, moments.SQUARES] / columns[column, moments.COUNT]
            step = value - columns[column, moments.MEAN]
            value = min(max(step / math.sqrt(variance), -MOST_SDS), MOST_SDS) if variance > 0.0 else 0.0
        elif value != 1.0:
            value = 0.0
        if value != 0.0 and not np.isnan(row[column]):
            x[column] = value
            places[n_set] = column
            n_set += 1
        else:
            x[column] = 0.0
    x[width] = 1.0
    places[n_set] = width
    return n_set + 1


@kernel
def standardised(columns: Floats, row: Floats) -> Floats:
    """A row, standardised, with the constant last; an array, as an interruption while Numba makes a tuple crashes."""
    x, places = np.empty(row.shape[0] + 1), np.empty(row.shape[0] + 1, dtype=np.int64)
    standardise(x, places, columns, row)
    return x


@internal
def sparse(columns: Floats, row: Floats) -> Sparse:
    """A row, standardised."""
    x, places = np.empty(row.shape[0] + 1), np.empty(row.shape[0] + 1, dtype=np.int64)
    return Sparse(x, places, standardise(x, places, columns, row))


@internal
def dot(weights: Floats, row: Sparse) -> float:
    """The sum of weights times values, over the places that are set."""
    total = 0.0
    for nth in range(row.n_set):
        place = row.places[nth]
        total += weights[place] * row.x[place]
    return total


@internal
def observe(columns: Floats, row: Floats) -> None:
    """Fold a row's numbers into their columns' moments, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        is_bit = value in (0.0, 1.0)
        if abs(value) <= LARGEST and not (is_bit and columns[column, moments.COUNT] == 0.0):
            moments.add(columns, column, value, 1.0)


@internal
def update(clock: Floats, arms: Floats, columns: Floats, row: Floats, action: int, reward: float) -> None:
    """Count a reward, for its action and for the numbers of its row, in place."""
    observe(columns, row)
    moments.add(arms, action, reward, 1.0)
    clock[0] += 1.0
