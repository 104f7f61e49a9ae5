"""The memory of contexts that may come again: how it follows the actions, and is validated."""

from collections.abc import Sequence

import numpy as np

from stumpery.array_forest.forest_kernels import NO_INDEX, aligned_zeros
from stumpery.policies.reward_forest.scorers.context_memory_kernels import (
    ACTION,
    MOST_ACTIONS,
    N_TRUST,
    PRINT,
    SHARE,
    SQUARES,
    WAYS,
    ContextMemory,
)
from stumpery.types import Integers, RandomState
from stumpery.validation import check, check_learned, check_within

BUCKET_BYTES = 8 * WAYS


def new_familiar(n_buckets: int) -> ContextMemory:
    """No context known yet."""
    return ContextMemory(aligned_zeros((n_buckets, WAYS), np.uint64), np.zeros(N_TRUST))


def followed(familiar: ContextMemory, keep: Sequence[int | None]) -> ContextMemory:
    """The same contexts with other actions: those of `keep`, by their old places.

    Of those that come to one bucket the foremost stay.
    """
    places = np.full(MOST_ACTIONS, NO_INDEX)
    for place, old in enumerate(keep[:MOST_ACTIONS]):
        if old is not None and old < MOST_ACTIONS:
            places[old] = place
    ways, rows = np.nonzero(familiar.buckets.T)  # the foremost of all buckets first
    words = familiar.buckets[rows, ways]
    before = _actions(words)
    after = places[before]
    rows = (rows + after // WAYS - before // WAYS) % len(familiar.buckets)
    words += (after - before).astype(np.uint64) << ACTION
    kept = np.flatnonzero(after != NO_INDEX)
    kept = kept[np.argsort(rows[kept], kind="stable")]
    ways = np.arange(len(kept)) - np.searchsorted(rows[kept], rows[kept])
    kept, ways = kept[ways < WAYS], ways[ways < WAYS]
    moved = new_familiar(len(familiar.buckets))
    moved.buckets[rows[kept], ways] = words[kept]
    return moved._replace(trust=familiar.trust)


def validate(familiar: ContextMemory, n_actions: int) -> None:
    """A ValueError says what is inconsistent: every word is one, of an action that there is, and trust is a share."""
    words, trust = familiar.buckets[familiar.buckets != 0], familiar.trust
    check(((words >> PRINT) % 2 == 1).all(), "an entry of the context memory has no fingerprint")
    check_within(_actions(words), 0, n_actions - 1, "the action of an entry of the context memory")
    check_learned(trust, "a sum of the context memory")
    check_within(trust[[SHARE]], 0.0, 1.0, "the shrinkage of the context memory")
    check(trust[SQUARES] >= 0.0, "a sum of squares of the context memory is negative")


def _actions(words: RandomState) -> Integers:
    return ((words >> ACTION) % MOST_ACTIONS).astype(np.int64)
