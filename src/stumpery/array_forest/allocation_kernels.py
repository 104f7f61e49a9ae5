"""Allocation of nodes and leaves: free ones form linked lists."""

from stumpery.array_forest.event_lists_kernels import free_blocks
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_LEAF,
    COUNTER_FREE_PAIR,
    COUNTER_LEAVES,
    COUNTER_NODES,
    LEAF_BLOCK,
    LEAF_NODE,
    NO_INDEX,
    NODE_CHILD,
    ForestState,
)
from stumpery.jit import internal


@internal
def has_pair(forest: ForestState) -> bool:
    """Whether two nodes are free."""
    counters = forest.counters
    return bool(counters[COUNTER_FREE_PAIR] != NO_INDEX or counters[COUNTER_NODES] + 2 <= forest.nodes.shape[0])


@internal
def take_pair(forest: ForestState) -> int:
    """Allocate two neighbouring nodes, in place."""
    counters = forest.counters
    pair: int = counters[COUNTER_FREE_PAIR]
    if pair == NO_INDEX:
        pair = counters[COUNTER_NODES]
        counters[COUNTER_NODES] += 2
    else:
        counters[COUNTER_FREE_PAIR] = forest.nodes[pair, NODE_CHILD]
    return pair


@internal
def take_leaf(forest: ForestState) -> int:
    """Allocate a leaf, in place."""
    counters = forest.counters
    leaf: int = counters[COUNTER_FREE_LEAF]
    if leaf == NO_INDEX:
        leaf = counters[COUNTER_LEAVES]
        counters[COUNTER_LEAVES] += 1
    else:
        counters[COUNTER_FREE_LEAF] = forest.leaves[leaf, LEAF_BLOCK]
    return leaf


@internal
def free_pair(forest: ForestState, pair: int) -> None:
    """Free two neighbouring nodes, in place."""
    forest.nodes[pair, NODE_CHILD] = forest.counters[COUNTER_FREE_PAIR]
    forest.counters[COUNTER_FREE_PAIR] = pair


@internal
def free_leaf(forest: ForestState, leaf: int) -> None:
    """Free a leaf and its event list, in place."""
    free_blocks(forest, leaf)
    forest.leaves[leaf, LEAF_NODE] = NO_INDEX
    forest.leaves[leaf, LEAF_BLOCK] = forest.counters[COUNTER_FREE_LEAF]
    forest.counters[COUNTER_FREE_LEAF] = leaf
