"""Context memory in Python: allocation, actions that come and go, validation."""

from collections.abc import Sequence

import numpy as np

from stumpery.array_forest.forest_kernels import NO_INDEX, aligned_zeros
from stumpery.policies.reward_forest.scorers.context_memory_kernels import (
    ACTION_SHIFT,
    BUCKET_SIZE,
    HASH_SHIFT,
    MAX_MEMORY_ACTIONS,
    N_SHRINKAGE_FIELDS,
    SHRINKAGE_FACTOR,
    SHRINKAGE_SQUARES,
    Buckets,
    ContextMemory,
)
from stumpery.saving.validation import check, check_learned, check_within
from stumpery.types import Integers

BUCKET_BYTES = 8 * BUCKET_SIZE


def new_context_memory(n_buckets: int) -> ContextMemory:
    """An empty context memory."""
    return ContextMemory(aligned_zeros((n_buckets, BUCKET_SIZE), np.uint64), np.zeros(N_SHRINKAGE_FIELDS))


def memory_with_actions(memory: ContextMemory, keep: Sequence[int | None]) -> ContextMemory:
    """A context memory for other actions: those of `keep`, given by their old index, or None for a new one.

    Where more entries come to a bucket than fit, the foremost stay.
    """
    new_index = np.full(MAX_MEMORY_ACTIONS, NO_INDEX)
    for index, old in enumerate(keep[:MAX_MEMORY_ACTIONS]):
        if old is not None and old < MAX_MEMORY_ACTIONS:
            new_index[old] = index
    positions, buckets = np.nonzero(memory.buckets.T)  # the foremost of all buckets first
    entries = memory.buckets[buckets, positions]
    before = _actions(entries)
    after = new_index[before]
    buckets = (buckets + after // BUCKET_SIZE - before // BUCKET_SIZE) % len(memory.buckets)
    entries += (after - before).astype(np.uint64) << ACTION_SHIFT
    kept = np.flatnonzero(after != NO_INDEX)
    kept = kept[np.argsort(buckets[kept], kind="stable")]
    positions = np.arange(len(kept)) - np.searchsorted(buckets[kept], buckets[kept])
    kept, positions = kept[positions < BUCKET_SIZE], positions[positions < BUCKET_SIZE]
    moved = new_context_memory(len(memory.buckets))
    moved.buckets[buckets[kept], positions] = entries[kept]
    return moved._replace(shrinkage=memory.shrinkage)


def validate(memory: ContextMemory, n_actions: int) -> None:
    """Refuse an entry without a hash or of an action that does not exist, and an impossible shrinkage."""
    entries, shrinkage = memory.buckets[memory.buckets != 0], memory.shrinkage
    check(((entries >> HASH_SHIFT) % 2 == 1).all(), "an entry of the context memory has no fingerprint")
    check_within(_actions(entries), 0, n_actions - 1, "the action of an entry of the context memory")
    check_learned(shrinkage, "a sum of the context memory")
    check_within(shrinkage[[SHRINKAGE_FACTOR]], 0.0, 1.0, "the shrinkage of the context memory")
    check(shrinkage[SHRINKAGE_SQUARES] >= 0.0, "a sum of squares of the context memory is negative")


def _actions(entries: Buckets) -> Integers:
    return ((entries >> ACTION_SHIFT) % MAX_MEMORY_ACTIONS).astype(np.int64)
