"""Numbers as labels: the targets of a regression."""

from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.labels.lists import listed_labels
from stumpery.options import shown
from stumpery.types import Floats

MAX_TARGET = 1e15  # the sum of a leaf's squares must fit into 32 bits


def is_target(value: Any, limit: float = MAX_TARGET) -> bool:
    """Whether a label is a number of at most this magnitude, not NaN."""
    number: Any = value
    return isinstance(value, int | float | np.integer | np.floating | np.bool_) and bool(abs(number) <= limit)


def checked_target(value: Any) -> float:
    """A finite number; anything else is refused."""
    if not is_target(value):
        raise InvalidInput(f"a label is {shown(value)}; it must be a number from {-MAX_TARGET:g} to {MAX_TARGET:g}")
    return float(value)


def checked_targets(y: Any) -> Floats:
    """Finite numbers as an array; anything else is refused."""
    return np.array([checked_target(value) for value in listed_labels("y", y)], dtype=np.float64)
