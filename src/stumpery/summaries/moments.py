"""Moments of a stream of numbers: count, mean and variance."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.locks import merging
from stumpery.models import Model
from stumpery.saving.saveable import Arrays
from stumpery.saving.validation import check_total
from stumpery.summaries import moments_kernels as kernels
from stumpery.types import Floats

MAX_VALUE = 1e100  # beyond it, squares and sums of them would overflow
MAX_TOTAL_WEIGHT = 1e106  # of merged summaries; beyond it, sums of squares would overflow


@dataclass(kw_only=True, eq=False)
class Moments(Model):
    """Moments of a stream of numbers: its count, mean and variance in 24 bytes, by Welford's update (1962).

    >>> summary = Moments()
    >>> summary.add_many([1.0, 2.0, 3.0, 4.0])
    >>> summary.mean, summary.variance
    (2.5, 1.25)
    """

    _row: Floats = field(init=False, repr=False, default_factory=lambda: kernels.new_moments(1))

    def add(self, value: float, weight: float = 1.0) -> None:
        """Add one value, with a weight above 0."""
        number, w = _finite("value", value), _finite("weight", weight)
        if w <= 0.0:
            raise InvalidInput(f"weight is {weight!r}; it must be above 0")
        kernels.add(self._row, 0, number, w)

    def add_many(self, values: Any) -> None:
        """Add many values: equals the loop of `add`."""
        if not isinstance(values, Iterable):
            raise InvalidInput(f"values is {values!r}; it must be a list or an array of finite numbers")
        numbers = np.asarray(values if isinstance(values, np.ndarray) else list(values))
        if numbers.dtype.kind not in "biuf":
            numbers = np.array([_finite("a value", value) for value in numbers.ravel()])
        if not (np.abs(numbers.astype(np.float64)) <= MAX_VALUE).all():
            raise InvalidInput(f"values hold NaN or are too large; Moments takes finite numbers up to {MAX_VALUE:g}")
        kernels.add_all(self._row, 0, numbers.astype(np.float64).ravel(), 1.0)

    @merging
    def merge(self, other: Self) -> None:
        """Merge another summary into this one, as if its stream had followed."""
        if not isinstance(other, Moments):
            raise InvalidInput(f"Moments merges with Moments, not with {type(other).__name__!r}")
        check_total(self.count + other.count, MAX_TOTAL_WEIGHT)
        kernels.merge(self._row, 0, other._row, 0)

    @property
    def count(self) -> float:
        """The total weight of the values."""
        return float(self._row[0, kernels.COUNT])

    @property
    def mean(self) -> float:
        """The mean; NaN while there is no value."""
        return float(self._row[0, kernels.MEAN]) if self.count else math.nan

    @property
    def variance(self) -> float:
        """The population variance; NaN while there is no value."""
        return float(self._row[0, kernels.SQUARES]) / self.count if self.count else math.nan

    def _arrays(self) -> Arrays:
        return {"row": self._row}

    def _validate_state(self) -> None:
        kernels.validate(self._row)


def _finite(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes | np.complexfloating) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= MAX_VALUE:
        raise InvalidInput(f"{name} is {value!r}; it must be a finite number up to {MAX_VALUE:g}")
    return number
