"""Count-min sketch: approximate counts of items, with a count per class."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.hashing import hash_item, hash_items
from stumpery.labels.class_codes import checked_class_codes
from stumpery.locks import merging
from stumpery.models import Model
from stumpery.options import check_whole
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check, check_total
from stumpery.summaries import count_min_kernels as kernels
from stumpery.system.allocation import reserve
from stumpery.types import Integers

MAX_CELLS = 2**28


@dataclass(kw_only=True, eq=False)
class CountMin(Model):
    """A count-min sketch: approximate counts of any number of items in fixed memory, never too low.

    The sketch of Cormode and Muthukrishnan (2005) with a count per class. Items are strings or whole numbers. With
    a probability of at most `risk`, a count is too high by more than `overcount`; both can be read at any time.

    Args:
        width: buckets of each hash function, from 1 to 16,777,216: `overcount` is e / width of the total.
        depth: hash functions, from 1 to 64: `risk` is exp(-depth).
        n_classes: how many labels there are, from 1 to 1,000: each item is counted for each label.

    >>> sketch = CountMin(width=256, depth=4, n_classes=2)
    >>> sketch.add_many(["phone", "watch", "phone"], labels=[0, 0, 1])
    >>> sketch.count("phone"), sketch.class_counts("phone")
    (2, array([1, 1]))
    """

    width: int = 256
    depth: int = 4
    n_classes: int = 1

    _counts: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("width", self.width, 1, 2**24)
        check_whole("depth", self.depth, 1, 64)
        check_whole("n_classes", self.n_classes, 1, 1000)
        if self.width * self.depth * self.n_classes > MAX_CELLS:
            raise InvalidInput(f"width * depth * n_classes is above {MAX_CELLS}; the table must have fewer cells")
        reserve(8 * self.depth * self.width * self.n_classes)
        self._counts = np.zeros((self.depth, self.width, self.n_classes), np.int64)

    def add(self, item: str | int, label: int = 0, weight: int = 1) -> None:
        """Count one item, `weight` times."""
        check_whole("weight", weight, 1, 2**31)
        labels = checked_class_codes([label], 1, self.n_classes)
        kernels.add_all(self._counts, np.array([hash_item(item)], np.uint64), labels, int(weight))

    def add_many(self, items: Any, labels: Any = None) -> None:
        """Count many items, a label for each: equals the loop of `add`."""
        hashes = hash_items(items)
        kernels.add_all(self._counts, hashes, checked_class_codes(labels, len(hashes), self.n_classes), 1)

    @merging
    def merge(self, other: Self) -> None:
        """Merge another sketch of the same options into this one, exactly as if its stream had followed."""
        if not isinstance(other, CountMin):
            raise InvalidInput(f"a CountMin merges with another CountMin, not with {type(other).__name__!r}")
        if self._counts.shape != other._counts.shape:
            raise InvalidInput(f"sketches of different options do not merge: {self} and {other}")
        check_total(self.total + other.total)
        self._counts += other._counts

    def class_counts(self, item: str | int) -> Integers:
        """Upper bounds of the counts of an item with each label."""
        counts = np.zeros(self.n_classes, np.int64)
        kernels.read_counts(counts, self._counts, np.array([hash_item(item)], np.uint64))
        return counts

    def count(self, item: str | int) -> int:
        """An upper bound of the count of an item."""
        return int(self.class_counts(item).sum())

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self._counts[0].sum())

    @property
    def overcount(self) -> float:
        """The error bound of a count, which holds except with the probability `risk`: e / width of the total."""
        return math.e * self.total / self.width

    @property
    def risk(self) -> float:
        """The probability that a count is too high by more than `overcount`: exp(-depth)."""
        return math.exp(-self.depth)

    def _options(self) -> Options:
        return {name: int(option) for name, option in super()._options().items()}

    def _arrays(self) -> Arrays:
        return {"counts": self._counts}

    def _validate_state(self) -> None:
        check((self._counts >= 0).all(), "a count is negative")
        totals = self._counts.sum(axis=1)
        check((totals == totals[0]).all(), "the rows of counts have different totals")
