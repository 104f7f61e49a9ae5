"""Frequent categories in Python: allocation within `max_bytes`, and validation."""

import numpy as np

from stumpery.array_forest.forest_kernels import aligned_zeros
from stumpery.policies.reward_forest.scorers.frequent_categories_kernels import (
    BUCKET_SHIFT,
    ENTRIES_PER_BUCKET,
    NO_CATEGORY,
    CategoryTable,
)
from stumpery.saving.validation import check, check_learned

MAX_CATEGORY_ENTRIES = 2**15  # of all columns together
MAX_CATEGORY_SHARE = 1 / 16  # of all memory
MAX_FILL = 0.99  # of all memory, beside what is small


def new_category_table(n_entries: int) -> CategoryTable:
    """A table without categories."""
    shape = (n_entries // ENTRIES_PER_BUCKET, ENTRIES_PER_BUCKET)
    return CategoryTable(aligned_zeros(shape, np.uint64), np.zeros(shape))


def entry_bytes_of(n_actions: int) -> int:
    """The bytes of an entry, with its weights in the linear, fast linear and residual scorers."""
    return 8 + 8 + 3 * 2 * 4 * n_actions


def n_entries_within(max_bytes: int, n_bytes: int, n_actions: int) -> int:
    """The number of entries of a forest that has `n_bytes` already: a power of two, at least a bucket."""
    n_entries, left = MAX_CATEGORY_ENTRIES, min(MAX_CATEGORY_SHARE * max_bytes, MAX_FILL * max_bytes - n_bytes)
    while n_entries > ENTRIES_PER_BUCKET and n_entries * entry_bytes_of(n_actions) > left:
        n_entries //= 2
    return n_entries


def validate(table: CategoryTable) -> None:
    """Refuse impossible hashes and counts, a category in a wrong bucket, and one that has two entries."""
    hashes, counts = table.hashes, table.counts
    is_used = hashes != NO_CATEGORY
    check((hashes[is_used] % 2 == 1).all(), "a hash of the frequent categories is even")
    check_learned(counts, "a count of the frequent categories")
    check((counts[is_used] > 0.0).all() and not counts[~is_used].any(), "a count of the frequent categories is wrong")
    buckets = (hashes >> BUCKET_SHIFT) & np.uint64(max(len(hashes) - 1, 0))
    in_place = buckets == np.arange(len(hashes), dtype=np.uint64)[:, None]
    check(in_place[is_used].all(), "a frequent category is in a wrong bucket")
    check(len(np.unique(hashes[is_used])) == is_used.sum(), "a frequent category has two entries")
