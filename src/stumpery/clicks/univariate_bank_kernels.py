"""A bank of univariate predictors as one set of arrays: a quantile summary and a partition for each predictor.

An event enters the buffer of each predictor's summary with its weight. A full buffer is flushed, and when the count has
grown by 1/32 the partition is refitted. A category comes as its hash, from 0 to below 1; predictors with a further
hash function rehash it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stumpery.clicks import partition_kernels as partition
from stumpery.clicks.partition_kernels import (
    SETTING_M,
    SETTING_OUTPUT,
    SETTING_PRIOR,
    Partitions,
    accumulate,
    probability,
)
from stumpery.hashing_kernels import rehash
from stumpery.jit import internal, kernel
from stumpery.summaries.quantile_streams_kernels import QuantileStreams, flush, new_quantile_streams
from stumpery.summaries.quantile_tuples_kernels import Tuples
from stumpery.types import Floats, Integers

BUFFER_SIZE = 32  # of each summary
REFIT_DIVISOR = 32  # a partition is refitted when the count has grown by 1/32
MAX_COUNT = 2**30  # beyond it counts are halved; they have 32 bits
_U = np.uint64
_UNIT = 2.0**53


class UnivariateBank(NamedTuple):
    """The arrays of many univariate predictors."""

    columns: Integers  # (predictors,)
    hashes: Integers  # (predictors,): 0 for a value as it comes, else the number of a further hash function
    kinds: Integers  # (predictors,)
    limits: Integers  # (predictors,): the maximum number of tuples of the summary
    settings: Floats  # (predictors, N_SETTINGS)
    due: Integers  # (predictors,): the count at which the partition is refitted
    missing: Integers  # (predictors, classes)
    streams: QuantileStreams
    partitions: Partitions


def new_univariate_bank(integers: Sequence[Integers], settings: Floats, n_cuts: int) -> UnivariateBank:
    """A bank of untrained predictors; `integers` are the columns, hashes, kinds and limits."""
    columns, hashes, kinds, limits = integers
    n = len(columns)
    is_log_ratio = settings[:, SETTING_OUTPUT] == partition.OUTPUT_LOG_RATIO
    return UnivariateBank(
        columns=columns,
        hashes=hashes,
        kinds=kinds,
        limits=limits,
        settings=settings,
        due=np.zeros(n, np.int64),
        missing=np.zeros((n, 2), np.int64),
        streams=new_quantile_streams(n, int(limits.max(initial=3)), 2, BUFFER_SIZE, np.int32),
        partitions=partition.new_partitions(n, n_cuts, np.where(is_log_ratio, 0.0, settings[:, SETTING_PRIOR])),
    )


@internal
def rehashed(value: float, function: int) -> float:
    """A category's hash by another hash function; with function 0 the value stays as it is."""
    if function == 0 or np.isnan(value):
        return value
    return float(rehash(_U(value * _UNIT), function) >> _U(11)) / _UNIT


@internal
def average_probability(bank: UnivariateBank, p: int, clicks: int, count: int) -> float:
    """The average probability of a click of a predictor's events, missing values included."""
    settings = bank.settings[p]
    clicks += bank.missing[p, 1]
    count += bank.missing[p, 0] + bank.missing[p, 1]
    return probability(clicks, count, settings[SETTING_PRIOR], settings[SETTING_M])


@internal
def learn_missing(bank: UnivariateBank, p: int, label: int, weight: int) -> None:
    """Count an event with a missing value, in place."""
    settings = bank.settings[p]
    bank.missing[p, label] += weight
    if settings[SETTING_OUTPUT] == partition.OUTPUT_BINARY:
        return
    clicks = bank.missing[p, 1]
    count = bank.missing[p, 0] + clicks
    prior, m = settings[SETTING_PRIOR], settings[SETTING_M]
    output = probability(clicks, count, prior, m)
    if settings[SETTING_OUTPUT] == partition.OUTPUT_LOG_RATIO:
        for index in range(bank.streams.sizes[p]):
            clicks += bank.streams.counts[p, index, 1]
            count += bank.streams.counts[p, index, 0] + bank.streams.counts[p, index, 1]
        base = probability(clicks, count, prior, m)
        missing = probability(bank.missing[p, 1], bank.missing[p, 0] + bank.missing[p, 1], base, m)
        output = partition.log_ratio(missing, base)
    bank.partitions.probabilities[p, bank.partitions.probabilities.shape[1] - 1] = output


