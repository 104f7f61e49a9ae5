"""Checks of the numbers that summaries take."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.types import Floats


def checked_numbers(values: Any) -> Floats:
    """A list, a range, an array or a series of numbers as floats, NaN where missing."""
    try:
        given: NDArray[Any] = np.asarray(values if hasattr(values, "__len__") else list(values))
        if np.ma.is_masked(values):
            given = np.ma.filled(values.astype(np.float64), math.nan)
        if given.dtype.kind == "O" and given.ndim == 1:
            given = np.array([math.nan if value is None else _real(value) for value in given])
    except (TypeError, ValueError, OverflowError):
        given = np.array("")
    if given.ndim != 1 or (given.dtype.kind not in "biuf" and given.size):
        raise InvalidInput(f"values is {shown(values)}; it must be a list or an array of numbers")
    return np.require(given, np.float64, ["C", "W"]) + 0.0  # -0.0 becomes 0.0


def checked_number(name: str, value: Any) -> float:
    """One number that is not missing."""
    try:
        number = float(checked_numbers([value])[0])
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InvalidInput(f"{name} is {shown(value)}; it must be a number")
    return number


def _real(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError
    return float(value)
