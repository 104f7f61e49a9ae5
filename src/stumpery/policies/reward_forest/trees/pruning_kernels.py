"""Splits that are undone: those that turn out to tell nothing, and where no node is left the one that tells least.

A twig is a node whose children are both leaves. Collapsing one frees two nodes and a leaf: just what another leaf needs
to split. So a forest that has all the memory it may have goes on learning where the events are.
"""

import numpy as np

from stumpery.array_forest import allocation_kernels as arena
from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest import nodes_kernels as nodes
from stumpery.array_forest.forest_kernels import (
    COUNTER_NODES,
    LEAF_N_EVENTS,
    LEAF_NODE,
    NO_INDEX,
    NODE_CHILD,
    NODE_LEAF,
    STAT_MEAN,
    STAT_UNCERTAINTY,
    ForestState,
    Int32s,
    Stats,
    as_int64,
)
from stumpery.array_forest.scratch_kernels import Scratch
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as stats
from stumpery.policies.reward_forest.trees.split_search_kernels import LEAST_VARIANCE, VARIANCE
from stumpery.types import Floats

LOOKED_AT = 32  # twigs of which the least makes way


@internal
def is_twig(forest: ForestState, node: int) -> bool:
    """Whether a node's children are both leaves."""
    child = forest.nodes[node, NODE_CHILD]
    if child == node:
        return False
    return bool(forest.nodes[child, NODE_CHILD] == child and forest.nodes[child + 1, NODE_CHILD] == child + 1)


@internal
def above(forest: ForestState, tree: int, row: Floats) -> int:
    """The node above the leaf that a row reaches in a tree, or NOTHING."""
    node, found = tree, NO_INDEX
    while True:
        child = as_int64(forest.nodes[node, NODE_CHILD])
        if child == node:
            return found
        node, found = child + int(nodes.goes_right(forest, node, row)), node


@internal
def beside(forest: ForestState, leaf: int, n_trees: int) -> int:
    """The leaf under the same twig, or NOTHING; two nodes of a pair are neighbours, and all pairs follow the roots."""
    place = as_int64(forest.leaves[leaf, LEAF_NODE]) - n_trees
    node = n_trees + (place ^ 1)
    if place < 0 or forest.nodes[node, NODE_CHILD] != node:
        return NO_INDEX
    return as_int64(forest.nodes[node, NODE_LEAF])


@internal
def evidence(left: Stats, right: Stats, active: Int32s, totals: Floats) -> tuple[float, float, int, float]:
    """What a split is worth by all rewards of its two leaves, their noise, how many actions tell, and all plays.

    It is the sum over actions of n1 n0 / (n1 + n0) (mean1 - mean0)^2 / (variance + 0.01). Variances are those of the
    events that were gathered; of an action that is not active there, that of rewards of 0 or 1 on each side.
    """
    gain, noise, n_telling, plays = 0.0, 0.0, 0, 0.0
    for action in range(left.shape[1]):
        n1, n0 = stats.plays_of(left[STAT_UNCERTAINTY, action]), stats.plays_of(right[STAT_UNCERTAINTY, action])
        plays += n1 + n0
        if n1 == 0.0 or n0 == 0.0:
            continue
        m1, m0 = stats.mean_of(left[STAT_MEAN, action]), stats.mean_of(right[STAT_MEAN, action])
        arm, mean, apart = active[action], (n1 * m1 + n0 * m0) / (n1 + n0), m1 - m0
        within = (n1 * m1 * (1.0 - m1) + n0 * m0 * (1.0 - m0)) / (n1 + n0)
        variance = totals[VARIANCE, arm - 1] if arm > 0 else within
        gain += n1 * n0 / (n1 + n0) * apart * apart / (variance + LEAST_VARIANCE)
        noise += mean * (1.0 - mean)
        n_telling += 1
    return gain, noise, n_telling, plays


@internal
def worth(forest: ForestState, left: int, right: int) -> float:
    """What a split into two leaves explains of the rewards of an event, times their remembered events."""
    explained, total = 0.0, 0.0
    n_events = int(forest.leaves[left, LEAF_N_EVENTS] + forest.leaves[right, LEAF_N_EVENTS])
    for action in range(forest.stats.shape[2]):
        n1 = stats.plays_of(forest.stats[left, STAT_UNCERTAINTY, action])
        n0 = stats.plays_of(forest.stats[right, STAT_UNCERTAINTY, action])
        apart = stats.mean_of(forest.stats[left, STAT_MEAN, action]) - stats.mean_of(
            forest.stats[right, STAT_MEAN, action]
        )
        total += n1 + n0
        explained += n1 * n0 / max(n1 + n0, 1.0) * apart * apart
    return explained / max(total, 1.0) * n_events


@internal
def least_twig(forest: ForestState, key: np.uint64, kept: int) -> int:
    """The twig that tells least of some, from a place drawn by `key` on, not above the leaf `kept`; or NOTHING."""
    n_nodes = int(forest.counters[COUNTER_NODES])
    node = int(np.int64(key % np.uint64(n_nodes)))
    least, found, looked_at = np.inf, NO_INDEX, 0
    for _ in range(n_nodes):
        node = node + 1 if node + 1 < n_nodes else 0
        if not is_twig(forest, node):
            continue
        child = forest.nodes[node, NODE_CHILD]
        left, right = forest.nodes[child, NODE_LEAF], forest.nodes[child + 1, NODE_LEAF]
        if left == kept or right == kept:  # noqa: PLR1714 - a set is slow here
            continue
        value = worth(forest, left, right)
        if value < least:
            least, found = value, node
        looked_at += 1
        if looked_at == LOOKED_AT:
            break
    return found


@internal
def merge_events(forest: ForestState, scratch: Scratch, leaf: int, other: int, oldest: int) -> None:
    """Let a leaf have the events of another too, in place, in the order of time and from the `oldest` on."""
    own, given = scratch.arms, scratch.places
    n_own, n_given = (
        event_lists.event_numbers(forest, leaf, oldest, own),
        event_lists.event_numbers(forest, other, oldest, given),
    )
    event_lists.free_blocks(forest, leaf)
    event_lists.free_blocks(forest, other)
    while n_own > 0 or n_given > 0:
        if n_given == 0 or (n_own > 0 and own[n_own - 1] < given[n_given - 1]):
            n_own -= 1
            event_lists.append_event(forest, leaf, as_int64(own[n_own]))
        else:
            n_given -= 1
            event_lists.append_event(forest, leaf, as_int64(given[n_given]))


@internal
def collapse(forest: ForestState, scratch: Scratch, node: int, oldest: int) -> int:
    """Turn a twig into a leaf that knows what its two leaves knew, in place; give that leaf."""
    child = as_int64(forest.nodes[node, NODE_CHILD])
    leaf, other = as_int64(forest.nodes[child, NODE_LEAF]), as_int64(forest.nodes[child + 1, NODE_LEAF])
    stats.merge(forest.stats[leaf], forest.stats[other])
    merge_events(forest, scratch, leaf, other, oldest)
    nodes.make_leaf(forest, node, leaf)
    arena.free_pair(forest, child)
    arena.free_leaf(forest, other)
    return leaf
