"""Validation of the nodes of saved forests: they form trees, and every leaf stands at one of them."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.saving.validation import chain, check, check_all, check_within, depths


def validate_nodes(forest: ForestState, n_roots: int, is_categorical: NDArray[np.bool_]) -> None:
    """Refuse nodes and leaves that are not free or in exactly one tree."""
    n_nodes, n_leaves = (int(forest.counters[at]) for at in (trees.COUNTER_NODES, trees.COUNTER_LEAVES))
    check_within(np.array(n_nodes), n_roots, len(forest.nodes), "the number of nodes")
    check_within(np.array(n_leaves), n_roots, len(forest.leaves), "the number of leaves")
    child, column = forest.nodes[:n_nodes, trees.NODE_CHILD], forest.nodes[:n_nodes, trees.NODE_COLUMN]
    is_leaf = child == np.arange(n_nodes)
    depth = depths(child, is_leaf, n_roots)
    _validate_free_pairs(forest, child, depth)
    inner, ends = np.flatnonzero((depth >= 0) & ~is_leaf), np.flatnonzero((depth >= 0) & is_leaf)
    check_within(column[inner], -len(is_categorical), len(is_categorical) - 1, "the column of a node")
    column_index = np.where(column < 0, ~column, column)
    check(
        (is_categorical[column_index[inner]] == (column[inner] < 0)).all(),
        "a node takes a numerical column for a categorical one, or the reverse",
    )
    check((column[ends] == 0).all(), "a node without children has a column")
    leaf = forest.nodes[ends, trees.NODE_LEAF]
    check_within(leaf, 0, n_leaves - 1, "the leaf of a node")
    payload = forest.masks[2 * ends + trees.NODE_PAYLOAD]
    check((payload == trees.NAN_BITS | leaf.astype(np.uint64)).all(), "a node without children has a threshold")
    check((forest.leaves[leaf, trees.LEAF_NODE] == ends).all(), "the node of a leaf has another leaf")
    check(len(np.unique(leaf)) == len(leaf), "two nodes share a leaf")
    free = chain(
        int(forest.counters[trees.COUNTER_FREE_LEAF]),
        forest.leaves[:n_leaves, trees.LEAF_BLOCK],
        trees.NO_INDEX,
        "the list of free leaves",
    )
    check((forest.leaves[free, trees.LEAF_NODE] == trees.NO_INDEX).all(), "a free leaf is at a node")
    check(len(leaf) + len(free) == n_leaves, "a leaf is neither free nor at a node")


def _validate_free_pairs(forest: ForestState, child: NDArray[np.int32], depth: NDArray[np.int64]) -> None:
    """All nodes that are in no tree are free, in pairs."""
    pairs = chain(int(forest.counters[trees.COUNTER_FREE_PAIR]), child[:-1], trees.NO_INDEX, "the list of free nodes")
    free = np.concatenate([pairs, pairs + 1])
    check(len(np.unique(free)) == len(free), "a node is free twice")
    check((depth[free] < 0).all(), "a free node is in a tree")
    check_all((depth >= 0) | np.isin(np.arange(len(depth)), free), "node {} is neither free nor in a tree")
