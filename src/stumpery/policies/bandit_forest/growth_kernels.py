"""Growth of bandit trees: leaves start, wait for plays, split, and pass their statistics to their children.

Where the state has no free block, or no nodes for children, a leaf does not split and selects its action.
"""

import numpy as np

from stumpery.array_forest.forest_kernels import as_int64
from stumpery.jit import internal, kernel
from stumpery.policies.bandit_forest.elimination_kernels import (
    next_check,
    schedule_check,
    select_action,
    surviving_variable,
)
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
    MARK_DROPPED,
    MARK_ON_PATH,
    N_LAST_LEVEL_BLOCKS,
    N_LEAF_FIELDS,
    NO_INDEX,
    NODE_CHILD,
    NODE_CHOICE,
    NODE_LEAF,
    NODE_VARIABLE,
    OPTION_VARIABLE_SHARE,
    POOL_N_BLOCKS,
    POOL_N_FREE,
    POOL_N_LAST_LEVEL,
    POOL_N_LEAVES,
    POOL_N_NODES,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    TREE_FIRST_SPLIT,
    TREE_MAX_DEPTH,
    BanditState,
    allocate_block,
    free_blocks,
    leaf_of,
)
from stumpery.random import uniform
from stumpery.types import RandomState


@internal
def make_leaf_node(state: BanditState, node: int, leaf: int) -> None:
    """Make a node a leaf, in place: its variable is the bit after the last, which is clear, and its child is itself."""
    state.nodes[node, NODE_CHILD] = node
    state.nodes[node, NODE_VARIABLE] = state.marks.shape[1]
    state.nodes[node, NODE_LEAF] = leaf


@internal
def draw_candidates(state: BanditState, rng: RandomState, block: int, used: np.ndarray, n_open: int) -> int:
    """Mark a random share of the variables that are not on the path as candidates, in place; return how many."""
    n_wanted = max(1, int(state.options[OPTION_VARIABLE_SHARE] * n_open + 0.5))
    n_left, n_taken = n_open, 0
    for variable in range(used.shape[0]):
        mark = MARK_ON_PATH
        if not used[variable]:
            mark = MARK_DROPPED
            missing = n_wanted - n_taken
            if missing == n_left or (missing > 0 and uniform(rng) * n_left < missing):
                mark = MARK_CANDIDATE
                n_taken += 1
            n_left -= 1
        state.marks[block, variable] = mark
    return n_wanted


@internal
def begin_leaf(state: BanditState, rng: RandomState, tree: int, node: int, used: np.ndarray) -> None:
    """Start an empty leaf, in place: it selects a variable or, with no free block or variable, an action."""
    n_open = used.shape[0]
    for variable in range(used.shape[0]):
        n_open -= used[variable]
    depth = 1 + used.shape[0] - n_open
    leaf = leaf_of(state, node)
    for action in range(state.arms.shape[1]):
        for field in (ARM_PLAYS, ARM_WEIGHT, ARM_SUM):
            state.arms[leaf, action, field] = 0.0
        state.arms[leaf, action, ARM_REMAINS] = 1.0
    for field in (LEAF_SUMS, LEAF_COUNTS, LEAF_WEIGHTS):
        state.leaves[leaf, field] = NO_INDEX
    state.leaves[leaf, LEAF_DEPTH] = depth
    is_last = depth == state.trees[tree, TREE_MAX_DEPTH]
    n_blocks = state.pool[POOL_N_FREE] + state.sums.shape[0] - state.pool[POOL_N_BLOCKS]
    if n_open == 0 or n_blocks < (N_LAST_LEVEL_BLOCKS if is_last else 1):
        select_action(state, tree, node)
        return
    state.nodes[node, NODE_CHOICE] = SELECTING_VARIABLE
    block = allocate_block(state)
    state.leaves[leaf, LEAF_SUMS] = block
    if is_last:
        state.leaves[leaf, LEAF_COUNTS] = allocate_block(state)
        state.leaves[leaf, LEAF_WEIGHTS] = allocate_block(state)
        state.pool[POOL_N_LAST_LEVEL] += 1
    n_candidates = draw_candidates(state, rng, block, used, n_open)
    schedule_check(state, leaf, 1 if n_candidates == 1 else int(state.trees[tree, TREE_FIRST_SPLIT]))


@kernel
def begin_trees(state: BanditState, rng: RandomState) -> None:
    """Start every tree with a root that is a leaf, in place; all arrays are new."""
    n_trees = state.trees.shape[0]
    state.pool[POOL_N_NODES], state.pool[POOL_N_LEAVES] = n_trees, n_trees + 1
    used = np.zeros(state.marks.shape[1], dtype=np.bool_)
    for tree in range(n_trees):
        make_leaf_node(state, tree, tree + 1)
        begin_leaf(state, rng, tree, tree, used)


