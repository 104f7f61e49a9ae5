"""Quantile summaries of many streams: buffered values, and tuples as in `quantile_tuples_kernels.py`.

New values wait in a small buffer. A full buffer is sorted into exact tuples, which are merged with those of the stream;
then the result is compressed.
"""

from typing import Any, NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.summaries.quantile_tuples_kernels import (
    AnyIntegers,
    Flags,
    Tuples,
    compress_to,
    copy_tuple,
    fill_exact,
    merge_tuples,
)
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

SHELL_SORT_GAPS = (1750, 701, 301, 132, 57, 23, 10, 4, 1)  # after Ciura


class QuantileStreams(NamedTuple):
    """The tuples of many streams, and the values that wait in their buffers."""

    values: Floats  # (streams, tuples)
    counts: AnyIntegers  # (streams, tuples, classes)
    deltas: AnyIntegers  # (streams, tuples)
    pure: Flags  # (streams, tuples)
    sizes: Integers  # (streams,): tuples in use
    buffers: Floats  # (streams, buffer size)
    buffer_labels: AnyIntegers  # (streams, buffer size): weight * classes + label, 16 bits
    n_buffered: Integers  # (streams,)
    gap_fractions: Floats  # (streams,): see `compress_to`


def new_quantile_streams(
    n_streams: int, n_tuples: int, n_classes: int, buffer_size: int, dtype: Any
) -> QuantileStreams:
    """Empty summaries."""
    n_bytes = np.dtype(dtype).itemsize
    reserve(n_streams * (n_tuples * (9 + (n_classes + 1) * n_bytes) + 10 * buffer_size + 24))
    return QuantileStreams(
        values=np.zeros((n_streams, n_tuples)),
        counts=np.zeros((n_streams, n_tuples, n_classes), dtype),
        deltas=np.zeros((n_streams, n_tuples), dtype),
        pure=np.zeros((n_streams, n_tuples), np.bool_),
        sizes=np.zeros(n_streams, np.int64),
        buffers=np.zeros((n_streams, buffer_size)),
        buffer_labels=np.zeros((n_streams, buffer_size), np.int16),
        n_buffered=np.zeros(n_streams, np.int64),
        gap_fractions=np.zeros(n_streams),
    )


def new_tuples(n_tuples: int, like: QuantileStreams) -> Tuples:
    """Scratch buffers for tuples."""
    shape = (n_tuples, like.counts.shape[2])
    dtype = like.counts.dtype
    return Tuples(np.zeros(n_tuples), np.zeros(shape, dtype), np.zeros(n_tuples, dtype), np.zeros(n_tuples, np.bool_))


def new_scratch_tuples(streams: QuantileStreams) -> tuple[Tuples, Tuples]:
    """Scratch buffers for the tuples of a buffer, and for these merged with a stream's."""
    buffer_size = streams.buffers.shape[1]
    return new_tuples(buffer_size, streams), new_tuples(buffer_size + streams.values.shape[1], streams)


@internal
def tuples_of(streams: QuantileStreams, stream: int) -> Tuples:
    """One stream's tuples, as views."""
    return Tuples(streams.values[stream], streams.counts[stream], streams.deltas[stream], streams.pure[stream])


@internal
def sort_buffer(values: Floats, labels: AnyIntegers, n: int) -> None:
    """Sort values and their labels by shell sort, in place; values are no NaN."""
    for step in SHELL_SORT_GAPS:
        for index in range(step, n):
            value = values[index]
            label = labels[index]
            hole = index
            while hole >= step and values[hole - step] > value:
                values[hole] = values[hole - step]
                labels[hole] = labels[hole - step]
                hole -= step
            values[hole] = value
            labels[hole] = label


