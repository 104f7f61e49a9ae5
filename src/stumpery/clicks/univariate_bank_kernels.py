"""Many predictors of one column each, as one set of arrays: a quantile summary and the intervals read off it.

An event goes to the waiting values of each predictor's summary, as often as its weight says. When a summary's buffer is
full it is flushed, and when the summary has grown by a share the intervals are read off anew. A name comes as its hash,
from 0 to below 1; a predictor of a further hash function mixes it once more.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stumpery.clicks import partition_kernels as partition
from stumpery.clicks.partition_kernels import Partitions
from stumpery.hashing_kernels import rehash
from stumpery.jit import internal, kernel
from stumpery.summaries.quantiles_kernels import Quantiles, Tuples, flush, new_quantiles
from stumpery.types import Floats, Integers

ROOM = 32  # values that wait in each summary
GROWTH = 32  # intervals are read off anew when the count has grown by 1/32
MOST_COUNTED = 2**30
_U = np.uint64
_UNIT = 2.0**53


class Univariate(NamedTuple):
    """What P predictors are made of."""

    columns: Integers  # (predictors,)
    hashes: Integers  # (predictors,): 0 for a value as it comes, else which further hash function
    kinds: Integers  # (predictors,)
    limits: Integers  # (predictors,): the most tuples of the summary
    settings: Floats  # (predictors, N_SETTINGS)
    due: Integers  # (predictors,): the count at which the intervals are read off anew
    missing: Integers  # (predictors, classes)
    streams: Quantiles
    partitions: Partitions


def new_univariate(whole: Sequence[Integers], settings: Floats, n_cuts: int) -> Univariate:
    """Predictors that have seen nothing; `whole` are the columns, hashes, kinds and limits."""
    columns, hashes, kinds, limits = whole
    n = len(columns)
    is_lift = settings[:, partition.OUTPUT] == partition.LIFT
    return Univariate(
        columns=columns,
        hashes=hashes,
        kinds=kinds,
        limits=limits,
        settings=settings,
        due=np.zeros(n, np.int64),
        missing=np.zeros((n, 2), np.int64),
        streams=new_quantiles(n, int(limits.max(initial=3)), 2, ROOM, np.int32),
        partitions=partition.new_partitions(n, n_cuts, np.where(is_lift, 0.0, settings[:, partition.PRIOR])),
    )


@internal
def hashed(value: float, function: int) -> float:
    """A name's hash by another function; a number, and the first hash, stay as they are."""
    if function == 0 or np.isnan(value):
        return value
    return float(rehash(_U(value * _UNIT), function) >> _U(11)) / _UNIT


@internal
def average(bank: Univariate, p: int, clicks: int, count: int) -> float:
    """A predictor's probability of a click over all that it has seen, missing values included."""
    settings = bank.settings[p]
    clicks += bank.missing[p, 1]
    count += bank.missing[p, 0] + bank.missing[p, 1]
    return partition.probability(clicks, count, settings[partition.PRIOR], settings[partition.SHRINKAGE])


@internal
def learn_missing(bank: Univariate, p: int, label: int, weight: int) -> None:
    """Count a missing value, in place."""
    settings = bank.settings[p]
    bank.missing[p, label] += weight
    if settings[partition.OUTPUT] == partition.BINARY:
        return
    clicks = bank.missing[p, 1]
    count = bank.missing[p, 0] + clicks
    prior, m = settings[partition.PRIOR], settings[partition.SHRINKAGE]
    output = partition.probability(clicks, count, prior, m)
    if settings[partition.OUTPUT] == partition.LIFT:
        for place in range(bank.streams.sizes[p]):
            clicks += bank.streams.counts[p, place, 1]
            count += bank.streams.counts[p, place, 0] + bank.streams.counts[p, place, 1]
        base = partition.probability(clicks, count, prior, m)
        missing = partition.probability(bank.missing[p, 1], bank.missing[p, 0] + bank.missing[p, 1], base, m)
        output = partition.lifted(missing, base)
    bank.partitions.probabilities[p, bank.partitions.probabilities.shape[1] - 1] = output


@internal
def read_off(bank: Univariate, p: int, clicks: Integers, counts: Integers) -> None:
    """Cut a predictor's intervals anew, in place."""
    size = partition.accumulate(clicks, counts, bank.streams, p)
    values = bank.streams.values[p]
    settings = bank.settings[p]
    kind = bank.kinds[p]
    if kind == partition.STUMP:
        partition.cut_once(bank.partitions, p, values, clicks, counts, size, settings)
    elif kind == partition.TREE:
        partition.unfold(bank.partitions, p, values, clicks, counts, size, settings)
    else:
        partition.cut_out(bank.partitions, p, values, clicks, counts, size, kind, settings)
    if settings[partition.OUTPUT] == partition.LIFT:
        partition.lift(bank.partitions, p, average(bank, p, clicks[size], counts[size]))
    bank.due[p] = counts[size] + counts[size] // GROWTH


@internal
def halve(streams: Quantiles, stream: int) -> None:
    """Let old values count half, in place, long before 32 bits are too few to count them."""
    for place in range(streams.sizes[stream]):
        streams.deltas[stream, place] = (streams.deltas[stream, place] + 1) // 2
        for label in range(streams.counts.shape[2]):
            streams.counts[stream, place, label] = (streams.counts[stream, place, label] + 1) // 2


@internal
def grow(bank: Univariate, p: int, run: Tuples, joined: Tuples, clicks: Integers, counts: Integers) -> None:
    """Flush a predictor's summary and, if it is due, cut its intervals anew, in place."""
    flush(bank.streams, p, run, joined, 0.0, bank.limits[p])
    total = 0
    for place in range(bank.streams.sizes[p]):
        total += bank.streams.counts[p, place, 0] + bank.streams.counts[p, place, 1]
    if total > MOST_COUNTED:
        halve(bank.streams, p)
        bank.due[p] = 0
    if total >= bank.due[p]:
        read_off(bank, p, clicks, counts)


@kernel
def learn(bank: Univariate, run: Tuples, joined: Tuples, row: Floats, label: int, weights: Integers) -> None:
    """Fold one row into every predictor, in place, each with its own whole weight."""
    n_tuples = bank.streams.values.shape[1]
    clicks = np.empty(n_tuples + 1, np.int64)
    counts = np.empty(n_tuples + 1, np.int64)
    for p in range(bank.columns.shape[0]):
        weight = weights[p]
        if weight == 0:
            continue
        value = hashed(row[bank.columns[p]], bank.hashes[p])
        if np.isnan(value):
            learn_missing(bank, p, label, weight)
            continue
        fill = bank.streams.fills[p]
        bank.streams.waiting[p, fill] = value
        bank.streams.marks[p, fill] = 2 * weight + label
        bank.streams.fills[p] = fill + 1
        if fill + 1 == bank.streams.waiting.shape[1]:
            grow(bank, p, run, joined, clicks, counts)


@kernel
def predict(outputs: Floats, bank: Univariate, rows: Floats, start: int) -> None:
    """Write every predictor's probability of a click for every row to the outputs from column `start` on, in place."""
    for p in range(bank.columns.shape[0]):
        for row in range(rows.shape[0]):
            value = hashed(rows[row, bank.columns[p]], bank.hashes[p])
            outputs[row, start + p] = bank.partitions.probabilities[p, partition.interval(bank.partitions, p, value)]