@internal
def inherit_statistics(state: BanditState, leaf: int, other: int, variable: int) -> None:
    """Divide the statistics of a leaf at the last level between its two children, in place."""
    counts, weights, sums = (
        state.leaves[leaf, LEAF_COUNTS],
        state.leaves[leaf, LEAF_WEIGHTS],
        state.leaves[leaf, LEAF_SUMS],
    )
    arms = state.arms
    for action in range(arms.shape[1]):
        arms[other, action, ARM_PLAYS] = state.sums[counts, action, variable]
        arms[other, action, ARM_WEIGHT] = state.sums[weights, action, variable]
        arms[other, action, ARM_SUM] = state.sums[sums, action, variable]
        arms[other, action, ARM_REMAINS] = 1.0
        for field in (ARM_PLAYS, ARM_WEIGHT, ARM_SUM):
            rest = arms[leaf, action, field] - arms[other, action, field]
            arms[leaf, action, field] = max(rest, 0.0)  # sums of bits have 32 bits, those of a leaf 64
        arms[leaf, action, ARM_SUM] = min(
            arms[leaf, action, ARM_SUM], arms[leaf, action, ARM_WEIGHT]
        )  # no mean is above 1


@internal
def split_leaf(state: BanditState, rng: RandomState, tree: int, node: int, variable: int) -> None:
    """Split a leaf on a variable, in place; without free nodes it stays a leaf and selects its action."""
    leaf = leaf_of(state, node)
    first, other = as_int64(state.pool[POOL_N_NODES]), as_int64(state.pool[POOL_N_LEAVES])
    if first + 2 > state.nodes.shape[0] or other + 1 > state.leaves.shape[0]:
        free_blocks(state, leaf)
        select_action(state, tree, node)
        return
    state.pool[POOL_N_NODES] += 2
    state.pool[POOL_N_LEAVES] += 1
    make_leaf_node(state, first, leaf)
    make_leaf_node(state, first + 1, other)
    state.nodes[node, NODE_CHILD], state.nodes[node, NODE_VARIABLE] = first, variable
    if state.leaves[leaf, LEAF_DEPTH] == state.trees[tree, TREE_MAX_DEPTH]:
        inherit_statistics(state, leaf, other, variable)
        free_blocks(state, leaf)
        for field in range(N_LEAF_FIELDS):
            state.leaves[other, field] = state.leaves[leaf, field]
        for child in (first, first + 1):
            select_action(state, tree, child)
        return
    block, used = state.leaves[leaf, LEAF_SUMS], np.empty(state.marks.shape[1], dtype=np.bool_)
    for other_variable in range(used.shape[0]):
        on_path = state.marks[block, other_variable] == MARK_ON_PATH
        used[other_variable] = other_variable == variable or on_path
    free_blocks(state, leaf)
    for child in (first, first + 1):
        begin_leaf(state, rng, tree, child, used)


@internal
def check_leaf(state: BanditState, rng: RandomState, tree: int, node: int) -> None:
    """Check a leaf whose actions have enough plays, in place: it may split, or choose its action."""
    if state.nodes[node, NODE_CHOICE] == SELECTING_ACTION:
        select_action(state, tree, node)
        return
    leaf = leaf_of(state, node)
    variable = surviving_variable(state, tree, leaf)
    if variable == NO_INDEX:
        schedule_check(state, leaf, next_check(state, as_int64(state.leaves[leaf, LEAF_NEXT_CHECK])))
    else:
        split_leaf(state, rng, tree, node, variable)


@kernel
def reschedule_checks(state: BanditState) -> None:
    """Schedule the next check of every leaf after actions were added or removed, in place."""
    tree_of = np.zeros(state.pool[POOL_N_NODES], dtype=np.int64)
    for node in range(state.pool[POOL_N_NODES]):
        tree = tree_of[node] = node if node < state.trees.shape[0] else tree_of[node]
        child, leaf = state.nodes[node, NODE_CHILD], leaf_of(state, node)
        if child != node:
            tree_of[child] = tree_of[child + 1] = tree
        elif state.nodes[node, NODE_CHOICE] == SELECTING_ACTION:
            select_action(state, tree, node)
        else:
            fewest = np.inf
            for action in range(state.arms.shape[1]):
                fewest = min(fewest, state.arms[leaf, action, ARM_PLAYS])
            schedule_check(state, leaf, int(max(fewest + 1.0, state.trees[tree, TREE_FIRST_SPLIT])))
