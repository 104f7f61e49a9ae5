"""Validation of saved forests: nodes form trees, every leaf is at one, and event lists hold known events."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK, ForestState
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


def validate_blocks(forest: ForestState, n_kept: int) -> None:
    """Refuse blocks that are not free or in exactly one leaf, and numbers of no event.

    Until more than `n_kept` events have come, all of them are stored; later, lists may hold numbers of expired ones.
    """
    time, free, n_free = (
        int(forest.counters[at]) for at in (trees.COUNTER_TIME, trees.COUNTER_FREE_BLOCK, trees.COUNTER_FREE_BLOCKS)
    )
    leaves = forest.leaves[: int(forest.counters[trees.COUNTER_LEAVES])]
    lines = leaves[leaves[:, trees.LEAF_NODE] != trees.NO_INDEX]
    before, fills = forest.blocks[:, trees.BLOCK_PREVIOUS], lines[:, trees.LEAF_N_GAPS]
    links = np.concatenate([lines[:, trees.LEAF_BLOCK], before, [free]])
    check_within(links, trees.NO_INDEX, len(before) - 1, "the index of a block")
    check_within(fills, 0, GAPS_PER_BLOCK, "the number of gaps in a leaf")
    used = np.bincount(links[links >= 0], minlength=len(before))
    check((used <= 1).all(), f"block {used.argmax()} is in two lists")
    n_actual = len(chain(free, before, trees.NO_INDEX, "the list of free blocks"))
    check(n_actual == n_free, f"{n_actual} blocks are free, not {n_free}")
    blocks = _written(forest)
    newest = np.concatenate([lines[:, trees.LEAF_NEWEST], blocks[:, trees.BLOCK_NEWEST]])
    gaps = _decoded(np.concatenate([lines[:, trees.LEAF_NEWEST + 1 :], blocks[:, trees.BLOCK_NEWEST + 1 :]]))
    noted = gaps > 0
    oldest = newest - gaps.sum(axis=1, dtype=np.int64) + noted.sum(axis=1)
    check((lines[:, trees.LEAF_N_EVENTS] >= 0).all(), "a leaf's count of events is negative")
    check_within(gaps, 0, trees.LONG_GAP, "the gap between two events")
    check((noted[:, :-1] >= noted[:, 1:]).all(), "there is a hole between the events of a leaf")
    n_noted = noted[: len(lines)].sum(axis=1)
    check((n_noted == fills)[fills > 0].all(), "the number of gaps of a leaf does not match its event list")
    check_within(newest, trees.NO_INDEX - 1, max(time, 1) - 1, "the number of an event")
    check(time >= n_kept or (oldest >= 0).all(), "a leaf has an event before the first")


def _written(forest: ForestState) -> NDArray[np.int32]:
    """The blocks without those at the end that hold nothing, so that a forest with much room is loaded soon."""
    newest = forest.blocks[:, trees.BLOCK_NEWEST]
    n_written = len(newest) - int(np.argmax(newest[::-1] != 0)) if newest.any() else 0
    rest = forest.blocks[n_written:, trees.BLOCK_NEWEST :]
    return forest.blocks if rest.any() else forest.blocks[:n_written]


def _decoded(words: NDArray[np.int32]) -> NDArray[np.uint16]:
    """The gaps in rows of words, the earliest first: the lower half of a word, then its upper half."""
    return np.ascontiguousarray(words, "<i4").view("<u2")