@internal
def fit_partition(bank: UnivariateBank, p: int, clicks: Integers, counts: Integers) -> None:
    """Refit a predictor's partition, in place."""
    size = accumulate(clicks, counts, bank.streams, p)
    values = bank.streams.values[p]
    settings = bank.settings[p]
    kind = bank.kinds[p]
    if kind == partition.KIND_STUMP:
        partition.fit_stump(bank.partitions, p, values, clicks, counts, size, settings)
    elif kind == partition.KIND_TREE:
        partition.fit_tree(bank.partitions, p, values, clicks, counts, size, settings)
    else:
        partition.fit_rule(bank.partitions, p, values, clicks, counts, size, kind, settings)
    if settings[SETTING_OUTPUT] == partition.OUTPUT_LOG_RATIO:
        partition.take_log_ratios(bank.partitions, p, average_probability(bank, p, clicks[size], counts[size]))
    bank.due[p] = counts[size] + counts[size] // REFIT_DIVISOR


@internal
def halve_counts(streams: QuantileStreams, stream: int) -> None:
    """Halve the counts of a summary, in place."""
    for index in range(streams.sizes[stream]):
        streams.deltas[stream, index] = (streams.deltas[stream, index] + 1) // 2
        for label in range(streams.counts.shape[2]):
            streams.counts[stream, index, label] = (streams.counts[stream, index, label] + 1) // 2


@internal
def flush_and_fit(
    bank: UnivariateBank, p: int, run: Tuples, merged: Tuples, clicks: Integers, counts: Integers
) -> None:
    """Flush a predictor's summary and, if it is due, refit its partition, in place."""
    flush(bank.streams, p, run, merged, 0.0, bank.limits[p])
    total = 0
    for index in range(bank.streams.sizes[p]):
        total += bank.streams.counts[p, index, 0] + bank.streams.counts[p, index, 1]
    if total > MAX_COUNT:
        halve_counts(bank.streams, p)
        bank.due[p] = 0
    if total >= bank.due[p]:
        fit_partition(bank, p, clicks, counts)


@kernel
def learn(bank: UnivariateBank, run: Tuples, merged: Tuples, row: Floats, label: int, weights: Integers) -> None:
    """Learn one row in every predictor, in place, each with its own whole weight."""
    n_tuples = bank.streams.values.shape[1]
    clicks = np.empty(n_tuples + 1, np.int64)
    counts = np.empty(n_tuples + 1, np.int64)
    for p in range(bank.columns.shape[0]):
        weight = weights[p]
        if weight == 0:
            continue
        value = rehashed(row[bank.columns[p]], bank.hashes[p])
        if np.isnan(value):
            learn_missing(bank, p, label, weight)
            continue
        index = bank.streams.n_buffered[p]  # `push`, written out: a call made all of this kernel 1.5 times slower
        bank.streams.buffers[p, index] = value
        bank.streams.buffer_labels[p, index] = 2 * weight + label
        bank.streams.n_buffered[p] = index + 1
        if index + 1 == bank.streams.buffers.shape[1]:
            flush_and_fit(bank, p, run, merged, clicks, counts)


@kernel
def predict(outputs: Floats, bank: UnivariateBank, rows: Floats, start: int) -> None:
    """Write the output of every predictor for every row to the columns of `outputs` from `start` on, in place."""
    for p in range(bank.columns.shape[0]):
        for row in range(rows.shape[0]):
            value = rehashed(rows[row, bank.columns[p]], bank.hashes[p])
            outputs[row, start + p] = bank.partitions.probabilities[p, partition.interval_of(bank.partitions, p, value)]
