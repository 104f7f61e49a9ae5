"""Quantiles of many streams with a count per class: the summary of Greenwald and Khanna (2001), fed in runs.

A stream is a short list of tuples, ascending. Tuple i says: `counts[i]` values, by class, came since the tuple before
and are at most `values[i]`; up to `deltas[i]` more may be. A `pure` tuple holds nothing but copies of its value. So at
least the sum of counts up to i, and, strictly below, at most that sum plus the delta less the copies, is known of every
value: what lies between two neighbours is unsure by the `gap` of the upper one, and half of the largest gap is the
error that can still be promised.

New values wait in a small buffer. When it is full it is sorted into a list of exact tuples and interleaved with the
stream's own, deltas and all; then neighbours are united, those of small gaps first, until the list is short enough.
The first tuple is never united with the next, so the least and the greatest value stay known.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal, kernel
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

Whole = NDArray[Any]  # int64, or int32 where memory counts
Flags = NDArray[np.bool_]
STEPS = (1750, 701, 301, 132, 57, 23, 10, 4, 1)  # of the sort, after Ciura


class Tuples(NamedTuple):
    """One stream's list, or room for one."""

    values: Floats  # (tuples,), ascending
    counts: Whole  # (tuples, classes)
    deltas: Whole  # (tuples,)
    pure: Flags  # (tuples,)


class Quantiles(NamedTuple):
    """Many streams' lists, and the values that wait to enter them."""

    values: Floats  # (streams, tuples)
    counts: Whole  # (streams, tuples, classes)
    deltas: Whole  # (streams, tuples)
    pure: Flags  # (streams, tuples)
    sizes: Integers  # (streams,): tuples in use
    waiting: Floats  # (streams, room)
    marks: Whole  # (streams, room): weight * classes + label, 16 bits
    fills: Integers  # (streams,): values that wait
    shares: Floats  # (streams,): see `shorten`


def new_quantiles(n_streams: int, n_tuples: int, n_classes: int, room: int, dtype: Any) -> Quantiles:
    """Streams that have seen nothing."""
    n_bytes = np.dtype(dtype).itemsize
    reserve(n_streams * (n_tuples * (9 + (n_classes + 1) * n_bytes) + 10 * room + 24))
    return Quantiles(
        values=np.zeros((n_streams, n_tuples)),
        counts=np.zeros((n_streams, n_tuples, n_classes), dtype),
        deltas=np.zeros((n_streams, n_tuples), dtype),
        pure=np.zeros((n_streams, n_tuples), np.bool_),
        sizes=np.zeros(n_streams, np.int64),
        waiting=np.zeros((n_streams, room)),
        marks=np.zeros((n_streams, room), np.int16),
        fills=np.zeros(n_streams, np.int64),
        shares=np.zeros(n_streams),
    )


def new_tuples(n_tuples: int, like: Quantiles) -> Tuples:
    """Room for a list."""
    shape = (n_tuples, like.counts.shape[2])
    dtype = like.counts.dtype
    return Tuples(np.zeros(n_tuples), np.zeros(shape, dtype), np.zeros(n_tuples, dtype), np.zeros(n_tuples, np.bool_))


@internal
def tuples_of(streams: Quantiles, stream: int) -> Tuples:
    """One stream's list, live."""
    return Tuples(streams.values[stream], streams.counts[stream], streams.deltas[stream], streams.pure[stream])


@internal
def weight_of(tuples: Tuples, place: int) -> int:
    """How many values a tuple stands for."""
    total = 0
    for label in range(tuples.counts.shape[1]):
        total += tuples.counts[place, label]
    return total


@internal
def gap(tuples: Tuples, place: int, size: int) -> int:
    """How unsure the number of values is that are at most x, for x between the tuple before and this one."""
    if place >= size:
        return 0
    if tuples.pure[place]:
        return int(tuples.deltas[place])
    return weight_of(tuples, place) + int(tuples.deltas[place]) - 1


