"""A numerical column: quantiles of its first values, from which bins of equal frequency are cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from stumpery.encoding.columns.values import PLAIN_NUMBERS, Data, value_error, value_kind
from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.types import Floats

N_QUANTILES = 240  # each stands for 1/240 of the values: exact for 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, ... bins


@dataclass(frozen=True, kw_only=True)
class Numerical:
    """A numerical column, with the quantiles of its first values or the cut points that a user gave.

    Args:
        name: the column's name.
        points: quantiles of the first values, or cut points, in ascending order; None before the first rows.
        given: whether `points` are cut points, to be used as they are.
    """

    kind: ClassVar[str] = "numerical"
    name: str
    points: tuple[float, ...] | None = field(default=None, repr=False)
    given: bool = False

    def __post_init__(self) -> None:
        steps = np.diff(self.points or ())
        if not np.isfinite(self.points or ()).all() or (steps < 0).any() or (self.given and (steps == 0).any()):
            raise InvalidInput(
                f"column {self.name!r} is {shown(self.points)}; it must be finite numbers in ascending order"
            )

    @property
    def is_bit(self) -> bool:
        """Whether every value seen was 0 or 1."""
        return bool(self.points) and not self.given and set(self.points or ()) <= {0.0, 1.0}

    def read(self, data: Data) -> Floats:
        """The values as they are, NaN where missing."""
        if isinstance(data, np.ndarray):
            return data.astype(np.float64)
        if PLAIN_NUMBERS.issuperset(map(type, data)):
            try:
                return np.array(data, dtype=np.float64)
            except OverflowError:
                pass
        return np.array([self._number(value) for value in data], dtype=np.float64)

    def _number(self, value: Any) -> float:
        kind = value_kind(type(value))
        if kind == "missing":
            return np.nan
        if kind != "number":
            raise value_error(self.name, "number", value)
        try:
            return float(value)
        except OverflowError:
            raise value_error(self.name, "number of at most 308 digits", value) from None
        except ValueError:  # a signaling NaN
            raise value_error(self.name, "number", value) from None

    def infer(self, data: Data) -> Self:
        """The same as `learn`: only the first values count."""
        return self.learn(data)

    def learn(self, data: Data) -> Self:
        """Keep the quantiles of the finite values, unless points are there already."""
        values = self.read(data)
        if self.points is not None:
            return self
        values = np.sort(values[np.isfinite(values)])
        if len(values) > N_QUANTILES:
            last = -(-np.arange(1, N_QUANTILES + 1) * len(values) // N_QUANTILES) - 1
            values = values[[0, *last[1:]]]
        return replace(self, points=tuple(values.tolist()))

    def cuts(self, n_bins: int) -> tuple[float, ...]:
        """Where to cut into at most `n_bins` bins of equal frequency; each bin includes its upper end.

        There are as many bins as distinct points, or `n_bins` if that is less, and none is empty: a point
        that repeats past its share ends its bin, and the bins above share what is left equally.
        """
        if self.points is None:
            raise InvalidInput(
                f"column {self.name!r} has no cut points yet: show rows to Schema.extend, "
                f"or give cut points as in Schema.of({{{self.name!r}: [18, 65]}})"
            )
        if self.given:
            return self.points
        return (0.0,) if self.is_bit else _equal_frequency_cuts(self.points, n_bins)

    def close(self) -> Self:
        """A numerical column stays as it is."""
        return self

    def options(self) -> dict[str, Any]:
        """The column as plain JSON values, its points left out."""
        n_points = None if self.points is None else len(self.points)
        return {"name": self.name, "n_points": n_points, "given": self.given}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], points: Iterator[float]) -> Self:
        """Rebuild from `options`, taking as many points as they say."""
        n_points = options["n_points"]
        taken = None if n_points is None else tuple(islice(points, n_points))
        if taken is not None and len(taken) < n_points:
            raise InvalidInput(f"column {options['name']!r} has {len(taken)} points; it must have {n_points}")
        return cls(name=options["name"], points=taken, given=options["given"])


def _equal_frequency_cuts(points: Sequence[float], n_bins: int) -> tuple[float, ...]:
    values, counts = np.unique(np.array(points), return_counts=True)
    below = np.concatenate([[0], np.cumsum(counts)])
    cuts: list[float] = []
    taken = 0  # distinct values in the bins so far
    for bins_left in range(min(n_bins, len(values)), 1, -1):
        goal = below[taken] + (below[-1] - below[taken]) / bins_left
        above = int(np.searchsorted(below, goal))
        nearest = above if below[above] - goal <= goal - below[above - 1] else above - 1
        taken = min(max(nearest, taken + 1), len(values) - bins_left + 1)
        cuts.append(float(values[taken - 1]))
    return tuple(cuts)
