"""Quantiles of a stream, with a count per class."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.labels.class_codes import checked_class_codes
from stumpery.locks import merging
from stumpery.models import Model
from stumpery.options import check_number, check_whole
from stumpery.saveable import Arrays, Options
from stumpery.summaries import quantiles_kernels as kernels
from stumpery.summaries import quantiles_validation
from stumpery.summaries.numbers import checked_number, checked_numbers
from stumpery.types import Floats, Integers
from stumpery.validation import check, check_total

MOST_TUPLES = 1_000_000
MOST_IN_32_BITS = 2**30  # so that a sum of two counts fits as well
LEAST_EPSILON = 1e-5
TUPLES_PER_ERROR = 20  # a list for the error epsilon has at most this / epsilon tuples


class Histogram(NamedTuple):
    """About equally frequent bins: bin i holds what is above edges[i], up to edges[i + 1]; the first, edges[0] too."""

    edges: Floats  # (bins + 1,)
    counts: Integers  # (bins, classes)


@dataclass(kw_only=True, eq=False)
class QuantileSummary(Model):
    """Ranks and quantiles of a stream of numbers in bounded memory, with a promise that always holds.

    The summary of Greenwald and Khanna (2001) with a count per class, as in Salperwyck and Urvoy (2011). With
    `max_tuples` the memory is fixed and `rank_error` says which error can still be promised; with `epsilon` the error
    is fixed and the list grows with the logarithm of the count, up to 20 / epsilon tuples: should a stream need more,
    memory wins and `rank_error` says so. Infinities are values like any other; a NaN is counted as missing and has no
    rank. What came first does not matter to the promise, and adding one by one gives the same as adding in bulk.

    >>> summary = QuantileSummary(max_tuples=100, n_classes=2)
    >>> summary.add_many(range(10_000), labels=[value > 7000 for value in range(10_000)])
    >>> abs(summary.quantile(0.5) - 5000) <= summary.rank_error * 10_000 <= 150
    True
    >>> summary.counts_upto(9999)
    array([7001, 2999])
    """

    max_tuples: int | None = None  # 100, unless epsilon is given
    epsilon: float | None = None
    n_classes: int = 1

    _streams: kernels.Quantiles = field(init=False, repr=False)
    _missing: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("n_classes", self.n_classes, 1, 1000)
        if self.max_tuples is not None and self.epsilon is not None:
            raise ValueError("max_tuples and epsilon are both given; one fixes the memory, the other the error")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, LEAST_EPSILON, 0.5)
            self._most = math.ceil(TUPLES_PER_ERROR / self.epsilon)
            room = min(max(math.ceil(0.5 / self.epsilon), 16), 4096)
            capacity = min(2 * room + 16, self._most)
        else:
            self.max_tuples = 100 if self.max_tuples is None else self.max_tuples
            check_whole("max_tuples", self.max_tuples, 3, MOST_TUPLES)
            self._most = capacity = int(self.max_tuples)
            room = min(max(capacity, 16), 4096)
        self._share = 0.0 if self.epsilon is None else float(self.epsilon)
        self._streams = kernels.new_quantiles(1, capacity, self.n_classes, room, np.int32)
        self._missing = np.zeros(self.n_classes, np.int64)

    def add(self, value: float, label: int = 0) -> None:
        """Fold one value in."""
        self.add_many([value], [label])

    def add_many(self, values: Any, labels: Any = None) -> None:
        """Fold many values in, one label from 0 to n_classes - 1 for each: equals the loop of `add`."""
        numbers = checked_numbers(values)
        classes = checked_class_codes(labels, len(numbers), self.n_classes)
        missing = np.isnan(numbers)
        if missing.any():
            gone = classes[missing] if len(classes) == len(numbers) else np.repeat(classes, int(missing.sum()))
            self._missing += np.bincount(gone, minlength=self.n_classes)
            classes = classes[~missing] if len(classes) == len(numbers) else classes
            numbers = numbers[~missing]
        if not len(numbers):
            return
        self._make_room_to_count(len(numbers))
        marks = (classes + self.n_classes).astype(np.int16)  # each value weighs 1
        room = self._streams.waiting.shape[1]
        n_before = room - int(self._streams.fills[0])
        n_runs = (len(numbers) - n_before - 1) // room if len(marks) == 1 else 0  # a full buffer waits for one more
        if n_runs < 2:
            self._add(kernels.add_all, numbers, marks)
            return
        n_sorted = n_before + n_runs * room
        self._add(kernels.add_all, numbers[: n_before + 1], marks)  # the one more empties the buffer
        self._streams.fills[0] = 0
        runs = numbers[n_before:n_sorted].reshape(n_runs, room)
        self._add(kernels.add_sorted_runs, np.sort(runs, axis=1), marks)
        self._add(kernels.add_all, numbers[n_sorted:], marks)

    @merging
    def merge(self, other: Self) -> None:
        """Fold another summary of the same options in: what is unsure of the two adds up, before the list is shortened.

        Two summaries of 100 tuples, each promising an error of 1 %, promise 1 % of their union before that, and some
        more after it; `rank_error` says how much.
        """
        if not isinstance(other, QuantileSummary):
            raise ValueError(f"a QuantileSummary merges with its like, not with {type(other).__name__!r}")
        mine, theirs = _recipe(self), _recipe(other)
        if mine != theirs:
            raise ValueError(f"summaries of different options do not merge: {mine} and {theirs}")
        check_total(self.count + other.count)
        self._make_room_to_count(other.count)
        (a, n_a), (b, n_b) = self._list(), other._list(self._streams.counts.dtype)
        joined = kernels.new_tuples(n_a + n_b, self._streams)
        size = kernels.merge_lists(joined, a, n_a, b, n_b, self._share, self._most)
        if size > self._streams.values.shape[1]:
            self._widen(size)
        for own, new in zip(self._streams[:4], joined, strict=True):
            own[0] = 0
            own[0, :size] = new[:size]
        self._streams.sizes[0], self._streams.fills[0] = size, 0
        self._missing += other._missing

    @property
    def count(self) -> int:
        """How many values came, the missing ones aside."""
        return int(self.class_counts.sum())

    @property
    def class_counts(self) -> Integers:
        """How many values of each class came, the missing ones aside."""
        size, fill = self._streams.sizes[0], self._streams.fills[0]
        waiting = np.bincount(self._streams.marks[0, :fill] % self.n_classes, minlength=self.n_classes)
        counts: Integers = self._streams.counts[0, :size].sum(axis=0) + waiting
        return counts

    @property
    def missing(self) -> Integers:
        """How many NaNs of each class came."""
        return self._missing.copy()

    @property
    def rank_error(self) -> float:
        """The promise: no rank and no quantile is further off than this share of the count."""
        lower, upper, *_ = self._bounds()
        return math.ceil(int((upper - lower).max(initial=0)) / 2) / max(1, self.count)

    def rank(self, value: float) -> float:
        """About how many values were at most `value`."""
        number = checked_number("value", value)
        lower, upper, values, *_ = self._bounds()
        place = int(np.searchsorted(values, number, side="right"))
        if place == len(values):
            return float(self.count)
        return float(lower[place] + upper[place]) / 2.0

    def quantile(self, share: float) -> float:
        """A value that came, with about `share` of the values at most as large; NaN while nothing came."""
        check_number("share", share, 0.0, 1.0)
        _, upper, values, reached = self._bounds()
        if not len(values):
            return math.nan
        goal = min(max(1, math.ceil(share * self.count)), self.count)
        off = np.maximum(np.maximum(goal - reached, upper + 1 - goal), 0)
        return float(values[off.argmin()])

    def counts_upto(self, value: float) -> Integers:
        """How many values of each class are surely at most `value`; in all, 2 * rank_error * count more may be."""
        number = checked_number("value", value)
        tuples, size = self._list()
        counts: Integers = tuples.counts[: np.searchsorted(tuples.values[:size], number, side="right")].sum(axis=0)
        return counts

    def counts_above(self, value: float) -> Integers:
        """How many values of each class may be above `value`: all but `counts_upto`."""
        return self.class_counts - self.counts_upto(value)

    def histogram(self, n_bins: int) -> Histogram:
        """At most `n_bins` bins of about equal frequency, with the counts of each class."""
        check_whole("n_bins", n_bins, 1, MOST_TUPLES)
        tuples, size = self._list()
        if not size:
            return Histogram(np.zeros(0), np.zeros((0, self.n_classes), np.int64))
        upto = tuples.counts[:size].sum(axis=1).cumsum()
        goals = np.arange(1, n_bins) * upto[-1] / n_bins
        ends = np.unique([*np.searchsorted(upto, goals), size - 1])
        starts = np.concatenate([[0], ends[:-1] + 1])
        edges = np.concatenate([tuples.values[:1], tuples.values[ends]])
        return Histogram(edges, np.add.reduceat(tuples.counts[:size], starts, axis=0))

    def _options(self) -> Options:
        return {**_recipe(self), "capacity": self._streams.values.shape[1]}

    def _arrays(self) -> Arrays:
        return {**self._streams._asdict(), "missing": self._missing}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        check(options["capacity"] == arrays["values"].shape[1], "its list has another size than its capacity")
        return {name: option for name, option in options.items() if name != "capacity"}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        capacity = arrays["values"].shape[1]
        check_whole("capacity", capacity, 1, self._most)
        if capacity > self._streams.values.shape[1]:
            self._widen(capacity)
        if arrays["counts"].dtype == np.int64:
            self._count_in_64_bits()
        super()._restore(arrays, learned)

    def _add(self, kernel: Callable[..., int], values: Floats, marks: NDArray[np.int16]) -> None:
        """Run a kernel to the end of its values, with wider lists where they have no room."""
        done, run, joined = 0, *self._room()
        while (done := kernel(self._streams, run, joined, values, marks, done, self._share, self._most)) < len(values):
            self._widen(min(2 * self._streams.values.shape[1], self._most))
            run, joined = self._room()

    def _make_room_to_count(self, n: int) -> None:
        """Count in 64 bits once 32 might not do."""
        if self._streams.counts.dtype == np.int32 and self.count + n > MOST_IN_32_BITS:
            self._count_in_64_bits()

    def _count_in_64_bits(self) -> None:
        wide = {name: getattr(self._streams, name).astype(np.int64) for name in ("counts", "deltas")}
        self._streams = self._streams._replace(**wide)

    def _room(self) -> tuple[kernels.Tuples, kernels.Tuples]:
        """Room to work in, for one call: half of the memory again that would be held for nothing."""
        room = self._streams.waiting.shape[1]
        n_joined = self._streams.values.shape[1] + room
        return kernels.new_tuples(room, self._streams), kernels.new_tuples(n_joined, self._streams)

    def _list(self, dtype: Any = None) -> tuple[kernels.Tuples, int]:
        """The whole list, waiting values included; the summary stays as it is."""
        run, joined = self._room()
        size = kernels.whole_list(self._streams, run, joined)
        if dtype is not None:
            joined = joined._replace(counts=joined.counts.astype(dtype), deltas=joined.deltas.astype(dtype))
        return joined, size

    def _bounds(self) -> tuple[Integers, Integers, Floats, Integers]:
        """Between each tuple and the one before: at least and at most so many values; its value; how many reach it."""
        tuples, size = self._list()
        weight = tuples.counts[:size].sum(axis=1)
        reached = weight.cumsum()
        lower = reached - weight
        unsure = tuples.deltas[:size] + np.where(tuples.pure[:size], 0, weight - 1)
        return lower, lower + unsure, tuples.values[:size], reached

    def _widen(self, capacity: int) -> None:
        old = self._streams
        wide = kernels.new_quantiles(1, capacity, self.n_classes, old.waiting.shape[1], old.counts.dtype)
        for name in ("values", "counts", "deltas", "pure"):
            getattr(wide, name)[:, : old.values.shape[1]] = getattr(old, name)
        self._streams = wide._replace(
            sizes=old.sizes, waiting=old.waiting, marks=old.marks, fills=old.fills, shares=old.shares
        )

    def _validate_state(self) -> None:
        streams = self._streams
        quantiles_validation.validate(streams, streams.waiting.shape[1])
        size, fill = int(streams.sizes[0]), int(streams.fills[0])
        check((streams.counts[0, :size].sum(axis=1) > 0).all(), "a tuple of a summary has no count")
        check((streams.marks[0, :fill] // self.n_classes == 1).all(), "a value that waits has another weight than 1")
        check((self._missing >= 0).all(), "a count of missing values is negative")


def _recipe(summary: QuantileSummary) -> dict[str, Any]:
    if summary.epsilon is not None:
        return {"epsilon": float(summary.epsilon), "n_classes": int(summary.n_classes)}
    return {"max_tuples": summary._most, "n_classes": int(summary.n_classes)}
