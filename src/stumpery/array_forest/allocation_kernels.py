"""Nodes and leaves that are taken from the arena and given back: what is free is a chain, each naming the next."""

from stumpery.array_forest.forest_kernels import (
    CHILD,
    FREE_LEAF,
    FREE_PAIR,
    HEAD,
    N_LEAVES,
    N_NODES,
    NODE,
    NOTHING,
    Forest,
    free_blocks,
)
from stumpery.jit import part


@part
def has_pair(forest: Forest) -> bool:
    """Whether two nodes are free."""
    counters = forest.counters
    return bool(counters[FREE_PAIR] != NOTHING or counters[N_NODES] + 2 <= forest.nodes.shape[0])


@part
def take_pair(forest: Forest) -> int:
    """Two free nodes, side by side."""
    counters = forest.counters
    pair: int = counters[FREE_PAIR]
    if pair == NOTHING:
        pair = counters[N_NODES]
        counters[N_NODES] += 2
    else:
        counters[FREE_PAIR] = forest.nodes[pair, CHILD]
    return pair


@part
def take_leaf(forest: Forest) -> int:
    """A free leaf."""
    counters = forest.counters
    leaf: int = counters[FREE_LEAF]
    if leaf == NOTHING:
        leaf = counters[N_LEAVES]
        counters[N_LEAVES] += 1
    else:
        counters[FREE_LEAF] = forest.leaves[leaf, HEAD]
    return leaf


@part
def free_pair(forest: Forest, pair: int) -> None:
    """Give two nodes back, in place."""
    forest.nodes[pair, CHILD] = forest.counters[FREE_PAIR]
    forest.counters[FREE_PAIR] = pair


@part
def free_leaf(forest: Forest, leaf: int) -> None:
    """Give a leaf back, in place, with its events."""
    free_blocks(forest, leaf)
    forest.leaves[leaf, NODE] = NOTHING
    forest.leaves[leaf, HEAD] = forest.counters[FREE_LEAF]
    forest.counters[FREE_LEAF] = leaf
