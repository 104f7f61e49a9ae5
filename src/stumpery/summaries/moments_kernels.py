"""Moments of a stream: count, mean and sum of squared deviations, a row for each of many streams.

Welford's update keeps the deviations, not the raw squares, so that a small spread around a large mean survives.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.saving.validation import check, check_within
from stumpery.types import Floats

COUNT, MEAN, SQUARES = range(3)
N_FIELDS = 3


def new_moments(n_rows: int) -> Floats:
    """Rows without values."""
    return np.zeros((n_rows, N_FIELDS))


def validate(moments: Floats) -> None:
    """A ValueError says what no stream could have led to."""
    check(np.isfinite(moments).all(), "a count, mean or sum of squares is not finite")
    check((moments[:, [COUNT, SQUARES]] >= 0.0).all(), "a count or sum of squares is negative")
    check(not moments[moments[:, COUNT] == 0.0].any(), "a row without values has a mean")


def validate_rewards(moments: Floats) -> None:
    """A ValueError says what no whole number of rewards from 0 to 1 could have led to."""
    validate(moments)
    count, mean, squares = moments.T
    check((count == np.rint(count)).all(), "a number of rewards is not whole")
    check_within(mean, 0.0, 1.0, "the mean of rewards")
    max_squares = count * mean * (1.0 - mean) + 1e-6 * (count + 1.0)
    check((squares <= max_squares).all(), "a sum of squares is larger than that of rewards from 0 to 1")


@kernel
def add(moments: Floats, row: int, value: float, weight: float) -> None:
    """Add one value to a row, in place."""
    count = moments[row, COUNT] + weight
    step = value - moments[row, MEAN]
    mean = moments[row, MEAN] + step * (weight / count)
    moments[row, SQUARES] += weight * step * (value - mean)
    moments[row, MEAN] = mean
    moments[row, COUNT] = count


@kernel
def add_all(moments: Floats, row: int, values: Floats, weight: float) -> None:
    """Add many values to a row, in place and in order."""
    for value in values:
        add(moments, row, value, weight)


@kernel
def merge(moments: Floats, row: int, other: Floats, other_row: int) -> None:
    """Merge another stream's row into a row, in place, as if one stream had followed the other (Chan et al. 1979)."""
    n, m = moments[row, COUNT], other[other_row, COUNT]
    if m == 0.0:
        return
    if n == 0.0:
        moments[row] = other[other_row]
        return
    step = other[other_row, MEAN] - moments[row, MEAN]
    moments[row, SQUARES] += other[other_row, SQUARES] + step * step * n * (m / (n + m))
    moments[row, MEAN] += step * (m / (n + m))
    moments[row, COUNT] = n + m