@internal
def insert_tuples(
    streams: QuantileStreams, stream: int, run: Tuples, n_run: int, merged: Tuples, epsilon: float, max_tuples: int
) -> bool:
    """Merge exact tuples into a stream and compress, in place; False, and no change, if the stream is too small."""
    own = tuples_of(streams, stream)
    size = merge_tuples(merged, own, streams.sizes[stream], run, n_run)
    size = compress_to(merged, size, epsilon, max_tuples, streams.gap_fractions, stream)
    if size > own.values.shape[0]:
        return False
    for index in range(size):
        copy_tuple(own, index, merged, index, 0)
    streams.sizes[stream] = size
    return True


@internal
def push(streams: QuantileStreams, stream: int, value: float, label: int) -> bool:
    """Append a value to a buffer, in place; whether the buffer is full now."""
    index = streams.n_buffered[stream]
    streams.buffers[stream, index] = value
    streams.buffer_labels[stream, index] = label
    streams.n_buffered[stream] = index + 1
    return bool(index + 1 == streams.buffers.shape[1])


@internal
def flush(streams: QuantileStreams, stream: int, run: Tuples, merged: Tuples, epsilon: float, max_tuples: int) -> bool:
    """Insert the buffered values into a stream's tuples, in place; False where the stream is too small."""
    n_buffered = streams.n_buffered[stream]
    sort_buffer(streams.buffers[stream], streams.buffer_labels[stream], n_buffered)
    n_run = fill_exact(run, streams.buffers[stream], streams.buffer_labels[stream], n_buffered)
    if not insert_tuples(streams, stream, run, n_run, merged, epsilon, max_tuples):
        return False
    streams.n_buffered[stream] = 0
    return True


@kernel
def add_all(
    streams: QuantileStreams,
    run: Tuples,
    merged: Tuples,
    values: Floats,
    labels: AnyIntegers,
    start: int,
    epsilon: float,
    max_tuples: int,
) -> int:
    """Add values to the only stream, in place and in order; return how many were added before it was too small.

    `run` and `merged` are scratch buffers. One label may stand for all.
    """
    buffer_size = streams.buffers.shape[1]
    is_same = labels.shape[0] == 1
    for index in range(start, values.shape[0]):
        if streams.n_buffered[0] == buffer_size and not flush(streams, 0, run, merged, epsilon, max_tuples):
            return index
        push(streams, 0, values[index], labels[0] if is_same else labels[index])
    return len(values)


@kernel
def add_sorted_runs(
    streams: QuantileStreams,
    run: Tuples,
    merged: Tuples,
    runs: Floats,
    label: AnyIntegers,
    start: int,
    epsilon: float,
    max_tuples: int,
) -> int:
    """Add rows of sorted values, each as long as a buffer, to the only stream, whose buffer is empty; as `add_all`."""
    labels = np.empty(runs.shape[1], label.dtype)
    for index in range(runs.shape[1]):
        labels[index] = label[0]
    for row in range(start, runs.shape[0]):
        n_run = fill_exact(run, runs[row], labels, runs.shape[1])
        if not insert_tuples(streams, 0, run, n_run, merged, epsilon, max_tuples):
            return row
    return len(runs)


@kernel
def all_tuples(streams: QuantileStreams, run: Tuples, merged: Tuples) -> int:
    """Write the only stream's tuples, buffered values included, to `merged`, in place; return their number."""
    n_buffered = streams.n_buffered[0]
    values = streams.buffers[0].copy()
    labels = streams.buffer_labels[0].copy()
    sort_buffer(values, labels, n_buffered)
    n_run = fill_exact(run, values, labels, n_buffered)
    return merge_tuples(merged, tuples_of(streams, 0), streams.sizes[0], run, n_run)


@kernel
def merge_and_compress(into: Tuples, a: Tuples, n_a: int, b: Tuples, n_b: int, epsilon: float, max_tuples: int) -> int:
    """Write the merged and compressed tuples of two streams, in place; return their number."""
    return compress_to(into, merge_tuples(into, a, n_a, b, n_b), epsilon, max_tuples, np.zeros(1), 0)
