"""How bandit trees grow: leaves begin, wait for their plays, split, and hand down what they know.

Where there is no room for a block or for children, a leaf stays and chooses its action.
"""

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies.bandit_forest.arena_kernels import (
    CHILD,
    CHOICE,
    COUNTS,
    DEPTH,
    FIRST_SPLIT,
    IN,
    LEAF,
    MAX_DEPTH,
    N_BLOCKS,
    N_FREE,
    N_LAST,
    N_LAST_BLOCKS,
    N_LEAF_FIELDS,
    N_LEAVES,
    N_NODES,
    NEXT,
    NOTHING,
    OUT,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SELECTING_VARIABLE,
    SHARE,
    SUM,
    SUMS,
    USED,
    VARIABLE,
    WEIGHT,
    WEIGHTS,
    Forest,
    leaf_of,
    release,
    take_block,
    wide,
)
from stumpery.policies.bandit_forest.elimination_kernels import later, schedule, select_action, surviving_variable
from stumpery.random import uniform
from stumpery.types import RandomState


@internal
def make_node(forest: Forest, node: int, leaf: int) -> None:
    """A node that is a leaf: it looks at the bit after the last, which is clear, and stays; in place."""
    forest.nodes[node, CHILD] = node
    forest.nodes[node, VARIABLE] = forest.marks.shape[1]
    forest.nodes[node, LEAF] = leaf


@internal
def draw_candidates(forest: Forest, rng: RandomState, block: int, used: np.ndarray, n_open: int) -> int:
    """Mark a random share of the variables that the path has not used, in place; give how many."""
    wanted = max(1, int(forest.rule[SHARE] * n_open + 0.5))
    left, taken = n_open, 0
    for variable in range(used.shape[0]):
        mark = USED
        if not used[variable]:
            mark = OUT
            missing = wanted - taken
            if missing == left or (missing > 0 and uniform(rng) * left < missing):
                mark = IN
                taken += 1
            left -= 1
        forest.marks[block, variable] = mark
    return wanted


@internal
def begin(forest: Forest, rng: RandomState, tree: int, node: int, used: np.ndarray) -> None:
    """NewPath: a leaf without memory that selects a variable or, without room or variables, an action; in place."""
    n_open = used.shape[0]
    for variable in range(used.shape[0]):
        n_open -= used[variable]
    depth = 1 + used.shape[0] - n_open
    leaf = leaf_of(forest, node)
    for action in range(forest.arms.shape[1]):
        for field in (PLAYS, WEIGHT, SUM):
            forest.arms[leaf, action, field] = 0.0
        forest.arms[leaf, action, REMAINS] = 1.0
    for field in (SUMS, COUNTS, WEIGHTS):
        forest.leaves[leaf, field] = NOTHING
    forest.leaves[leaf, DEPTH] = depth
    is_last = depth == forest.trees[tree, MAX_DEPTH]
    n_blocks = forest.pool[N_FREE] + forest.sums.shape[0] - forest.pool[N_BLOCKS]
    if n_open == 0 or n_blocks < (N_LAST_BLOCKS if is_last else 1):
        select_action(forest, tree, node)
        return
    forest.nodes[node, CHOICE] = SELECTING_VARIABLE
    block = take_block(forest)
    forest.leaves[leaf, SUMS] = block
    if is_last:
        forest.leaves[leaf, COUNTS] = take_block(forest)
        forest.leaves[leaf, WEIGHTS] = take_block(forest)
        forest.pool[N_LAST] += 1
    n_candidates = draw_candidates(forest, rng, block, used, n_open)
    schedule(forest, leaf, 1 if n_candidates == 1 else int(forest.trees[tree, FIRST_SPLIT]))


@kernel
def plant(forest: Forest, rng: RandomState) -> None:
    """Begin every tree at its root, in place; all arrays are new."""
    n_trees = forest.trees.shape[0]
    forest.pool[N_NODES], forest.pool[N_LEAVES] = n_trees, n_trees + 1
    used = np.zeros(forest.marks.shape[1], dtype=np.bool_)
    for tree in range(n_trees):
        make_node(forest, tree, tree + 1)
        begin(forest, rng, tree, tree, used)