@internal
def copy_tuple(into: Tuples, to: int, tuples: Tuples, place: int, extra: int) -> None:
    """Copy a tuple, in place, with a larger delta."""
    into.values[to] = tuples.values[place]
    into.deltas[to] = tuples.deltas[place] + extra
    into.pure[to] = tuples.pure[place]
    for label in range(tuples.counts.shape[1]):
        into.counts[to, label] = tuples.counts[place, label]


@internal
def sort_waiting(values: Floats, marks: Whole, n: int) -> None:
    """Sort values with their marks, in place; values are no NaN."""
    for step in STEPS:
        for place in range(step, n):
            value = values[place]
            mark = marks[place]
            hole = place
            while hole >= step and values[hole - step] > value:
                values[hole] = values[hole - step]
                marks[hole] = marks[hole - step]
                hole -= step
            values[hole] = value
            marks[hole] = mark


@internal
def exact(into: Tuples, values: Floats, marks: Whole, n: int) -> int:
    """Make a list of exact tuples of sorted values, in place; give its length."""
    n_classes = into.counts.shape[1]
    size = 0
    for place in range(n):
        if place == 0 or values[place] != values[place - 1]:
            into.values[size] = values[place]
            into.deltas[size] = 0
            into.pure[size] = True
            for label in range(n_classes):
                into.counts[size, label] = 0
            size += 1
        if n_classes == 1:  # spares two divisions
            into.counts[size - 1, 0] += marks[place]
        else:
            into.counts[size - 1, marks[place] % n_classes] += marks[place] // n_classes
    return size


@internal
def interleave(into: Tuples, a: Tuples, n_a: int, b: Tuples, n_b: int) -> int:
    """Make one list of two streams' lists, in place; give its length. Every gap is at most the sum of two."""
    size = i = j = 0
    while i < n_a or j < n_b:
        if j == n_b or (i < n_a and (a.values[i] < b.values[j] or (a.values[i] == b.values[j] and not a.pure[i]))):
            copy_tuple(into, size, a, i, gap(b, j, n_b))
            i += 1
        elif i == n_a or b.values[j] < a.values[i] or not b.pure[j]:
            copy_tuple(into, size, b, j, gap(a, i, n_a))
            j += 1
        else:  # the same value, and both hold nothing else
            copy_tuple(into, size, a, i, int(b.deltas[j]))
            for label in range(a.counts.shape[1]):
                into.counts[size, label] += b.counts[j, label]
            i += 1
            j += 1
        size += 1
    return size


@internal
def n_left(weights: Integers, costs: Integers, size: int, limit: int) -> int:
    """How many tuples `unite` would leave."""
    left = size
    last = weights[1]
    for place in range(2, size):
        fits = last + costs[place] <= limit
        last = weights[place] + (last if fits else 0)
        left -= fits
    return left


@internal
def unite(tuples: Tuples, weights: Integers, size: int, limit: int) -> int:
    """Unite neighbours, in place and from the left, as long as no gap passes `limit`; give the length."""
    last = 0
    for place in range(1, size):
        weight = weights[place]
        if last > 0 and weights[last] + weight + tuples.deltas[place] - 1 <= limit:
            for label in range(tuples.counts.shape[1]):
                tuples.counts[last, label] += tuples.counts[place, label]
            weights[last] += weight
            tuples.values[last] = tuples.values[place]
            tuples.deltas[last] = tuples.deltas[place]
            tuples.pure[last] = False
        else:
            last += 1
            if last < place:
                copy_tuple(tuples, last, tuples, place, 0)
                weights[last] = weight
    return min(last + 1, size)


