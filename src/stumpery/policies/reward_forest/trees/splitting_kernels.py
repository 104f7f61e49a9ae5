"""Splitting: a leaf becomes a node with two leaves, which share its events and start from its statistics."""

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import Scratch
from stumpery.array_forest.event_lists_kernels import append_event, free_blocks
from stumpery.array_forest.forest_kernels import (
    INITIAL_CHECK,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    N_STATS,
    NO_INDEX,
    ForestState,
    as_int64,
    make_split,
)
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.criterion_kernels import MIN_CHECK_GROWTH, next_check
from stumpery.policies.reward_forest.trees.histogram_kernels import sum_sides
from stumpery.policies.reward_forest.trees.leaf_statistics_kernels import set_statistics
from stumpery.policies.reward_forest.trees.pruning_kernels import prune, split_to_evict
from stumpery.policies.reward_forest.trees.split_search_kernels import RewardSplit


@internal
def allocate_children(forest: ForestState, scratch: Scratch, leaf: int, oldest: int, key: np.uint64) -> tuple[int, int]:
    """Two nodes and one more leaf for the children of a leaf, in place; NO_INDEX where there are none.

    Where no node is free, another split is evicted.
    """
    if not forests.has_pair(forest):
        parent = split_to_evict(forest, key, leaf)
        if parent == NO_INDEX:
            return NO_INDEX, NO_INDEX
        prune(forest, scratch, parent, oldest)
    return forests.take_pair(forest), forests.take_leaf(forest)


@internal
def split_leaf(
    forest: ForestState, scratch: Scratch, n: int, leaf: int, split: RewardSplit, child: int, other: int
) -> None:
    """Turn a leaf into a node with two leaves, in place, itself to the left and `other` to the right."""
    node = as_int64(forest.leaves[leaf, LEAF_NODE])
    for row in range(N_STATS):
        for action in range(forest.stats.shape[2]):
            forest.stats[other, row, action] = forest.stats[leaf, row, action]
    free_blocks(forest, leaf)
    make_split(forest, leaf, other, child, split.column, split.threshold, split.mask)
    sum_sides(forest, scratch, n, node)
    for index in range(n - 1, -1, -1):  # oldest first
        side = leaf if scratch.bins[index] == 0 else other
        append_event(forest, side, as_int64(scratch.event_numbers[index]))
    for right in range(2):
        side = leaf if right == 0 else other
        set_statistics(forest.stats[side], scratch.totals[2 * right], scratch.totals[2 * right + 1])
        due = next_check(forest.leaves[side, LEAF_N_EVENTS], MIN_CHECK_GROWTH)
        forest.leaves[side, LEAF_NEXT_CHECK] = max(INITIAL_CHECK, due)