@internal
def hand_down(forest: Forest, leaf: int, other: int, variable: int) -> None:
    """Divide what a node at the last depth has seen between its two leaves, in place."""
    counts, weights, sums = forest.leaves[leaf, COUNTS], forest.leaves[leaf, WEIGHTS], forest.leaves[leaf, SUMS]
    arms = forest.arms
    for action in range(arms.shape[1]):
        arms[other, action, PLAYS] = forest.sums[counts, action, variable]
        arms[other, action, WEIGHT] = forest.sums[weights, action, variable]
        arms[other, action, SUM] = forest.sums[sums, action, variable]
        arms[other, action, REMAINS] = 1.0
        for field in (PLAYS, WEIGHT, SUM):
            left = arms[leaf, action, field] - arms[other, action, field]
            arms[leaf, action, field] = max(left, 0.0)  # a bit's sums are rounded more than a leaf's
        arms[leaf, action, SUM] = min(arms[leaf, action, SUM], arms[leaf, action, WEIGHT])  # no mean is above 1


@internal
def split(forest: Forest, rng: RandomState, tree: int, node: int, variable: int) -> None:
    """Two leaves under a node, in place; without room for them the node stays a leaf and selects its action."""
    leaf = leaf_of(forest, node)
    first, other = wide(forest.pool[N_NODES]), wide(forest.pool[N_LEAVES])
    if first + 2 > forest.nodes.shape[0] or other + 1 > forest.leaves.shape[0]:
        release(forest, leaf)
        select_action(forest, tree, node)
        return
    forest.pool[N_NODES] += 2
    forest.pool[N_LEAVES] += 1
    make_node(forest, first, leaf)
    make_node(forest, first + 1, other)
    forest.nodes[node, CHILD], forest.nodes[node, VARIABLE] = first, variable
    if forest.leaves[leaf, DEPTH] == forest.trees[tree, MAX_DEPTH]:
        hand_down(forest, leaf, other, variable)
        release(forest, leaf)
        for field in range(N_LEAF_FIELDS):
            forest.leaves[other, field] = forest.leaves[leaf, field]
        for child in (first, first + 1):
            select_action(forest, tree, child)
        return
    block, used = forest.leaves[leaf, SUMS], np.empty(forest.marks.shape[1], dtype=np.bool_)
    for each in range(used.shape[0]):
        used[each] = each == variable or forest.marks[block, each] == USED
    release(forest, leaf)
    for child in (first, first + 1):
        begin(forest, rng, tree, child, used)


@internal
def check(forest: Forest, rng: RandomState, tree: int, node: int) -> None:
    """What a leaf does when every action has the plays that it waited for, in place."""
    if forest.nodes[node, CHOICE] == SELECTING_ACTION:
        select_action(forest, tree, node)
        return
    leaf = leaf_of(forest, node)
    variable = surviving_variable(forest, tree, leaf)
    if variable == NOTHING:
        schedule(forest, leaf, later(forest, wide(forest.leaves[leaf, NEXT])))
    else:
        split(forest, rng, tree, node, variable)


@kernel
def resume(forest: Forest) -> None:
    """Schedule every leaf's next check anew, in place, after actions came or went."""
    tree_of = np.zeros(forest.pool[N_NODES], dtype=np.int64)
    for node in range(forest.pool[N_NODES]):
        tree = tree_of[node] = node if node < forest.trees.shape[0] else tree_of[node]
        child, leaf = forest.nodes[node, CHILD], leaf_of(forest, node)
        if child != node:
            tree_of[child] = tree_of[child + 1] = tree
        elif forest.nodes[node, CHOICE] == SELECTING_ACTION:
            select_action(forest, tree, node)
        else:
            fewest = np.inf
            for action in range(forest.arms.shape[1]):
                fewest = min(fewest, forest.arms[leaf, action, PLAYS])
            schedule(forest, leaf, int(max(fewest + 1.0, forest.trees[tree, FIRST_SPLIT])))
