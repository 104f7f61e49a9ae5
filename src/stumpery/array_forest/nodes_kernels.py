"""Nodes of an array forest: leaves, splits, and how rows descend.

A node is sixteen bytes: the index of its left child (the right one follows), its column, and a threshold or a set of
codes. A leaf is its own left child, so that all trees descend level by level without a branch. Missing numbers are -inf
and missing categories have code 0, so that a split can separate them.
"""

import numpy as np

from stumpery.array_forest.event_lists_kernels import free_blocks
from stumpery.array_forest.forest_kernels import (
    BINARY,
    INITIAL_CHECK,
    LEAF_BLOCK,
    LEAF_N_EVENTS,
    LEAF_N_GAPS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    NAN_BITS,
    NO_INDEX,
    NODE_CHILD,
    NODE_COLUMN,
    NODE_LEAF,
    NODE_PAYLOAD,
    NUMERICAL,
    ForestState,
    Int32s,
)
from stumpery.jit import internal, prefetch, prefetch_byte
from stumpery.types import Floats


@internal
def make_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf, in place; events and statistics of the leaf stay."""
    forest.nodes[node, NODE_CHILD] = node
    forest.nodes[node, NODE_COLUMN] = 0
    forest.masks[2 * node + NODE_PAYLOAD] = NAN_BITS | np.uint64(leaf)
    forest.leaves[leaf, LEAF_NODE] = node


@internal
def make_empty_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf without events, in place; statistics of the leaf stay."""
    make_leaf(forest, node, leaf)
    forest.leaves[leaf, LEAF_N_EVENTS] = 0
    forest.leaves[leaf, LEAF_NEXT_CHECK] = INITIAL_CHECK
    forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    forest.leaves[leaf, LEAF_N_GAPS] = 0


@internal
def make_split(
    forest: ForestState, leaf: int, other: int, child: int, column: int, threshold: float, mask: np.uint64
) -> None:
    """Turn a leaf's node into a split with two leaves without events, this one and the other, in place."""
    node = forest.leaves[leaf, LEAF_NODE]
    free_blocks(forest, leaf)
    make_empty_leaf(forest, child, leaf)
    make_empty_leaf(forest, child + 1, other)
    forest.nodes[node, NODE_CHILD] = child
    forest.nodes[node, NODE_COLUMN] = column
    if column >= 0:
        forest.thresholds[2 * node + NODE_PAYLOAD] = threshold
    else:
        forest.masks[2 * node + NODE_PAYLOAD] = mask


@internal
def column_of(forest: ForestState, node: int) -> np.uint32:
    """The column of a split."""
    column = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_COLUMN)]
    return np.uint32(column ^ (column >> np.int32(31)))


@internal
def value_goes_right(forest: ForestState, node: int, value: float) -> np.int32:
    """1 if a value belongs to the right child of a node, else 0; both kinds of splits are evaluated: no branch."""
    index = np.uint32(node)
    column = forest.words[np.uint32(4) * index + np.uint32(NODE_COLUMN)]
    payload = np.uint32(2) * index + np.uint32(NODE_PAYLOAD)
    above = np.int32(value > forest.thresholds[payload])
    code = np.uint64(np.int32(np.float32(value)) & np.int32(63))
    outside = np.int32(1) - np.int32((forest.masks[payload] >> code) & np.uint64(1))
    return above if column >= 0 else outside


@internal
def goes_right(forest: ForestState, node: int, row: Floats) -> np.int32:
    """1 if a row belongs to the right child of a node, else 0."""
    return value_goes_right(forest, node, row[column_of(forest, node)])


@internal
def descend(forest: ForestState, row: Floats, reached: Int32s, moving: Int32s) -> None:
    """Write the leaf that a row reaches in every tree into `reached`, in place; all trees descend together.

    `moving` is scratch: the trees that have not reached a leaf yet.
    """
    n_moving = reached.shape[0]
    for tree in range(n_moving):
        reached[tree] = tree
        moving[tree] = tree
    while n_moving > 0:
        still = 0
        for index in range(n_moving):
            tree = moving[index]
            node = reached[tree]
            child = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_CHILD)] + goes_right(forest, node, row)
            prefetch_byte(forest.words, 16 * child)
            reached[tree] = child
            moving[still] = tree
            still += child != node
        n_moving = still
    for tree in range(reached.shape[0]):
        leaf = forest.nodes[reached[tree], NODE_LEAF]
        prefetch(forest.stats, leaf)
        prefetch(forest.leaves, leaf)
        reached[tree] = leaf


@internal
def update_column_kinds(forest: ForestState, row: Floats) -> None:
    """Make binary columns numerical where a row has another value than 0 and 1, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        if forest.kinds[column] == BINARY and value != 0.0 and value != 1.0:  # noqa: PLR1714 - a set is slow here
            forest.kinds[column] = NUMERICAL
