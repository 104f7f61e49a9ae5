"""Capacity of bandit trees: how many leaves and blocks `max_bytes` allows, and copies with other actions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest import state_kernels as layout
from stumpery.policies.bandit_forest.state_kernels import (
    ARM_PLAYS,
    ARM_REMAINS,
    ARM_SUM,
    ELIMINATION_LEAF,
    LEAF_COUNTS,
    LEAF_SUMS,
    NO_INDEX,
    NODE_CHOICE,
    NODE_LEAF,
    OPTION_LEAF_KIND,
    POOL_FREE_BLOCKS,
    POOL_N_BLOCKS,
    POOL_N_LAST_LEVEL,
    POOL_N_LEAVES,
    POOL_N_NODES,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    BanditState,
)
from stumpery.policies.bandit_forest.validation import used_arrays, validate
from stumpery.saving.validation import check
from stumpery.system.allocation import reserve
from stumpery.types import Floats

SAVED_ARRAYS = ("nodes", "leaves", "arms", "sums", "marks", "pool", "capacity")
LEAF_MEMORY_SHARE = 0.25  # of max_bytes that leaves may take where blocks can use the rest
MAX_COUNTED_DEPTH = 40  # 2^depth leaves are more than memory ever holds


class CapacityPlan(NamedTuple):
    """The capacity of an state: leaves, with twice as many nodes, and blocks."""

    n_leaves: int
    n_blocks: int


def leaf_bytes(n_actions: int) -> int:
    """The memory of a leaf and its two nodes."""
    nodes = 2 * layout.N_NODE_FIELDS * 4
    return nodes + layout.N_LEAF_FIELDS * 4 + n_actions * layout.N_ARM_FIELDS * 8


def block_bytes(n_actions: int, width: int) -> int:
    """The memory of a block, its marks and its entry in the pool."""
    return 4 * n_actions * width + width + 4


def plan_capacity(max_bytes: int, n_actions: int, width: int, depths: list[int], n_used: int = 0) -> CapacityPlan:
    """The maximum leaves and blocks that trees of these depths can use within `max_bytes`; at least `n_used` leaves."""
    leaf, block = leaf_bytes(n_actions), block_bytes(n_actions, width)
    n_trees = len(depths)
    min_leaves = max(n_trees + 1, n_used)
    min_blocks = sum(layout.N_LAST_LEVEL_BLOCKS if depth == 1 else 1 for depth in depths)
    fixed = 8 * (n_trees * layout.N_TREE_FIELDS + layout.N_OPTIONS + POOL_FREE_BLOCKS + 16)
    needed = fixed + min_leaves * leaf + min_blocks * block
    if max_bytes < needed:
        trees = "one tree" if n_trees == 1 else f"{n_trees} trees"
        raise InvalidInput(
            f"max_bytes is {max_bytes}; {trees} over {width} bits and {n_actions} actions need at least {needed}"
        )
    max_leaves = sum(2 ** min(depth, MAX_COUNTED_DEPTH) for depth in depths)
    max_blocks = layout.N_LAST_LEVEL_BLOCKS * max_leaves // 2
    free = max_bytes - fixed
    for_leaves = min(max(LEAF_MEMORY_SHARE * free, free - max_blocks * block), free - min_blocks * block)
    n_leaves = max(min(max_leaves + 1, int(for_leaves // leaf)), min_leaves)
    return CapacityPlan(n_leaves, min(max_blocks, (free - n_leaves * leaf) // block))


def new_state(plan: CapacityPlan, n_actions: int, width: int, trees: Floats, options: Floats) -> BanditState:
    """A state without nodes."""
    reserve(plan.n_leaves * leaf_bytes(n_actions) + plan.n_blocks * block_bytes(n_actions, width))
    return BanditState(
        np.zeros((2 * plan.n_leaves, layout.N_NODE_FIELDS), np.int32),
        np.zeros((plan.n_leaves, layout.N_LEAF_FIELDS), np.int32),
        np.zeros((plan.n_leaves, n_actions, layout.N_ARM_FIELDS)),
        np.zeros((plan.n_blocks, n_actions, width), np.float32),
        np.zeros((plan.n_blocks, width), np.uint8),
        np.zeros(POOL_FREE_BLOCKS + plan.n_blocks, np.int32),
        trees,
        options,
    )


def saved_arrays(state: BanditState) -> dict[str, NDArray[Any]]:
    """The arrays of a file: the parts in use, and the capacity."""
    return {**used_arrays(state), "capacity": np.array([len(state.leaves), len(state.sums)])}


def load_state(
    saved: dict[str, NDArray[Any]], n_actions: int, width: int, trees: Floats, options: Floats, max_bytes: int
) -> BanditState:
    """The state from saved arrays; a ValueError describes an inconsistency."""
    check(set(saved) == set(SAVED_ARRAYS), f"the arrays of its trees are {sorted(saved)}, not {sorted(SAVED_ARRAYS)}")
    capacity, pool = saved["capacity"], saved["pool"]
    check(capacity.dtype == np.int64 and capacity.shape == (2,), "the capacity of its trees is not two integers")
    check(
        pool.dtype == np.int32 and pool.ndim == 1 and len(pool) >= POOL_FREE_BLOCKS,
        "the pool of its trees is too short",
    )
    plan = CapacityPlan(*capacity.tolist())
    n_bytes = plan.n_leaves * leaf_bytes(n_actions) + plan.n_blocks * block_bytes(n_actions, width)
    n_nodes, n_leaves, n_blocks, n_free, _ = pool[:POOL_FREE_BLOCKS].tolist()
    n_trees = len(trees)
    fits = n_trees < n_leaves <= plan.n_leaves and n_trees <= n_nodes <= 2 * plan.n_leaves
    check(fits and 0 <= n_free <= n_blocks <= plan.n_blocks and n_bytes <= max_bytes, "its trees exceed their capacity")
    state = new_state(plan, n_actions, width, trees, options)
    state.pool[:POOL_FREE_BLOCKS] = pool[:POOL_FREE_BLOCKS]
    for name, array in used_arrays(state).items():
        actual, expected = f"{saved[name].dtype}{saved[name].shape}", f"{array.dtype}{array.shape}"
        check(actual == expected, f"array {name!r} is {actual}, not {expected}")
        np.copyto(array, saved[name])
    validate(state)
    _bound_sums(state)
    return state


def _bound_sums(state: BanditState) -> None:
    """Bound the means of leaves that are bandit algorithms by 1, in place: files of earlier versions may exceed it."""
    if state.options[OPTION_LEAF_KIND] == ELIMINATION_LEAF:
        return
    arrays = used_arrays(state)
    leaves = arrays["nodes"][arrays["nodes"][:, NODE_CHOICE] == SELECTING_ACTION, NODE_LEAF]
    arrays["arms"][leaves, :, ARM_SUM] = np.minimum(*arrays["arms"][leaves][:, :, [ARM_SUM, ARM_PLAYS]].T).T


def with_actions(state: BanditState, plan: CapacityPlan, trees: Floats, origins: list[int]) -> BanditState:
    """A copy of the trees over other actions; `origins` has the former index of each, NO_INDEX for a new one.

    Leaves that had chosen an action compare actions again. A leaf whose blocks exceed the capacity selects its action.
    """
    n_actions, width = len(origins), state.marks.shape[1]
    copy = new_state(plan, n_actions, width, trees, state.options)
    n_nodes, n_leaves = state.pool[POOL_N_NODES], state.pool[POOL_N_LEAVES]
    copy.pool[POOL_N_NODES], copy.pool[POOL_N_LEAVES] = n_nodes, n_leaves
    nodes, leaves, arms = copy.nodes[:n_nodes], copy.leaves[:n_leaves], copy.arms[:n_leaves]
    nodes[:], leaves[:] = state.nodes[:n_nodes], state.leaves[:n_leaves]
    old = np.array(origins)
    kept = np.flatnonzero(old != NO_INDEX)
    arms[:, kept] = state.arms[:n_leaves, old[kept]]
    arms[:, old == NO_INDEX, ARM_REMAINS] = 1.0
    arms[~arms[:, :, ARM_REMAINS].any(axis=1), :, ARM_REMAINS] = 1.0
    nodes[nodes[:, NODE_CHOICE] >= 0, NODE_CHOICE] = SELECTING_ACTION
    for leaf in range(1, n_leaves):
        fields = slice(LEAF_SUMS, LEAF_COUNTS + 2)
        blocks = leaves[leaf, fields][leaves[leaf, fields] != NO_INDEX]
        first = copy.pool[POOL_N_BLOCKS]
        if first + len(blocks) > plan.n_blocks:
            leaves[leaf, fields] = NO_INDEX
            continue
        copy.pool[POOL_N_BLOCKS] += len(blocks)
        leaves[leaf, LEAF_SUMS : LEAF_SUMS + len(blocks)] = first + np.arange(len(blocks))
        for new_block, block in enumerate(blocks.tolist(), start=first):
            copy.sums[new_block, kept] = state.sums[block, old[kept]]
            copy.marks[new_block] = state.marks[block]
    copy.pool[POOL_N_LAST_LEVEL] = (leaves[1:, LEAF_COUNTS] != NO_INDEX).sum()
    without_block = leaves[nodes[:, NODE_LEAF], LEAF_SUMS] == NO_INDEX
    nodes[without_block & (nodes[:, NODE_CHOICE] == SELECTING_VARIABLE), NODE_CHOICE] = SELECTING_ACTION
    growth.reschedule_checks(copy)
    return copy
