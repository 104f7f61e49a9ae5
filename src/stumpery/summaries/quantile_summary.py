"""Quantile summary of a stream, with a count per class."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.labels.class_codes import checked_class_codes
from stumpery.locks import merging
from stumpery.models import Model
from stumpery.options import check_number, check_whole
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check, check_total
from stumpery.summaries import quantile_streams_kernels as kernels
from stumpery.summaries import quantile_streams_validation
from stumpery.summaries.numbers import checked_number, checked_numbers
from stumpery.summaries.quantile_tuples_kernels import AnyIntegers, Tuples
from stumpery.types import Floats, Integers

logger = logging.getLogger(__name__)

MAX_TUPLES = 1_000_000
MAX_COUNT_32_BITS = 2**30  # so that a sum of two counts fits as well
MIN_EPSILON = 1e-5
TUPLES_PER_ERROR = 20  # a summary with the error epsilon has at most this / epsilon tuples
MIN_BUFFER_SIZE, MAX_BUFFER_SIZE = 16, 4096


class Histogram(NamedTuple):
    """An equal-frequency histogram: bin i holds values above edges[i], up to edges[i + 1]; the first also edges[0].

    Args:
        edges: the ends of the bins, one more than there are bins.
        counts: how many values of each class are in each bin, (bins, classes).
    """

    edges: Floats
    counts: Integers


@dataclass(kw_only=True, eq=False)
class QuantileSummary(Model):
    """A quantile summary: ranks and quantiles of a stream of numbers in bounded memory, with a guaranteed rank error.

    The summary of Greenwald and Khanna (2001) with a count per class, as in Salperwyck and Urvoy (2011). With
    `max_tuples` the memory is fixed, and `rank_error` is the error that is guaranteed. With `epsilon` the error is
    fixed and the memory grows with the logarithm of the count, up to 20 / epsilon tuples; a stream that needs more gets
    a larger `rank_error`. Infinities are values like any other; a NaN is counted as missing and has no rank. The
    guarantee holds for any order of the values, and adding one by one gives the same as adding in bulk.

    Args:
        max_tuples: how many tuples are kept, from 3 to 1,000,000: the rank error is about 1 / max_tuples. 100 if
            neither this nor `epsilon` is given.
        epsilon: the rank error as a fraction of the count, from 0.00001 to 0.5, instead of `max_tuples`.
        n_classes: how many labels there are, from 1 to 1,000: values are counted for each.

    >>> summary = QuantileSummary(max_tuples=100, n_classes=2)
    >>> summary.add_many(range(10_000), labels=[value > 7000 for value in range(10_000)])
    >>> abs(summary.quantile(0.5) - 5000) <= summary.rank_error * 10_000 <= 150
    True
    >>> summary.counts_upto(9999)
    array([7001, 2999])
    """

    max_tuples: int | None = None
    epsilon: float | None = None
    n_classes: int = 1

    _streams: kernels.QuantileStreams = field(init=False, repr=False)
    _missing: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("n_classes", self.n_classes, 1, 1000)
        if self.max_tuples is not None and self.epsilon is not None:
            raise InvalidInput("max_tuples and epsilon are both given; one fixes the memory, the other the error")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, MIN_EPSILON, 0.5)
            self._max_size = math.ceil(TUPLES_PER_ERROR / self.epsilon)
            buffer_size = min(max(math.ceil(0.5 / self.epsilon), MIN_BUFFER_SIZE), MAX_BUFFER_SIZE)
            capacity = min(2 * buffer_size + 16, self._max_size)
        else:
            self.max_tuples = 100 if self.max_tuples is None else self.max_tuples
            check_whole("max_tuples", self.max_tuples, 3, MAX_TUPLES)
            self._max_size = capacity = int(self.max_tuples)
            buffer_size = min(max(capacity, MIN_BUFFER_SIZE), MAX_BUFFER_SIZE)
        self._max_error = 0.0 if self.epsilon is None else float(self.epsilon)
        self._streams = kernels.new_quantile_streams(1, capacity, self.n_classes, buffer_size, np.int32)
        self._missing = np.zeros(self.n_classes, np.int64)

    def add(self, value: float, label: int = 0) -> None:
        """Add one value."""
        self.add_many([value], [label])

    def add_many(self, values: Any, labels: Any = None) -> None:
        """Add many values, one label from 0 to n_classes - 1 for each: equals the loop of `add`."""
        numbers = checked_numbers(values)
        classes = checked_class_codes(labels, len(numbers), self.n_classes)
        missing = np.isnan(numbers)
        if missing.any():
            of_missing = classes[missing] if len(classes) == len(numbers) else np.repeat(classes, int(missing.sum()))
            self._missing += np.bincount(of_missing, minlength=self.n_classes)
            classes = classes[~missing] if len(classes) == len(numbers) else classes
            numbers = numbers[~missing]
        if not len(numbers):
            return
        self._widen_counts_for(len(numbers))
        weighted = (classes + self.n_classes).astype(np.int16)  # labels of values that weigh 1
        size = self._streams.buffers.shape[1]
        n_before = size - int(self._streams.n_buffered[0])
        n_runs = (len(numbers) - n_before - 1) // size if len(weighted) == 1 else 0  # a full buffer waits for one more
        if n_runs < 2:
            self._add(kernels.add_all, numbers, weighted)
            return
        n_sorted = n_before + n_runs * size
        self._add(kernels.add_all, numbers[: n_before + 1], weighted)  # the one more empties the buffer
        self._streams.n_buffered[0] = 0
        runs = numbers[n_before:n_sorted].reshape(n_runs, size)
        self._add(kernels.add_sorted_runs, np.sort(runs, axis=1), weighted)
        self._add(kernels.add_all, numbers[n_sorted:], weighted)

    @merging
    def merge(self, other: Self) -> None:
        """Merge another summary of the same options into this one.

        Absolute rank errors add up: two summaries with a rank error of 1 % have 1 % of their union, and somewhat more
        after the tuples are compressed; `rank_error` says how much.
        """
        if not isinstance(other, QuantileSummary):
            raise InvalidInput(
                f"a QuantileSummary merges with another QuantileSummary, not with {type(other).__name__!r}"
            )
        mine, theirs = _options_of(self), _options_of(other)
        if mine != theirs:
            raise InvalidInput(f"summaries of different options do not merge: {mine} and {theirs}")
        check_total(self.count + other.count)
        self._widen_counts_for(other.count)
        (a, n_a), (b, n_b) = self._tuples(), other._tuples(self._streams.counts.dtype)
        merged = kernels.new_tuples(n_a + n_b, self._streams)
        size = kernels.merge_and_compress(merged, a, n_a, b, n_b, self._max_error, self._max_size)
        if size > self._streams.values.shape[1]:
            self._widen(size)
        for own, new in zip(self._streams[:4], merged, strict=True):
            own[0] = 0
            own[0, :size] = new[:size]
        self._streams.sizes[0], self._streams.n_buffered[0] = size, 0
        self._missing += other._missing

    @property
    def count(self) -> int:
        """The number of values, without the missing ones."""
        return int(self.class_counts.sum())

    @property
    def class_counts(self) -> Integers:
        """The number of values of each class, without the missing ones."""
        size, n_buffered = self._streams.sizes[0], self._streams.n_buffered[0]
        buffered = np.bincount(self._streams.buffer_labels[0, :n_buffered] % self.n_classes, minlength=self.n_classes)
        counts: Integers = self._streams.counts[0, :size].sum(axis=0) + buffered
        return counts

    @property
    def missing(self) -> Integers:
        """The number of NaNs of each class."""
        return self._missing.copy()

    @property
    def rank_error(self) -> float:
        """The guaranteed rank error of all ranks and quantiles, as a fraction of the count."""
        lower, upper, *_ = self._bounds()
        return math.ceil(int((upper - lower).max(initial=0)) / 2) / max(1, self.count)

    def rank(self, value: float) -> float:
        """About how many values are at most `value`."""
        number = checked_number("value", value)
        lower, upper, values, *_ = self._bounds()
        index = int(np.searchsorted(values, number, side="right"))
        if index == len(values):
            return float(self.count)
        return float(lower[index] + upper[index]) / 2.0

    def quantile(self, q: float) -> float:
        """A value of the stream with about a fraction `q` of the values at most as large; NaN without values."""
        check_number("q", q, 0.0, 1.0)
        _, upper, values, reached = self._bounds()
        if not len(values):
            return math.nan
        goal = min(max(1, math.ceil(q * self.count)), self.count)
        errors = np.maximum(np.maximum(goal - reached, upper + 1 - goal), 0)
        return float(values[errors.argmin()])

    def counts_upto(self, value: float) -> Integers:
        """How many values of each class are certainly at most `value`; up to 2 * rank_error * count more may be."""
        number = checked_number("value", value)
        tuples, size = self._tuples()
        counts: Integers = tuples.counts[: np.searchsorted(tuples.values[:size], number, side="right")].sum(axis=0)
        return counts

    def counts_above(self, value: float) -> Integers:
        """How many values of each class may be above `value`: all but `counts_upto`."""
        return self.class_counts - self.counts_upto(value)

    def histogram(self, n_bins: int) -> Histogram:
        """At most `n_bins` bins of about equal frequency, with the counts of each class."""
        check_whole("n_bins", n_bins, 1, MAX_TUPLES)
        tuples, size = self._tuples()
        if not size:
            return Histogram(np.zeros(0), np.zeros((0, self.n_classes), np.int64))
        upto = tuples.counts[:size].sum(axis=1).cumsum()
        goals = np.arange(1, n_bins) * upto[-1] / n_bins
        ends = np.unique([*np.searchsorted(upto, goals), size - 1])
        starts = np.concatenate([[0], ends[:-1] + 1])
        edges = np.concatenate([tuples.values[:1], tuples.values[ends]])
        return Histogram(edges, np.add.reduceat(tuples.counts[:size], starts, axis=0))

    def _options(self) -> Options:
        return {**_options_of(self), "capacity": self._streams.values.shape[1]}

    def _arrays(self) -> Arrays:
        return {**self._streams._asdict(), "missing": self._missing}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        check(options["capacity"] == arrays["values"].shape[1], "its list has another size than its capacity")
        return {name: option for name, option in options.items() if name != "capacity"}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        capacity = arrays["values"].shape[1]
        check_whole("capacity", capacity, 1, self._max_size)
        if capacity > self._streams.values.shape[1]:
            self._widen(capacity)
        if arrays["counts"].dtype == np.int64:
            self._count_in_64_bits()
        super()._restore(arrays, learned)

    def _add(self, kernel: Callable[..., int], values: Floats, labels: AnyIntegers) -> None:
        """Run a kernel over all values; where the tuples are too few, double their memory and continue."""
        done, scratch, limits = 0, kernels.new_scratch_tuples(self._streams), (self._max_error, self._max_size)
        while (done := kernel(self._streams, *scratch, values, labels, done, *limits)) < len(values):
            self._widen(min(2 * self._streams.values.shape[1], self._max_size))
            logger.debug("%s grows to %d tuples", type(self).__name__, self._streams.values.shape[1])
            scratch = kernels.new_scratch_tuples(self._streams)

    def _widen_counts_for(self, n: int) -> None:
        """Count in 64 bits before the counts exceed 32."""
        if self._streams.counts.dtype == np.int32 and self.count + n > MAX_COUNT_32_BITS:
            self._count_in_64_bits()

    def _count_in_64_bits(self) -> None:
        wide = {name: getattr(self._streams, name).astype(np.int64) for name in ("counts", "deltas")}
        self._streams = self._streams._replace(**wide)

    def _tuples(self, dtype: Any = None) -> tuple[Tuples, int]:
        """All tuples, buffered values included, and their number; the summary stays as it is."""
        run, merged = kernels.new_scratch_tuples(self._streams)
        size = kernels.all_tuples(self._streams, run, merged)
        if dtype is not None:
            merged = merged._replace(counts=merged.counts.astype(dtype), deltas=merged.deltas.astype(dtype))
        return merged, size

    def _bounds(self) -> tuple[Integers, Integers, Floats, Integers]:
        """For each tuple: the bounds of the rank just below it, its value, and the cumulative count."""
        tuples, size = self._tuples()
        counts = tuples.counts[:size].sum(axis=1)
        reached = counts.cumsum()
        lower = reached - counts
        gaps = tuples.deltas[:size] + np.where(tuples.pure[:size], 0, counts - 1)
        return lower, lower + gaps, tuples.values[:size], reached

    def _widen(self, capacity: int) -> None:
        old = self._streams
        wide = kernels.new_quantile_streams(1, capacity, self.n_classes, old.buffers.shape[1], old.counts.dtype)
        for name in ("values", "counts", "deltas", "pure"):
            getattr(wide, name)[:, : old.values.shape[1]] = getattr(old, name)
        self._streams = wide._replace(
            sizes=old.sizes,
            buffers=old.buffers,
            buffer_labels=old.buffer_labels,
            n_buffered=old.n_buffered,
            gap_fractions=old.gap_fractions,
        )

    def _validate_state(self) -> None:
        streams = self._streams
        quantile_streams_validation.validate(streams, streams.buffers.shape[1])
        size, n_buffered = int(streams.sizes[0]), int(streams.n_buffered[0])
        check((streams.counts[0, :size].sum(axis=1) > 0).all(), "a tuple of a summary has no count")
        weights = streams.buffer_labels[0, :n_buffered] // self.n_classes
        check((weights == 1).all(), "a buffered value has another weight than 1")
        check((self._missing >= 0).all(), "a count of missing values is negative")


def _options_of(summary: QuantileSummary) -> dict[str, Any]:
    if summary.epsilon is not None:
        return {"epsilon": float(summary.epsilon), "n_classes": int(summary.n_classes)}
    return {"max_tuples": summary._max_size, "n_classes": int(summary.n_classes)}
