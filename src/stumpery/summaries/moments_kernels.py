"""Moments of a stream: count, mean and sum of squared deviations, a row for each of many streams.

Welford's update keeps the deviations, not the raw squares, so that a small spread around a large mean survives.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.types import Floats

COUNT, MEAN, SQUARES = range(3)
N_FIELDS = 3


def new_moments(n_rows: int) -> Floats:
    """Rows that have seen nothing."""
    return np.zeros((n_rows, N_FIELDS))


def plausible(moments: Floats) -> bool:
    """Whether some stream could have left these numbers."""
    is_possible = np.isfinite(moments).all() and (moments[:, [COUNT, SQUARES]] >= 0.0).all()
    return bool(is_possible and not moments[moments[:, COUNT] == 0.0].any())


def plausible_rewards(moments: Floats) -> bool:
    """Whether these can be moments of whole numbers of rewards from 0 to 1."""
    count, mean, squares = moments.T
    whole = bool((count == np.rint(count)).all() and (mean >= 0.0).all() and (mean <= 1.0).all())
    return whole and plausible(moments) and bool((squares <= count * mean * (1.0 - mean) + 1e-6 * (count + 1.0)).all())


@kernel
def add(moments: Floats, row: int, value: float, weight: float) -> None:
    """Fold one value into a row, in place."""
    count = moments[row, COUNT] + weight
    step = value - moments[row, MEAN]
    mean = moments[row, MEAN] + step * (weight / count)
    moments[row, SQUARES] += weight * step * (value - mean)
    moments[row, MEAN] = mean
    moments[row, COUNT] = count


@kernel
def add_all(moments: Floats, row: int, values: Floats, weight: float) -> None:
    """Fold many values into a row, in place and in order."""
    for value in values:
        add(moments, row, value, weight)


@kernel
def merge(moments: Floats, row: int, other: Floats, other_row: int) -> None:
    """Fold another stream's row into a row, in place, as if one stream had followed the other (Chan et al. 1979)."""
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