@internal
def shorten(tuples: Tuples, size: int, epsilon: float, most: int, shares: Floats, stream: int) -> int:
    """Unite what `epsilon` allows, then what it takes to have at most `most` tuples, in place; give the length.

    The least gap, as a share of all values, that lets `unite` leave few enough tuples changes little from one time to
    the next: `shares` keeps it, lowered a bit when it was enough and raised when it was not.
    """
    weights = np.empty(size, np.int64)
    total = 0
    for place in range(size):
        weights[place] = weight_of(tuples, place)
        total += weights[place]
    if epsilon > 0.0:
        size = unite(tuples, weights, size, int(2.0 * epsilon * total))
    if size > most:
        costs = np.empty(size, np.int64)
        for place in range(size):
            costs[place] = weights[place] + tuples.deltas[place] - 1
        share = max(shares[stream] * (1.0 - 1.0 / 64.0), 1.0 / most)
        while n_left(weights, costs, size, int(share * total)) > most:  # ends: one limit unites all but the first
            share *= 1.0 + 1.0 / 128.0
        shares[stream] = share
        size = unite(tuples, weights, size, int(share * total))
    return size


@internal
def join(streams: Quantiles, stream: int, run: Tuples, n_run: int, joined: Tuples, epsilon: float, most: int) -> bool:
    """Bring a list of exact tuples into a stream's, in place; False, and no change, where that has no room."""
    own = tuples_of(streams, stream)
    size = interleave(joined, own, streams.sizes[stream], run, n_run)
    size = shorten(joined, size, epsilon, most, streams.shares, stream)
    if size > own.values.shape[0]:
        return False
    for place in range(size):
        copy_tuple(own, place, joined, place, 0)
    streams.sizes[stream] = size
    return True


@internal
def flush(streams: Quantiles, stream: int, run: Tuples, joined: Tuples, epsilon: float, most: int) -> bool:
    """Bring the waiting values into a stream's list, in place; False where the list has no room."""
    n_waiting = streams.fills[stream]
    sort_waiting(streams.waiting[stream], streams.marks[stream], n_waiting)
    n_run = exact(run, streams.waiting[stream], streams.marks[stream], n_waiting)
    if not join(streams, stream, run, n_run, joined, epsilon, most):
        return False
    streams.fills[stream] = 0
    return True


@kernel
def add_all(
    streams: Quantiles,
    run: Tuples,
    joined: Tuples,
    values: Floats,
    marks: Whole,
    start: int,
    epsilon: float,
    most: int,
) -> int:
    """Fold values into the only stream, in place and in order; give how many went in before the list had no room.

    `run` and `joined` are room to work in. Marks that are all alike may be one.
    """
    room = streams.waiting.shape[1]
    same = marks.shape[0] == 1
    for place in range(start, values.shape[0]):
        if streams.fills[0] == room and not flush(streams, 0, run, joined, epsilon, most):
            return place
        streams.waiting[0, streams.fills[0]] = values[place]
        streams.marks[0, streams.fills[0]] = marks[0] if same else marks[place]
        streams.fills[0] += 1
    return len(values)


@kernel
def add_sorted_runs(
    streams: Quantiles, run: Tuples, joined: Tuples, runs: Floats, mark: Whole, start: int, epsilon: float, most: int
) -> int:
    """Fold rows of sorted values, each as many as may wait, into the only stream, of which none wait; as `add_all`."""
    marks = np.empty(runs.shape[1], mark.dtype)
    for place in range(runs.shape[1]):
        marks[place] = mark[0]
    for row in range(start, runs.shape[0]):
        n_run = exact(run, runs[row], marks, runs.shape[1])
        if not join(streams, 0, run, n_run, joined, epsilon, most):
            return row
    return len(runs)


@kernel
def whole_list(streams: Quantiles, run: Tuples, joined: Tuples) -> int:
    """Write the only stream's list, waiting values and all, to `joined`, in place; give its length."""
    n_waiting = streams.fills[0]
    values = streams.waiting[0].copy()
    marks = streams.marks[0].copy()
    sort_waiting(values, marks, n_waiting)
    n_run = exact(run, values, marks, n_waiting)
    return interleave(joined, tuples_of(streams, 0), streams.sizes[0], run, n_run)


@kernel
def merge_lists(into: Tuples, a: Tuples, n_a: int, b: Tuples, n_b: int, epsilon: float, most: int) -> int:
    """Write the list of two streams as one, shortened, to `into`, in place; give its length."""
    return shorten(into, interleave(into, a, n_a, b, n_b), epsilon, most, np.zeros(1), 0)
