"""Pruning: splits that turn out to have no gain are undone, and where no node is free, the split of the lowest score.

Only parents of two leaves are pruned. That frees two nodes and a leaf, just what another leaf needs to split: so a
forest that has reached its memory limit continues to learn where the events are.
"""

import numpy as np

from stumpery.array_forest import allocation_kernels as allocation
from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest.forest_kernels import (
    COUNTER_NODES,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    NO_INDEX,
    NODE_CHILD,
    NODE_LEAF,
    ForestState,
    Int32s,
    as_int64,
)
from stumpery.array_forest.nodes_kernels import goes_right, make_leaf
from stumpery.array_forest.scratch_kernels import Scratch
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.criterion_kernels import (
    MAX_CHECK_GROWTH,
    next_check,
    sibling_gain,
    split_eviction_score,
    split_threshold,
)
from stumpery.policies.reward_forest.trees.leaf_statistics_kernels import merge_statistics
from stumpery.types import Floats

MIN_PRUNING_PLAYS = 90.0  # on both sides of a split, before it may be pruned
MAX_EVICTION_CANDIDATES = 32  # splits of which the one with the lowest score is evicted


@internal
def is_parent_of_leaves(forest: ForestState, node: int) -> bool:
    """Whether both children of a node are leaves."""
    child = forest.nodes[node, NODE_CHILD]
    if child == node:
        return False
    return bool(forest.nodes[child, NODE_CHILD] == child and forest.nodes[child + 1, NODE_CHILD] == child + 1)


@internal
def parent_of_leaf(forest: ForestState, tree: int, row: Floats) -> int:
    """The parent of the leaf that a row reaches in a tree, or NO_INDEX."""
    node, parent = tree, NO_INDEX
    while True:
        child = as_int64(forest.nodes[node, NODE_CHILD])
        if child == node:
            return parent
        node, parent = child + int(goes_right(forest, node, row)), node


@internal
def sibling_leaf(forest: ForestState, leaf: int, n_trees: int) -> int:
    """The other leaf of the same parent, or NO_INDEX; children are neighbours, and all pairs follow the roots."""
    offset = as_int64(forest.leaves[leaf, LEAF_NODE]) - n_trees
    node = n_trees + (offset ^ 1)
    if offset < 0 or forest.nodes[node, NODE_CHILD] != node:
        return NO_INDEX
    return as_int64(forest.nodes[node, NODE_LEAF])


@internal
def should_prune(forest: ForestState, active: Int32s, totals: Floats, leaf: int, n_trees: int) -> bool:
    """Whether the split above a leaf has made two leaves with enough plays and a gain below the threshold."""
    sibling = sibling_leaf(forest, leaf, n_trees)
    if sibling == NO_INDEX:
        return False
    gain, noise, n_counted, plays = sibling_gain(forest.stats[leaf], forest.stats[sibling], active, totals)
    return plays >= MIN_PRUNING_PLAYS and n_counted > 0 and gain < split_threshold(n_counted, noise, 1, 1.0)


@internal
def split_to_evict(forest: ForestState, key: np.uint64, protected: int) -> int:
    """The parent of two leaves with the lowest eviction score of some, or NO_INDEX.

    Candidates are taken from a node drawn by `key` on; the parent of the leaf `protected` is none.
    """
    n_nodes = int(forest.counters[COUNTER_NODES])
    node = int(np.int64(key % np.uint64(n_nodes)))
    lowest, chosen, n_candidates = np.inf, NO_INDEX, 0
    for _ in range(n_nodes):
        node = node + 1 if node + 1 < n_nodes else 0
        if not is_parent_of_leaves(forest, node):
            continue
        child = forest.nodes[node, NODE_CHILD]
        left, right = forest.nodes[child, NODE_LEAF], forest.nodes[child + 1, NODE_LEAF]
        if left == protected or right == protected:  # noqa: PLR1714 - a set is slow here
            continue
        score = split_eviction_score(forest, left, right)
        if score < lowest:
            lowest, chosen = score, node
        n_candidates += 1
        if n_candidates == MAX_EVICTION_CANDIDATES:
            break
    return chosen


@internal
def merge_events(forest: ForestState, scratch: Scratch, leaf: int, other: int, oldest: int) -> None:
    """Append the events of another leaf to those of a leaf, in place, in order of time and from the `oldest` on."""
    leaf_events, sibling_events = scratch.active_numbers, scratch.bins  # as scratch
    n_leaf_events = event_lists.fill_event_numbers(forest, leaf, oldest, leaf_events)
    n_sibling_events = event_lists.fill_event_numbers(forest, other, oldest, sibling_events)
    event_lists.free_blocks(forest, leaf)
    event_lists.free_blocks(forest, other)
    while n_leaf_events > 0 or n_sibling_events > 0:
        if n_sibling_events == 0 or (
            n_leaf_events > 0 and leaf_events[n_leaf_events - 1] < sibling_events[n_sibling_events - 1]
        ):
            n_leaf_events -= 1
            event_lists.append_event(forest, leaf, as_int64(leaf_events[n_leaf_events]))
        else:
            n_sibling_events -= 1
            event_lists.append_event(forest, leaf, as_int64(sibling_events[n_sibling_events]))


@internal
def prune(forest: ForestState, scratch: Scratch, node: int, oldest: int) -> None:
    """Turn a parent of two leaves into a leaf with the statistics and events of both, in place."""
    child = as_int64(forest.nodes[node, NODE_CHILD])
    leaf, other = as_int64(forest.nodes[child, NODE_LEAF]), as_int64(forest.nodes[child + 1, NODE_LEAF])
    merge_statistics(forest.stats[leaf], forest.stats[other])
    merge_events(forest, scratch, leaf, other, oldest)
    make_leaf(forest, node, leaf)
    allocation.free_pair(forest, child)
    allocation.free_leaf(forest, other)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(forest.leaves[leaf, LEAF_N_EVENTS], MAX_CHECK_GROWTH)
