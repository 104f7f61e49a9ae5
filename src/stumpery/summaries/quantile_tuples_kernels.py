"""Tuples of a quantile summary after Greenwald and Khanna (2001), with a count per class: merge and compress.

The tuples of a summary ascend. Tuple i says: `counts[i]` values, by class, came since the tuple before and are at most
`values[i]`; up to `deltas[i]` more may be. A `pure` tuple holds nothing but copies of its value. The rank of a value
between two tuples is uncertain by the `gap` of the upper one; half of the largest gap is the rank error. `compress`
unites neighbours, but never the first two, so the smallest and the largest value stay known.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal
from stumpery.types import Floats, Integers

AnyIntegers = NDArray[Any]  # int64, or int32 where memory counts
Flags = NDArray[np.bool_]


class Tuples(NamedTuple):
    """The tuples of one summary, or scratch buffers for them."""

    values: Floats  # (tuples,), ascending
    counts: AnyIntegers  # (tuples, classes)
    deltas: AnyIntegers  # (tuples,)
    pure: Flags  # (tuples,)


@internal
def count_of(tuples: Tuples, index: int) -> int:
    """The number of values of a tuple."""
    total = 0
    for label in range(tuples.counts.shape[1]):
        total += tuples.counts[index, label]
    return total


@internal
def gap(tuples: Tuples, index: int, size: int) -> int:
    """The uncertainty of the rank of a value between the tuple before and this one."""
    if index >= size:
        return 0
    if tuples.pure[index]:
        return int(tuples.deltas[index])
    return count_of(tuples, index) + int(tuples.deltas[index]) - 1


@internal
def copy_tuple(into: Tuples, target: int, tuples: Tuples, source: int, extra: int) -> None:
    """Copy a tuple, in place, and add `extra` to its delta."""
    into.values[target] = tuples.values[source]
    into.deltas[target] = tuples.deltas[source] + extra
    into.pure[target] = tuples.pure[source]
    for label in range(tuples.counts.shape[1]):
        into.counts[target, label] = tuples.counts[source, label]


@internal
def fill_exact(into: Tuples, values: Floats, labels: AnyIntegers, n: int) -> int:
    """Write the exact tuples of sorted values, in place; return their number. Labels are weight * classes + label."""
    n_classes = into.counts.shape[1]
    size = 0
    for index in range(n):
        if index == 0 or values[index] != values[index - 1]:
            into.values[size] = values[index]
            into.deltas[size] = 0
            into.pure[size] = True
            for label in range(n_classes):
                into.counts[size, label] = 0
            size += 1
        if n_classes == 1:  # saves two divisions
            into.counts[size - 1, 0] += labels[index]
        else:
            into.counts[size - 1, labels[index] % n_classes] += labels[index] // n_classes
    return size


@internal
def merge_tuples(into: Tuples, a: Tuples, n_a: int, b: Tuples, n_b: int) -> int:
    """Merge the tuples of two summaries, in place; return their number. A gap is at most the sum of two."""
    size = i = j = 0
    while i < n_a or j < n_b:
        if j == n_b or (i < n_a and (a.values[i] < b.values[j] or (a.values[i] == b.values[j] and not a.pure[i]))):
            copy_tuple(into, size, a, i, gap(b, j, n_b))
            i += 1
        elif i == n_a or b.values[j] < a.values[i] or not b.pure[j]:
            copy_tuple(into, size, b, j, gap(a, i, n_a))
            j += 1
        else:  # the same value, and both are pure
            copy_tuple(into, size, a, i, int(b.deltas[j]))
            for label in range(a.counts.shape[1]):
                into.counts[size, label] += b.counts[j, label]
            i += 1
            j += 1
        size += 1
    return size


@internal
def n_after_compress(counts: Integers, gaps: Integers, size: int, max_gap: int) -> int:
    """The number of tuples that `compress` would leave."""
    left = size
    last = counts[1]
    for index in range(2, size):
        fits = last + gaps[index] <= max_gap
        last = counts[index] + (last if fits else 0)
        left -= fits
    return left


@internal
def compress(tuples: Tuples, counts: Integers, size: int, max_gap: int) -> int:
    """Unite neighbours from the left while no gap exceeds `max_gap`, in place; return the number of tuples."""
    last = 0
    for index in range(1, size):
        count = counts[index]
        if last > 0 and counts[last] + count + tuples.deltas[index] - 1 <= max_gap:
            for label in range(tuples.counts.shape[1]):
                tuples.counts[last, label] += tuples.counts[index, label]
            counts[last] += count
            tuples.values[last] = tuples.values[index]
            tuples.deltas[last] = tuples.deltas[index]
            tuples.pure[last] = False
        else:
            last += 1
            if last < index:
                copy_tuple(tuples, last, tuples, index, 0)
                counts[last] = count
    return min(last + 1, size)


@internal
def compress_to(tuples: Tuples, size: int, epsilon: float, max_tuples: int, fractions: Floats, stream: int) -> int:
    """Compress as far as `epsilon` allows, then to at most `max_tuples`, in place; return the number of tuples.

    The smallest sufficient gap, as a fraction of the count, changes little from one call to the next: `fractions` keeps
    it for each stream. It is lowered a little first, and raised until it suffices.
    """
    counts = np.empty(size, np.int64)
    total = 0
    for index in range(size):
        counts[index] = count_of(tuples, index)
        total += counts[index]
    if epsilon > 0.0:
        size = compress(tuples, counts, size, int(2.0 * epsilon * total))
    if size > max_tuples:
        gaps = np.empty(size, np.int64)
        for index in range(size):
            gaps[index] = counts[index] + tuples.deltas[index] - 1
        fraction = max(fractions[stream] * (1.0 - 1.0 / 64.0), 1.0 / max_tuples)
        while (
            n_after_compress(counts, gaps, size, int(fraction * total)) > max_tuples
        ):  # ends: a limit unites all but one
            fraction *= 1.0 + 1.0 / 128.0
        fractions[stream] = fraction
        size = compress(tuples, counts, size, int(fraction * total))
    return size
