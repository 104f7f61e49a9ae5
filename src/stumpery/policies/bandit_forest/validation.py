"""Validation of bandit trees from files: nodes form trees, every leaf and block belongs to one node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.policies.bandit_forest.elimination_kernels import MAX_CHECK_PLAYS
from stumpery.policies.bandit_forest.state_kernels import (
    ARM_PLAYS,
    ARM_REMAINS,
    ARM_SUM,
    ARM_WEIGHT,
    LEAF_COUNTS,
    LEAF_DEPTH,
    LEAF_NEXT_CHECK,
    LEAF_SUMS,
    LEAF_WEIGHTS,
    MARK_CANDIDATE,
    MARK_ON_PATH,
    NO_INDEX,
    NODE_CHILD,
    NODE_CHOICE,
    NODE_LEAF,
    NODE_VARIABLE,
    POOL_FREE_BLOCKS,
    POOL_N_BLOCKS,
    POOL_N_FREE,
    POOL_N_LAST_LEVEL,
    POOL_N_LEAVES,
    POOL_N_NODES,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    TREE_MAX_DEPTH,
    BanditState,
)
from stumpery.saving.validation import MAX_EVENT_COUNT, MAX_MAGNITUDE, check, check_all, check_within, depths
from stumpery.types import Integers


def used_arrays(state: BanditState) -> dict[str, NDArray[Any]]:
    """Views of those parts of the arrays that are in use."""
    pool = state.pool
    n_blocks = pool[POOL_N_BLOCKS]
    return {
        "nodes": state.nodes[: pool[POOL_N_NODES]],
        "leaves": state.leaves[: pool[POOL_N_LEAVES]],
        "arms": state.arms[: pool[POOL_N_LEAVES]],
        "sums": state.sums[:n_blocks],
        "marks": state.marks[:n_blocks],
        "pool": pool[: POOL_FREE_BLOCKS + pool[POOL_N_FREE]],
    }


def validate(state: BanditState) -> None:
    """Validate saved bandit trees; a ValueError describes the inconsistency."""
    _validate_numbers(state)
    depth_of, tree_of = _validate_nodes(state)
    _validate_leaves(state, depth_of, tree_of)
    _validate_blocks(state)


def _validate_numbers(state: BanditState) -> None:
    arrays = used_arrays(state)
    nodes, arms = arrays["nodes"], arrays["arms"]
    check_within(nodes[:, NODE_LEAF], 1, len(arms) - 1, "the leaf of a node")
    check_within(nodes[:, NODE_CHOICE], SELECTING_ACTION, arms.shape[1] - 1, "the choice of a node")
    check_within(arms[:, :, ARM_PLAYS], 0, MAX_EVENT_COUNT, "an action's number of plays")
    check_within(arms[:, :, [ARM_WEIGHT, ARM_SUM]], 0, MAX_MAGNITUDE, "an action's sum")
    check(np.isin(arms[:, :, ARM_REMAINS], (0, 1)).all(), "whether an action remains is neither 0 nor 1")
    check(arms[1:, :, ARM_REMAINS].any(axis=1).all(), "no action remains in a leaf")
    check_within(arrays["leaves"][1:, LEAF_NEXT_CHECK], 0, MAX_CHECK_PLAYS, "the plays at the next check of a leaf")
    check_within(arrays["sums"], 0, float(np.finfo(np.float32).max), "a sum of rewards")
    check_within(arrays["marks"], MARK_ON_PATH, MARK_CANDIDATE, "a variable's mark")


def _validate_nodes(state: BanditState) -> tuple[Integers, Integers]:
    """Every node is in one tree; return its depth and the tree."""
    nodes, n_trees, width = used_arrays(state)["nodes"], len(state.trees), state.marks.shape[1]
    children, variables, tree_of = nodes[:, NODE_CHILD], nodes[:, NODE_VARIABLE], np.arange(len(nodes))
    ends = children == np.arange(len(nodes))
    depth_of = depths(children, ends, n_trees)
    check_all(depth_of >= 0, "node {} is in no tree")
    check((variables[ends] == width).all(), "a node without children has a variable")
    check_within(variables[~ends], 0, width - 1, "the variable of a node")
    leaves = nodes[ends, NODE_LEAF]
    check(len(np.unique(leaves)) == len(leaves), "two nodes share a leaf")
    check(len(leaves) == state.pool[POOL_N_LEAVES] - 1, "a leaf is at no node")
    for depth in range(int(depth_of.max(initial=0))):
        inner = np.flatnonzero((depth_of == depth) & ~ends)
        tree_of[children[inner]] = tree_of[children[inner] + 1] = tree_of[inner]
    check_all(depth_of <= state.trees[tree_of, TREE_MAX_DEPTH], "node {} is deeper than its tree may be")
    return depth_of, tree_of


def _validate_leaves(state: BanditState, depth_of: Integers, tree_of: Integers) -> None:
    """Leaves that select a variable own the blocks of their depth and mark the variables above; others own none."""
    nodes = used_arrays(state)["nodes"]
    ends = nodes[:, NODE_CHILD] == np.arange(len(nodes))
    others = state.leaves[nodes[ends & (nodes[:, NODE_CHOICE] != SELECTING_VARIABLE), NODE_LEAF]]
    check((others[:, LEAF_SUMS:] == NO_INDEX).all(), "a leaf that selects no variable owns a block")
    selecting = np.flatnonzero(ends & (nodes[:, NODE_CHOICE] == SELECTING_VARIABLE))
    leaves = state.leaves[nodes[selecting, NODE_LEAF]]
    check((leaves[:, LEAF_DEPTH] == depth_of[selecting] + 1).all(), "the depth of a leaf does not match its node")
    check((leaves[:, LEAF_NEXT_CHECK] >= 1).all(), "a leaf that selects a variable has no next check")
    check((leaves[:, LEAF_SUMS] != NO_INDEX).all(), "a leaf that selects a variable has no block of sums")
    is_last = leaves[:, LEAF_DEPTH] == state.trees[tree_of[selecting], TREE_MAX_DEPTH]
    for field in (LEAF_COUNTS, LEAF_WEIGHTS):
        check(((leaves[:, field] != NO_INDEX) == is_last).all(), "the blocks of a leaf do not match its depth")
    blocks = leaves[:, LEAF_SUMS : LEAF_WEIGHTS + 1]
    check_within(blocks, NO_INDEX, state.pool[POOL_N_BLOCKS] - 1, "the block of a leaf")
    check(
        np.array_equal(state.marks[leaves[:, LEAF_SUMS]] == MARK_ON_PATH, _variables_above(state, selecting)),
        "the marks of a leaf do not match the variables above it",
    )


def _variables_above(state: BanditState, below: Integers) -> NDArray[np.bool_]:
    """Which variables nodes above the given ones split on; all nodes are in trees."""
    nodes, n_trees = used_arrays(state)["nodes"], len(state.trees)
    inner = np.flatnonzero(nodes[:, NODE_CHILD] != np.arange(len(nodes)))
    parents = np.full(len(nodes), NO_INDEX)
    for side in (0, 1):
        parents[nodes[inner, NODE_CHILD] + side] = inner
    above = np.zeros((len(below), state.marks.shape[1]), np.bool_)
    rows, nodes_above = np.arange(len(below)), below
    while len(rows):
        inside = nodes_above >= n_trees  # the others are roots
        rows, nodes_above = rows[inside], parents[nodes_above[inside]]
        above[rows, nodes[nodes_above, NODE_VARIABLE]] = True
    return above


def _validate_blocks(state: BanditState) -> None:
    """Every block belongs to one leaf, or is free."""
    arrays = used_arrays(state)
    blocks = arrays["leaves"][1:, LEAF_SUMS : LEAF_WEIGHTS + 1]
    owned = np.concatenate([blocks[blocks != NO_INDEX], arrays["pool"][POOL_FREE_BLOCKS:]])
    check_within(owned, 0, state.pool[POOL_N_BLOCKS] - 1, "a block")
    check(len(np.unique(owned)) == len(owned), "a block belongs to two leaves, or is free and in use")
    check(len(owned) == state.pool[POOL_N_BLOCKS], "a block is neither free nor in use")
    n_last = (blocks[:, LEAF_COUNTS - LEAF_SUMS] != NO_INDEX).sum()
    check(
        state.pool[POOL_N_LAST_LEVEL] == n_last,
        f"{n_last} leaves are at the last depth, not {state.pool[POOL_N_LAST_LEVEL]}",
    )
