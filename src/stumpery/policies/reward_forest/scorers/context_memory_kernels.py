"""Context memory: residuals per context and action, for repeated contexts.

A context is recognised by a 64-bit hash of its values. Each action played there has an entry of one word: 24 bits of
the hash, the action, its number of plays (at most 63), and the mean residual, reward - score, as if there had been
one more residual of 0, in steps of 2^-16 within two rewards of 0. Entries lie in buckets of eight, the latest first.
In a full bucket a new entry replaces the one with the lowest eviction score, the absolute sum of its residuals,
unless its own is lower: entries with small residuals are evicted first. Every eighth insertion into a
full bucket, the last entry ages: its plays are halved, or its mean when none are left, and it moves to the front. So
entries of contexts that are not repeated are evicted in the end. Actions from the 65,537th on have no entries.

The shrinkage factor of the mean residuals is learned online: it is the factor from 0 to 1 by which they would have
predicted the residuals after them best. It is 0 where no context is repeated, or where residuals are noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import CATEGORICAL
from stumpery.hashing_kernels import GOLDEN, splitmix64
from stumpery.jit import bitcast, internal, prefetch
from stumpery.types import Floats

Buckets = NDArray[np.uint64]

BUCKET_SIZE = 8  # entries: a cache line
# An entry from its highest bits on: 24 of the hash, never all 0; 16 of the action; 6 of plays; 18 of the mean residual.
HASH_SHIFT, ACTION_SHIFT, PLAYS_SHIFT = np.uint64(40), np.uint64(24), np.uint64(18)
MAX_MEMORY_ACTIONS, MAX_ENTRY_PLAYS, MAX_ENTRY_STEPS = 2**16, 2**6 - 1, 2**18 - 1
RESIDUAL_UNIT, RESIDUAL_ZERO = 2.0**16, 2.0**17  # steps of a residual of 1; what stands for a residual of 0
SHRINKAGE_FACTOR, SHRINKAGE_PRODUCTS, SHRINKAGE_SQUARES = range(3)  # sums of means times next residuals, means squared
N_SHRINKAGE_FIELDS = 3
SHRINKAGE_PRIOR = 1.0  # added to the squares
SHRINKAGE_DECAY = 0.9995  # of both sums, with each mean that is tested
AGING_MASK = np.uint64(7)  # bits of a key, all 0 in one of eight


class ContextMemory(NamedTuple):
    """Entries of contexts and actions in buckets, and the shrinkage of their means."""

    buckets: Buckets  # (buckets, BUCKET_SIZE); 0 where there is no entry
    shrinkage: Floats  # (N_SHRINKAGE_FIELDS,)


@internal
def context_hash(row: Floats, kinds: NDArray[np.uint8]) -> np.uint64:
    """The hash of a row's values; missing values are equal in all kinds of columns."""
    code, n_doubles = np.uint64(row.shape[0]), 0
    for column in range(row.shape[0]):
        value = np.float32(row[column])
        n_doubles += int(row[column] != value)
        if kinds[column] == CATEGORICAL and value == 0.0:
            value = np.float32(-np.inf)
        code = (code ^ np.uint64(bitcast(value + np.float32(0.0)))) * GOLDEN  # -0 is 0
        code ^= code >> np.uint64(32)
    if n_doubles > 0:
        code = hash_doubles(code, row)
    return splitmix64(code) | (np.uint64(1) << HASH_SHIFT)


@internal
def hash_doubles(code: np.uint64, row: Floats) -> np.uint64:
    """A hash continued with all bits of the values that need 64."""
    for column in range(row.shape[0]):
        value = np.float64(row[column])
        bits = bitcast(value) if np.float64(np.float32(value)) != value else np.uint64(0)
        code = (code ^ bits) * GOLDEN
        code ^= code >> np.uint64(32)
    return code


