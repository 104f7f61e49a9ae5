"""Frequent categories: weights of their own for thousands of categories of a column, in a table of fixed size.

A column has codes for the categories that came first (`online_encoder.py`); in trees and in the shared model all others
share the last code, OTHER_CODE. Each of these is known by a hash of 64 bits of its text and column, and the frequent
ones among them have an entry in a table of buckets of eight, a cache line of hashes. The entry's index is the code of a
further feature of the row. So the linear, fast linear and residual scorers have a weight for OTHER_CODE, the mean of
all, and one for the category, its deviation from that. The quadratic scorer has the pairs of a category that has an
entry with all other features of the row, hashed by the category itself.

Most categories are rare: a rate of 1/n would let a new weight take nearly all of the first error, be it noise. So
these weights move as if there had been CATEGORY_PRIOR events before.

An entry counts the events of its category. In a full bucket a category without an entry takes 1 from the lowest count,
and the entry whose count reaches 0 (as in Misra and Gries 1982); its weights start again at 0. In one of
64 such events, drawn by the event's key, all counts of the bucket are halved: so a category that was frequent once
gives way in the end. Which categories have an entry depends on the order of events alone, and no memory grows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import CATEGORICAL, MAX_CODES, NO_INDEX, Float32s, Int32s
from stumpery.hashing_kernels import GOLDEN, Hashes, splitmix64
from stumpery.jit import bitcast, internal, prefetch
from stumpery.policies.reward_forest.scorers.context_memory_kernels import HASH_SHIFT
from stumpery.policies.reward_forest.scorers.scorers_kernels import (
    MAX_PAIRS_PER_CODE,
    MAX_STEP_COUNT,
    SLOT_HISTORY,
    SLOT_WEIGHT,
    apply_step,
    step_size,
)
from stumpery.types import Floats

OTHER_CODE = MAX_CODES - 1
ENTRIES_PER_BUCKET = 8
BUCKET_SHIFT, PAIR_SHIFT = np.uint64(20), np.uint64(33)  # of a hash: the bits of its bucket, and of its pairs
NO_CATEGORY = np.uint64(0)  # instead of a hash; a hash is odd
CATEGORY_PRIOR = 8.0
HALVING_MASK = np.uint64(63)  # bits of a key, all 0 in one of 64


class CategoryTable(NamedTuple):
    """Categories without a code that have weights of their own; there are no buckets before the first of them."""

    hashes: Hashes  # (buckets, ENTRIES_PER_BUCKET); NO_CATEGORY where there is no entry
    counts: Floats  # (the same,), of events, halved now and then


@internal
def take_hashes(encoded: Floats, kinds: NDArray[np.uint8], values: Floats, hashes: Hashes) -> int:
    """Write an encoded row into `values`, OTHER_CODE for categories without a code, whose hashes go into `hashes`.

    In place; return their number.
    """
    n_uncoded = 0
    for column in range(encoded.shape[0]):
        value = encoded[column]
        hashes[column] = NO_CATEGORY
        if kinds[column] == CATEGORICAL and value >= MAX_CODES:
            hashes[column] = splitmix64(np.uint64(bitcast(value)) + GOLDEN * np.uint64(column + 1)) | np.uint64(1)
            value = float(OTHER_CODE)
            n_uncoded += 1
        values[column] = value
    return n_uncoded


@internal
def extended_context(context: np.uint64, hashes: Hashes) -> np.uint64:
    """The hash of a context, continued with those of its categories without a code."""
    for column in range(hashes.shape[0]):
        if hashes[column] != NO_CATEGORY:
            context = splitmix64(context ^ hashes[column]) | (np.uint64(1) << HASH_SHIFT)
    return context


@internal
def bucket_of(table: CategoryTable, category: np.uint64) -> int:
    """The bucket of a hash; their number is a power of two."""
    return int(np.int64((category >> BUCKET_SHIFT) & np.uint64(table.hashes.shape[0] - 1)))


@internal
def entry_of(table: CategoryTable, bucket: int, category: np.uint64) -> int:
    """The index of a hash in its bucket, or NO_INDEX."""
    for index in range(ENTRIES_PER_BUCKET):
        if table.hashes[bucket, index] == category:
            return index
    return NO_INDEX


@internal
def add_codes(table: CategoryTable, hashes: Hashes, codes: Int32s, pair_codes: Int32s, n: int, n_coded: int) -> int:
    """Append the codes of the categories that have an entry to the n codes of a row, in place; return their number.

    They begin at `n_coded`. `pair_codes` are the same, but a category stands for itself, not for its entry.
    """
    for index in range(n):
        pair_codes[index] = codes[index]
    if table.hashes.shape[0] == 0:
        return n
    for column in range(hashes.shape[0]):
        category = hashes[column]
        if category == NO_CATEGORY:
            continue
        bucket = bucket_of(table, category)
        entry = entry_of(table, bucket, category)
        if entry != NO_INDEX:
            codes[n] = n_coded + bucket * ENTRIES_PER_BUCKET + entry
            pair_codes[n] = np.int32(np.int64(category >> PAIR_SHIFT))
            n += 1
    return n


@internal
def add_pairs(linear: Float32s, pair_codes: Int32s, n_plain: int, n: int, slots: Int32s, n_pairs: int) -> int:
    """Append the slots of the pairs of the codes from `n_plain` on with those before, in place; return the number."""
    mask = np.uint64(linear.shape[0] - 1)
    for category in range(n_plain, n):
        base = np.uint64(pair_codes[category]) << np.uint64(32)
        for other in range(max(category + 1 - MAX_PAIRS_PER_CODE, 0), category + 1):
            key = (base + np.uint64(pair_codes[other])) * GOLDEN
            slots[n_pairs] = np.int32(np.int64((key >> np.uint64(40)) & mask))
            prefetch(linear, slots[n_pairs])
            n_pairs += 1
    return n_pairs


@internal
def averaging_step(
    linear: Float32s, slots: Int32s, n_plain: int, n: int, rates: Floats, action: int, error: float, multiplier: float
) -> None:
    """Move the weights of n slots towards the reward, in place, at rates of 1/n; `rates` is scratch.

    Those from `n_plain` on are of pairs of categories without a code and have CATEGORY_PRIOR events more.
    """
    collisions = 1.0 + (n - 1) / linear.shape[0]
    total = 0.0
    for index in range(n):
        slot = slots[index]
        count = min(linear[slot, SLOT_HISTORY, action] + np.float32(1.0), MAX_STEP_COUNT)
        linear[slot, SLOT_HISTORY, action] = count
        rates[index] = 1.0 / (np.float64(count) + (CATEGORY_PRIOR if index >= n_plain else 0.0))
        total += rates[index]
    apply_step(linear, slots, n, rates, action, step_size(error, total * collisions, multiplier))


@internal
def reset_weights(linear: Float32s, slot: int) -> None:
    """Let the weights of a slot start again, in place."""
    for action in range(linear.shape[2]):
        linear[slot, SLOT_WEIGHT, action] = np.float32(0.0)
        linear[slot, SLOT_HISTORY, action] = np.float32(CATEGORY_PRIOR)


@internal
def count_category(table: CategoryTable, category: np.uint64, key: np.uint64) -> int:
    """Count an event of a category, in place; return the index of its entry if it is a new one, else NO_INDEX."""
    bucket = bucket_of(table, category)
    entry = entry_of(table, bucket, category)
    counts = table.counts[bucket]
    if entry != NO_INDEX:
        counts[entry] += 1.0
        return NO_INDEX
    lowest = 0
    for index in range(1, ENTRIES_PER_BUCKET):
        if counts[index] < counts[lowest]:
            lowest = index
    if table.hashes[bucket, lowest] != NO_CATEGORY and key & HALVING_MASK == np.uint64(0):
        for index in range(ENTRIES_PER_BUCKET):
            counts[index] *= 0.5
    counts[lowest] -= 1.0
    if counts[lowest] > 0.0:
        return NO_INDEX
    table.hashes[bucket, lowest] = category
    counts[lowest] = 1.0
    return bucket * ENTRIES_PER_BUCKET + lowest


@internal
def learn(
    table: CategoryTable,
    hashes: Hashes,
    linear: Float32s,
    fast_linear: Float32s,
    residual: Float32s,
    n_coded: int,
    key: np.uint64,
) -> None:
    """Count the categories of an event that have no code, in place; new entries have weights of 0."""
    for column in range(hashes.shape[0]):
        if hashes[column] != NO_CATEGORY:
            entry = count_category(table, hashes[column], splitmix64(key + np.uint64(column)))
            if entry != NO_INDEX:
                reset_weights(linear, n_coded + entry)
                reset_weights(fast_linear, n_coded + entry)
                reset_weights(residual, n_coded + entry)
