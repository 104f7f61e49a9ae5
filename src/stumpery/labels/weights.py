"""Sample weights of rows to learn from."""

from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import check_whole, shown
from stumpery.types import Floats

MAX_SAMPLE_WEIGHT = 1e6
MIN_SAMPLE_WEIGHT = 1e-6  # smaller weights count as 0: they would vanish in 32 bits
MAX_REPEATS = 10_000


def checked_weights(w: Any, n: int) -> Floats:
    """A weight of 0 or more for each of n rows; a single one counts for all, and tiny ones as 0."""
    if w is None or (type(w) is float and w == 1.0):
        return np.ones(n)
    weights = np.asarray(w) if not isinstance(w, bool) else np.asarray("")
    fits = weights.dtype.kind in "iuf" and np.isfinite(weights).all()
    if not fits or (weights < 0.0).any() or (weights > MAX_SAMPLE_WEIGHT).any():
        raise InvalidInput(
            f"w is {shown(w)}; it must be a number from 0 to {MAX_SAMPLE_WEIGHT:g}, for all rows or for each"
        )
    if weights.ndim and weights.shape != (n,):
        raise InvalidInput(f"w has the shape {weights.shape}; it must be one number a row, here {n}")
    return np.where(np.broadcast_to(weights, n) < MIN_SAMPLE_WEIGHT, 0.0, weights).astype(np.float64)


def checked_repeats(w: Any) -> int:
    """A weight that is a whole number: how often a row counts."""
    if isinstance(w, float | np.floating) and float(w).is_integer():
        w = int(w)
    check_whole("w", w, 0, MAX_REPEATS)
    return int(w)