@internal
def bucket_of(memory: ContextMemory, code: np.uint64, action: int) -> int:
    """The bucket of an action in a context: eight neighbouring actions in one, the next eight in the next."""
    n_buckets = np.uint64(memory.buckets.shape[0])
    return int(np.int64((code + np.uint64(action // BUCKET_SIZE)) & (n_buckets - np.uint64(1))))


@internal
def action_of(entry: np.uint64) -> int:
    """The action of an entry."""
    return int(np.int64((entry >> ACTION_SHIFT) & np.uint64(MAX_MEMORY_ACTIONS - 1)))


@internal
def plays_of(entry: np.uint64) -> float:
    """The number of plays of an entry."""
    return float(np.int64((entry >> PLAYS_SHIFT) & np.uint64(MAX_ENTRY_PLAYS)))


@internal
def residual_of(entry: np.uint64) -> float:
    """The mean residual of an entry."""
    return (float(np.int64(entry & np.uint64(MAX_ENTRY_STEPS))) - RESIDUAL_ZERO) / RESIDUAL_UNIT


@internal
def pack_entry(code: np.uint64, action: int, plays: float, residual: float) -> np.uint64:
    """An entry as one word; of `code` only the highest bits count."""
    steps = np.uint64(min(max(np.rint(residual * RESIDUAL_UNIT) + RESIDUAL_ZERO, 0.0), float(MAX_ENTRY_STEPS)))
    plays_bits = np.uint64(min(plays, float(MAX_ENTRY_PLAYS))) << PLAYS_SHIFT
    return ((code >> HASH_SHIFT) << HASH_SHIFT) | (np.uint64(action) << ACTION_SHIFT) | plays_bits | steps


@internal
def hash_and_prefetch(memory: ContextMemory, row: Floats, kinds: NDArray[np.uint8]) -> np.uint64:
    """The hash of a context; its first bucket is prefetched."""
    code = context_hash(row, kinds)
    prefetch(memory.buckets, bucket_of(memory, code, 0))
    return code


@internal
def add_residuals(memory: ContextMemory, code: np.uint64, scores: Floats) -> None:
    """Add the shrunk mean residuals of a context to its scores, in place."""
    factor, n_actions = memory.shrinkage[SHRINKAGE_FACTOR], scores.shape[0]
    if factor == 0.0:
        return
    for first in range(0, min(n_actions, BUCKET_SIZE * memory.buckets.shape[0]), BUCKET_SIZE):
        bucket = memory.buckets[bucket_of(memory, code, first)]
        for index in range(BUCKET_SIZE):
            if bucket[index] >> HASH_SHIFT == code >> HASH_SHIFT:
                scores[action_of(bucket[index])] += factor * residual_of(bucket[index])


@internal
def eviction_score(entry: np.uint64) -> float:
    """The absolute sum of an entry's residuals: the entry with the lowest is evicted first."""
    return abs(residual_of(entry)) * (plays_of(entry) + 1.0)


@internal
def entry_to_evict(bucket: Buckets) -> int:
    """The index of the lowest eviction score in a full bucket, of several the last."""
    chosen, lowest = 0, np.inf
    for index in range(BUCKET_SIZE):
        score = eviction_score(bucket[index])
        if score <= lowest:
            chosen, lowest = index, score
    return chosen


@internal
def shift_back(bucket: Buckets, index: int) -> None:
    """Move the entries before `index` one back, in place; the first is then free."""
    for position in range(index, 0, -1):
        bucket[position] = bucket[position - 1]


@internal
def age_last_entry(bucket: Buckets) -> None:
    """Halve the plays of the last entry, or its mean when none are left, and move it to the front, in place."""
    last = bucket[BUCKET_SIZE - 1]
    shift_back(bucket, BUCKET_SIZE - 1)
    plays, residual = np.floor(plays_of(last) / 2.0), residual_of(last)
    bucket[0] = pack_entry(last, action_of(last), plays, residual if plays_of(last) > 0.0 else residual / 2.0)


@internal
def update_shrinkage(shrinkage: Floats, predicted: float, residual: float) -> None:
    """Test a mean residual against the next one, in place: the factor is a decaying regression of one on the other."""
    shrinkage[SHRINKAGE_PRODUCTS] = SHRINKAGE_DECAY * shrinkage[SHRINKAGE_PRODUCTS] + predicted * residual
    shrinkage[SHRINKAGE_SQUARES] = SHRINKAGE_DECAY * shrinkage[SHRINKAGE_SQUARES] + predicted * predicted
    factor = shrinkage[SHRINKAGE_PRODUCTS] / (shrinkage[SHRINKAGE_SQUARES] + SHRINKAGE_PRIOR)
    shrinkage[SHRINKAGE_FACTOR] = min(max(factor, 0.0), 1.0)


@internal
def learn(memory: ContextMemory, code: np.uint64, action: int, residual: float, key: np.uint64) -> None:
    """Store the residual of a context's score, in place; `key` decides whether another entry ages."""
    if action >= MAX_MEMORY_ACTIONS:
        return
    bucket = memory.buckets[bucket_of(memory, code, action)]
    wanted = pack_entry(code, action, 0.0, 0.0) >> ACTION_SHIFT
    index = 0
    while index < BUCKET_SIZE - 1 and bucket[index] >> ACTION_SHIFT != wanted:
        index += 1
    mean, plays = 0.0, 0.0
    if bucket[index] >> ACTION_SHIFT == wanted:
        mean, plays = residual_of(bucket[index]), plays_of(bucket[index])
        update_shrinkage(memory.shrinkage, mean, residual)
    elif bucket[index] != np.uint64(0):
        if key & AGING_MASK == np.uint64(0):
            age_last_entry(bucket)
        index = entry_to_evict(bucket)
        if eviction_score(bucket[index]) > abs(residual):
            return
    shift_back(bucket, index)
    bucket[0] = pack_entry(code, action, plays + 1.0, mean + (residual - mean) / (plays + 2.0))
