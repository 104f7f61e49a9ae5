"""Trees of the reward forest learn one event: leaf statistics, event lists, and checks of the leaves that are due.

A split must pass a threshold (`criterion_kernels.py`). The gain of a true split grows with the events: a leaf that
fails is checked again when it has as many as its best split would need. The gain of a spurious split does not:
whenever a leaf is checked, the split above it is tested again by all rewards of its two sides, and pruned if it
fails. Where the plays whose events a leaf has forgotten had other rewards than those it remembers, it is reset to
these. After a drift, leaves forget the events before it and are checked soon.
"""

import numpy as np

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest.binning_kernels import Scratch
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    COUNTER_TIME,
    GAPS_PER_BLOCK,
    LEAF_N_EVENTS,
    LEAF_NEWEST,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    ForestState,
    Int32s,
    as_int64,
    update_column_kinds,
)
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees import criterion_kernels as criterion
from stumpery.policies.reward_forest.trees import eviction_kernels as eviction
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as leaf_statistics
from stumpery.policies.reward_forest.trees.criterion_kernels import MAX_CHECK_GROWTH, next_check
from stumpery.policies.reward_forest.trees.histogram_kernels import gather_events
from stumpery.policies.reward_forest.trees.pruning_kernels import parent_of_leaf, prune, should_prune
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, write_event
from stumpery.policies.reward_forest.trees.split_search_kernels import best_split
from stumpery.policies.reward_forest.trees.splitting_kernels import allocate_children, split_leaf
from stumpery.types import Floats


@internal
def try_split(
    forest: ForestState, scratch: Scratch, leaf: int, n: int, n_active: int, oldest: int, seed: np.uint64
) -> None:
    """Split a leaf whose `n` events are gathered if the gain passes the threshold, or set its next check, in place."""
    growth = MAX_CHECK_GROWTH
    if n_active > 0 and n >= 2 * MIN_CHILD_EVENTS:
        key = splitmix64(
            splitmix64(seed + np.uint64(forest.leaves[leaf, LEAF_NODE])) + np.uint64(n)
        )  # other columns each time
        split = best_split(forest.kinds, scratch, n, n_active, key)
        noise = criterion.reward_noise(scratch.totals, n_active)
        ratio = criterion.resampling_ratio(forest.stats[leaf], n)
        growth = criterion.split_threshold(n_active, noise, split.n_tried, ratio) / max(split.gain, 1e-9)
        if growth < 1.0:
            time = forest.counters[COUNTER_TIME]
            child, other = allocate_children(forest, scratch, leaf, oldest, splitmix64(seed + np.uint64(time)))
            if child != NO_INDEX:
                split_leaf(forest, scratch, n, leaf, split, child, other)
                return
    if n < forest.leaves[leaf, LEAF_N_EVENTS] - GAPS_PER_BLOCK:
        eviction.keep_events(forest, scratch, n, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(forest.leaves[leaf, LEAF_N_EVENTS], growth)


@internal
def check_leaf(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    tree: int,
    row: Floats,
    oldest: int,
    seed: np.uint64,
) -> None:
    """Reset the leaf that a row reached in a tree, prune the split above it, or try to split it, in place."""
    leaf = as_int64(reached[tree])
    time = forest.counters[COUNTER_TIME]
    n = event_lists.fill_event_numbers(forest, leaf, oldest, scratch.event_numbers)
    n_active = gather_events(ring, scratch, n, time)
    if criterion.has_leaf_drifted(forest.stats[leaf], scratch.active, scratch.totals, n):
        eviction.reset_leaf(forest, scratch, n, leaf)
    elif should_prune(forest, scratch.active, scratch.totals, leaf, reached.shape[0]):
        prune(forest, scratch, parent_of_leaf(forest, tree, row), oldest)
    else:
        try_split(forest, scratch, leaf, n, n_active, oldest, seed)


@internal
def learn(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    row: Floats,
    action: int,
    reward: float,
    concept_start: int,
    seed: np.uint64,
    key: np.uint64,
    is_stored: bool,
) -> None:
    """Learn one event at the leaf reached in every tree, and store it if it `is_stored`, in place.

    `key` dithers the rounding. Events before `concept_start` are forgotten. Leaves are checked when all trees have
    learned: a split may evict leaves of another tree.
    """
    time = forest.counters[COUNTER_TIME]
    update_column_kinds(forest, row)
    oldest = max(time + 1 - ring.bytes.shape[0], concept_start)
    if is_stored:
        write_event(ring, time, row, action, reward)
        forest.counters[COUNTER_TIME] = time + 1
        if forest.counters[COUNTER_FREE_BLOCKS] < reached.shape[0]:
            eviction.collect_garbage(forest, oldest)
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_NEWEST] < concept_start:
            eviction.start_concept(forest, leaf)
        leaf_statistics.update(forest.stats[leaf], action, reward, leaf_statistics.dither(key, tree))
        if is_stored:
            no_block = forest.counters[COUNTER_FREE_BLOCK] == NO_INDEX
            if no_block and event_lists.is_leaf_full(forest.leaves[leaf], time):
                eviction.expire_events(forest, leaf, oldest)
            event_lists.append_event(forest, leaf, time)
    if not is_stored:
        return
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            check_leaf(forest, ring, scratch, reached, tree, row, oldest, seed)
