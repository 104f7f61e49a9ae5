"""Exact sums of floating-point numbers: the same whatever the order and the grouping of the additions.

Every finite double is a whole multiple of 2**-1126 here, so a sum is a Python integer and nothing is rounded until it
is read. Chunks are added by exponent: the mantissas' two halves are summed in doubles, exactly, as each half is below
2**27 and a chunk has fewer than 2**26 numbers.
"""

import numpy as np

from stumpery.types import Floats, Integers

SCALE_BITS = 1126  # the least exponent of frexp, -1073, less the 53 bits of a mantissa
MANTISSA_BITS, LOW_BITS = 53, 26
MAX_CHUNK_NUMBERS = 2**20


class ExactSums:
    """Sums of numbers by group, each correctly rounded when it is read.

    Args:
        n_groups: The number of groups at first; they grow.

    >>> sums = ExactSums(1)
    >>> sums.add(np.array([1e16, 1.0, -1e16]))
    >>> sums.values()
    [1.0]
    """

    def __init__(self, n_groups: int = 0) -> None:
        self._sums = [0] * n_groups
        self._others = [0.0] * n_groups  # infinite numbers and NaN

    def add(self, values: Floats, groups: Integers | None = None) -> None:
        """Add numbers, each to its group, or all to the first."""
        for start in range(0, len(values), MAX_CHUNK_NUMBERS):
            part = slice(start, start + MAX_CHUNK_NUMBERS)
            self._add(values[part], np.zeros(len(values[part]), np.int64) if groups is None else groups[part])

    def _add(self, values: Floats, groups: Integers) -> None:
        self.grow(int(groups.max(initial=-1)) + 1)
        finite = np.isfinite(values)
        if not finite.all():
            for value, group in zip(values[~finite].tolist(), groups[~finite].tolist(), strict=True):
                self._others[group] += value
            values, groups = values[finite], groups[finite]
        if not len(values):
            return
        fractions, exponents = np.frexp(values)
        mantissas = np.ldexp(fractions, MANTISSA_BITS).astype(np.int64)
        first = int(exponents.min())
        n_exponents = int(exponents.max()) - first + 1
        cells, places = np.unique(groups * n_exponents + (exponents - first), return_inverse=True)
        low = np.bincount(places, (mantissas & (2**LOW_BITS - 1)).astype(np.float64))
        high = np.bincount(places, (mantissas >> LOW_BITS).astype(np.float64))
        for cell, low_sum, high_sum in zip(cells.tolist(), low.tolist(), high.tolist(), strict=True):
            group, exponent = divmod(cell, n_exponents)
            shift = exponent + first - MANTISSA_BITS + SCALE_BITS
            self._sums[group] += ((int(high_sum) << LOW_BITS) + int(low_sum)) << shift

    def grow(self, n_groups: int) -> None:
        """Have at least so many groups."""
        missing = max(n_groups - len(self._sums), 0)
        self._sums += [0] * missing
        self._others += [0.0] * missing

    def merge(self, other: "ExactSums", groups: list[int]) -> None:
        """Add another's sums, in place: its groups are these here."""
        self.grow(max(groups, default=-1) + 1)
        for place, group in enumerate(groups):
            self._sums[group] += other._sums[place]
            self._others[group] += other._others[place]

    def values(self) -> list[float]:
        """The sum of each group."""
        return [rounded(total) + rest for total, rest in zip(self._sums, self._others, strict=True)]


def rounded(total: int) -> float:
    """A sum as the nearest double; infinite where it is larger than any."""
    try:
        return total / (1 << SCALE_BITS)
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")
