"""Validation of bandit trees from files: nodes form trees, leaves and blocks belong to one node each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.policies.bandit_forest.arena_kernels import (
    CHILD,
    CHOICE,
    COUNTS,
    DEPTH,
    IN,
    LEAF,
    MAX_DEPTH,
    N_BLOCKS,
    N_FREE,
    N_LAST,
    N_LEAVES,
    N_NODES,
    NEXT,
    NOTHING,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    STACK,
    SUM,
    SUMS,
    USED,
    VARIABLE,
    WEIGHT,
    WEIGHTS,
    Forest,
)
from stumpery.policies.bandit_forest.elimination_kernels import LAST_CHECK
from stumpery.types import Integers
from stumpery.validation import MAX_EVENT_COUNT, MAX_MAGNITUDE, check, check_all, check_within, depths


def used(forest: Forest) -> dict[str, NDArray[Any]]:
    """Live views of the parts that are in use."""
    pool = forest.pool
    n_blocks = pool[N_BLOCKS]
    return {
        "nodes": forest.nodes[: pool[N_NODES]],
        "leaves": forest.leaves[: pool[N_LEAVES]],
        "arms": forest.arms[: pool[N_LEAVES]],
        "sums": forest.sums[:n_blocks],
        "marks": forest.marks[:n_blocks],
        "pool": pool[: STACK + pool[N_FREE]],
    }


def validate(forest: Forest) -> None:
    """A ValueError says what is inconsistent in trees that were read from a file."""
    _validate_numbers(forest)
    found, tree_of = _validate_nodes(forest)
    _validate_leaves(forest, found, tree_of)
    _validate_blocks(forest)


def _validate_numbers(forest: Forest) -> None:
    parts = used(forest)
    nodes, arms = parts["nodes"], parts["arms"]
    check_within(nodes[:, LEAF], 1, len(arms) - 1, "the leaf of a node")
    check_within(nodes[:, CHOICE], SELECTING_ACTION, arms.shape[1] - 1, "the choice of a node")
    check_within(arms[:, :, PLAYS], 0, MAX_EVENT_COUNT, "an action's number of plays")
    check_within(arms[:, :, [WEIGHT, SUM]], 0, MAX_MAGNITUDE, "an action's sum")
    check(np.isin(arms[:, :, REMAINS], (0, 1)).all(), "an action neither remains nor is dropped")
    check(arms[1:, :, REMAINS].any(axis=1).all(), "no action remains in a leaf")
    check_within(parts["leaves"][1:, NEXT], 0, LAST_CHECK, "the plays of a leaf's next check")
    check_within(parts["sums"], 0, float(np.finfo(np.float32).max), "a sum of rewards")
    check_within(parts["marks"], USED, IN, "a variable's mark")


def _validate_nodes(forest: Forest) -> tuple[Integers, Integers]:
    """Every node is in one tree; give how deep it is there, and in which."""
    nodes, n_trees, width = used(forest)["nodes"], len(forest.trees), forest.marks.shape[1]
    children, variables, tree_of = nodes[:, CHILD], nodes[:, VARIABLE], np.arange(len(nodes))
    ends = children == np.arange(len(nodes))
    found = depths(children, ends, n_trees)
    check_all(found >= 0, "node {} is in no tree")
    check((variables[ends] == width).all(), "a node without children asks for a variable")
    check_within(variables[~ends], 0, width - 1, "the variable of a node")
    leaves = nodes[ends, LEAF]
    check(len(np.unique(leaves)) == len(leaves), "two nodes share a leaf")
    check(len(leaves) == forest.pool[N_LEAVES] - 1, "a leaf is at no node")
    for depth in range(int(found.max(initial=0))):
        inner = np.flatnonzero((found == depth) & ~ends)
        tree_of[children[inner]] = tree_of[children[inner] + 1] = tree_of[inner]
    check_all(found <= forest.trees[tree_of, MAX_DEPTH], "node {} is deeper than its tree may be")
    return found, tree_of


def _validate_leaves(forest: Forest, found: Integers, tree_of: Integers) -> None:
    """Nodes that select a variable own the blocks that they need, and know their path; others own none."""
    nodes = used(forest)["nodes"]
    ends = nodes[:, CHILD] == np.arange(len(nodes))
    others = forest.leaves[nodes[ends & (nodes[:, CHOICE] != SELECTING_VARIABLE), LEAF]]
    check((others[:, SUMS:] == NOTHING).all(), "a leaf that selects no variable owns blocks")
    selecting = np.flatnonzero(ends & (nodes[:, CHOICE] == SELECTING_VARIABLE))
    leaves = forest.leaves[nodes[selecting, LEAF]]
    check((leaves[:, DEPTH] == found[selecting] + 1).all(), "a leaf has another depth than its node")
    check((leaves[:, NEXT] >= 1).all(), "a leaf that selects a variable waits for no plays")
    check((leaves[:, SUMS] != NOTHING).all(), "a leaf that selects a variable has no sums")
    is_last = leaves[:, DEPTH] == forest.trees[tree_of[selecting], MAX_DEPTH]
    for field in (COUNTS, WEIGHTS):
        check(((leaves[:, field] != NOTHING) == is_last).all(), "a leaf has other blocks than one of its depth")
    blocks = leaves[:, SUMS : WEIGHTS + 1]
    check_within(blocks, NOTHING, forest.pool[N_BLOCKS] - 1, "the block of a leaf")
    check(
        np.array_equal(forest.marks[leaves[:, SUMS]] == USED, _asked(forest, selecting)),
        "the marks of a leaf do not name the variables above it",
    )


def _asked(forest: Forest, below: Integers) -> NDArray[np.bool_]:
    """Which variables are asked above some nodes; all nodes are known to be in trees."""
    nodes, n_trees = used(forest)["nodes"], len(forest.trees)
    inner = np.flatnonzero(nodes[:, CHILD] != np.arange(len(nodes)))
    parents = np.full(len(nodes), NOTHING)
    for side in (0, 1):
        parents[nodes[inner, CHILD] + side] = inner
    asked = np.zeros((len(below), forest.marks.shape[1]), np.bool_)
    rows, here = np.arange(len(below)), below
    while len(rows):
        rows, here = rows[here >= n_trees], parents[here[here >= n_trees]]
        asked[rows, nodes[here, VARIABLE]] = True
    return asked


def _validate_blocks(forest: Forest) -> None:
    """Every block belongs to one leaf, or is free."""
    parts = used(forest)
    blocks = parts["leaves"][1:, SUMS : WEIGHTS + 1]
    owned = np.concatenate([blocks[blocks != NOTHING], parts["pool"][STACK:]])
    check_within(owned, 0, forest.pool[N_BLOCKS] - 1, "a block")
    check(len(np.unique(owned)) == len(owned), "a block belongs to two leaves, or is free and in use")
    check(len(owned) == forest.pool[N_BLOCKS], "a block is neither free nor in use")
    n_last = (blocks[:, COUNTS - SUMS] != NOTHING).sum()
    check(forest.pool[N_LAST] == n_last, f"{n_last} leaves are at the last depth, not {forest.pool[N_LAST]}")
