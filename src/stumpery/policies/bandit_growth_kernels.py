"""Trees that choose a variable at every node, and then an action in every leaf, by elimination.

With K actions, M variables, L trees of depth D and t plays of each action at a node, a variable goes when its estimate
is 4 sqrt(log(4 K M D L t^2 / delta) / (2 t)) - epsilon below the best one's, equation (3) of Feraud et al. 2016, and
once the path is complete an action goes by 2 sqrt(log(4 K L t^2 / delta) / (2 t)) - epsilon, equation (4).

A node under selection owns a block: for every action and variable the sum of the rewards that came with the bit set.
With the bit clear it is the action's whole sum less that. At the last depth two more blocks count the plays and add up
the weights, so that the leaves below begin with what was seen. Blocks of finished nodes serve again. Where there is no
room for a block or for children, the leaf stays and chooses its action.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import kernel
from stumpery.random import uniform
from stumpery.types import Bits, Floats, Words

CHILD, VARIABLE, CHOICE, LEAF = range(4)  # of a node; its children are neighbours, and a leaf is its own child
DEPTH, NEXT, WAITING, SUMS, COUNTS, WEIGHTS = range(6)  # of a leaf; NEXT plays of each action call for a check
PLAYS, WEIGHT, SUM, REMAINS = range(4)  # of an action in a leaf
MAX_DEPTH, EPSILON, FIRST_SPLIT, FIRST_DROP = range(4)  # of a tree; before these plays no check can fire
DELTA, NEEDED, IN_TURN, LEAF_KIND, SHARE, WEIGHING, GROWTH = range(7)  # of the rule
N_NODES, N_LEAVES, N_BLOCKS, N_FREE, N_LAST, STACK = range(6)  # of the pool; the blocks to use again stand last

N_NODE_FIELDS, N_LEAF_FIELDS, N_ARM_FIELDS, N_TREE_FIELDS, N_RULE_FIELDS = 4, 6, 4, 4, 7
NOTHING, SELECTING_VARIABLE, SELECTING_ACTION = -1, -1, -2  # choices, other than the action that was found
ELIMINATION, UPPER_CONFIDENCE, THOMPSON = range(3)  # kinds of leaves
SELF_NORMALISED, INVERSE, PLAIN = range(3)  # kinds of weights
USED, OUT, IN = range(3)  # marks of a variable at a node: on the path, not or no more a candidate, a candidate
EVERYTHING = 0  # the leaf that counts all events
NEARLY = 1.0001  # room for rounding
N_LAST_BLOCKS = 3  # that a node at the last depth owns

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]


class Forest(NamedTuple):
    """All trees, in one arena."""

    nodes: Int32s  # (nodes, 4): tree i begins at node i
    leaves: Int32s  # (leaves, 6)
    arms: Floats  # (leaves, actions, 4)
    sums: Float32s  # (blocks, actions, variables): exact for 16 million plays of a node
    marks: Bits  # (blocks, variables)
    pool: Int32s  # (STACK + blocks,)
    trees: Floats  # (trees, 4)
    rule: Floats  # (7,)


@kernel
def bound(width: float, n_hypotheses: float, plays: float, delta: float) -> float:
    """The right-hand sides of equations (1) to (4)."""
    return width * math.sqrt(math.log(4.0 * n_hypotheses * plays * plays / delta) / (2.0 * plays))


@kernel
def take_block(forest: Forest) -> int:
    """A block of zeros; the caller has seen that there is one."""
    pool = forest.pool
    if pool[N_FREE] > 0:
        pool[N_FREE] -= 1
        block = int(pool[STACK + pool[N_FREE]])
    else:
        block = int(pool[N_BLOCKS])
        pool[N_BLOCKS] += 1
    forest.sums[block] = np.float32(0.0)
    return block


@kernel
def release(forest: Forest, leaf: int) -> None:
    """Give a leaf's blocks back, in place."""
    forest.pool[N_LAST] -= forest.leaves[leaf, COUNTS] != NOTHING
    for field in (WEIGHTS, COUNTS, SUMS):
        block = forest.leaves[leaf, field]
        if block != NOTHING:
            forest.pool[STACK + forest.pool[N_FREE]] = block
            forest.pool[N_FREE] += 1
            forest.leaves[leaf, field] = NOTHING


@kernel
def schedule(forest: Forest, leaf: int, plays: int) -> None:
    """Call for a check when every remaining action has so many plays, in place."""
    waiting = 0
    for action in range(forest.arms.shape[1]):
        if forest.arms[leaf, action, REMAINS] != 0.0 and forest.arms[leaf, action, PLAYS] < plays:
            waiting += 1
    forest.leaves[leaf, NEXT] = plays
    forest.leaves[leaf, WAITING] = waiting


@kernel
def later(forest: Forest, plays: int) -> int:
    """The plays at which to check after a check at `plays`: a share more, at least one."""
    return int(max(plays + 1.0, np.ceil(plays * (1.0 + forest.rule[GROWTH]))))


@kernel
def fill_scales(forest: Forest, leaf: int, scales: Floats) -> None:
    """What turns each action's sum into its mean, in place; 0 where nothing was seen."""
    total = 0.0
    for action in range(scales.shape[0]):
        total += forest.arms[leaf, action, PLAYS]
    for action in range(scales.shape[0]):
        part = total if forest.rule[WEIGHING] == INVERSE else forest.arms[leaf, action, WEIGHT]
        scales[action] = 1.0 / part if part > 0.0 else 0.0


@kernel
def draw_candidates(forest: Forest, rng: Words, block: int, used: np.ndarray, n_open: int) -> int:
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


@kernel
def begin(forest: Forest, rng: Words, tree: int, node: int, depth: int, used: np.ndarray) -> None:
    """NewPath: a leaf without memory that selects a variable or, without room or variables, an action; in place."""
    leaf = forest.nodes[node, LEAF]
    for action in range(forest.arms.shape[1]):
        for field in (PLAYS, WEIGHT, SUM):
            forest.arms[leaf, action, field] = 0.0
        forest.arms[leaf, action, REMAINS] = 1.0
    for field in (SUMS, COUNTS, WEIGHTS):
        forest.leaves[leaf, field] = NOTHING
    forest.leaves[leaf, DEPTH] = depth
    n_open = 0
    for variable in range(used.shape[0]):
        n_open += not used[variable]
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
def plant(forest: Forest, rng: Words) -> None:
    """Begin every tree at its root, in place; all arrays are new."""
    n_trees = forest.trees.shape[0]
    forest.pool[N_NODES], forest.pool[N_LEAVES] = n_trees, n_trees + 1
    used = np.zeros(forest.marks.shape[1], dtype=np.bool_)
    for tree in range(n_trees):
        make_node(forest, tree, tree + 1)
        begin(forest, rng, tree, tree, 1, used)


@kernel
def make_node(forest: Forest, node: int, leaf: int) -> None:
    """A node that is a leaf: it looks at the bit after the last, which is clear, and stays; in place."""
    forest.nodes[node, CHILD] = node
    forest.nodes[node, VARIABLE] = forest.marks.shape[1]
    forest.nodes[node, LEAF] = leaf


@kernel
def fill_values(forest: Forest, leaf: int, scales: Floats, values: Floats) -> None:
    """What every variable earns with the best action for each of its values, in place."""
    block = forest.leaves[leaf, SUMS]
    clear = np.zeros(values.shape[0])
    values[:] = 0.0
    for action in range(scales.shape[0]):
        scale, total = scales[action], forest.arms[leaf, action, SUM]
        for variable in range(values.shape[0]):  # selections instead of branches: several variables at a time
            paid = float(forest.sums[block, action, variable])
            with_set, with_clear = paid * scale, (total - paid) * scale
            values[variable] = with_set if with_set > values[variable] else values[variable]
            clear[variable] = with_clear if with_clear > clear[variable] else clear[variable]
    for variable in range(values.shape[0]):
        values[variable] += clear[variable]


@kernel
def surviving_variable(forest: Forest, tree: int, leaf: int) -> int:
    """VE: drop the variables that equation (3) rules out, in place; give the last one, or NOTHING if more remain."""
    n_actions, n_variables = forest.sums.shape[1], forest.sums.shape[2]
    plays, marks = forest.leaves[leaf, NEXT], forest.marks[forest.leaves[leaf, SUMS]]
    n_hypotheses = float(n_actions) * n_variables * forest.trees[tree, MAX_DEPTH] * forest.trees.shape[0]
    needed = bound(4.0, n_hypotheses, plays, forest.rule[DELTA]) - forest.trees[tree, EPSILON]
    scales, values = np.empty(n_actions), np.empty(n_variables)
    fill_scales(forest, leaf, scales)
    highest, n_left = 0.0, 0
    for action in range(n_actions):
        highest = max(highest, scales[action] * forest.arms[leaf, action, SUM])
    for variable in range(n_variables):
        n_left += marks[variable] == IN
    if n_left > 1 and needed > highest * NEARLY:  # every variable earns from once to twice the highest mean
        return NOTHING
    fill_values(forest, leaf, scales, values)
    leader = NOTHING
    for variable in range(n_variables):
        if marks[variable] == IN and (leader == NOTHING or values[variable] > values[leader]):
            leader = variable
    for variable in range(n_variables):
        if marks[variable] == IN and variable != leader and values[leader] - values[variable] >= needed:
            marks[variable] = OUT
            n_left -= 1
    return leader if n_left == 1 else NOTHING


@kernel
def drop_actions(forest: Forest, tree: int, leaf: int, plays: float) -> None:
    """AE: drop the actions that equation (4) rules out, in place."""
    n_actions = forest.arms.shape[1]
    n_hypotheses = float(n_actions) * forest.trees.shape[0]
    needed = bound(2.0, n_hypotheses, plays, forest.rule[DELTA]) - forest.trees[tree, EPSILON]
    means = np.empty(n_actions)
    fill_scales(forest, leaf, means)
    leader = NOTHING
    for action in range(n_actions):
        means[action] *= forest.arms[leaf, action, SUM]
        remains = forest.arms[leaf, action, REMAINS] != 0.0
        if remains and (leader == NOTHING or means[action] > means[leader]):
            leader = action
    for action in range(n_actions):
        if action != leader and means[leader] - means[action] >= needed:
            forest.arms[leaf, action, REMAINS] = 0.0


@kernel
def select_action(forest: Forest, tree: int, node: int) -> None:
    """Drop actions as long as their plays allow; a leaf with one action left has made its choice; in place."""
    leaf = forest.nodes[node, LEAF]
    forest.nodes[node, CHOICE] = SELECTING_ACTION
    forest.leaves[leaf, NEXT] = 0
    while forest.rule[LEAF_KIND] == ELIMINATION:
        n_left, last, fewest = 0, NOTHING, np.inf
        for action in range(forest.arms.shape[1]):
            if forest.arms[leaf, action, REMAINS] != 0.0:
                n_left, last, fewest = n_left + 1, action, min(fewest, forest.arms[leaf, action, PLAYS])
        if n_left == 1:
            forest.nodes[node, CHOICE] = last
            return
        plays = int(fewest)
        if plays < forest.trees[tree, FIRST_DROP]:
            schedule(forest, leaf, int(forest.trees[tree, FIRST_DROP]))
            return
        drop_actions(forest, tree, leaf, fewest)
        schedule(forest, leaf, later(forest, plays))
        if forest.leaves[leaf, WAITING] > 0 and n_remaining(forest, leaf) > 1:
            return


@kernel
def n_remaining(forest: Forest, leaf: int) -> int:
    """How many actions are left in a leaf."""
    n_left = 0
    for action in range(forest.arms.shape[1]):
        n_left += forest.arms[leaf, action, REMAINS] != 0.0
    return n_left


@kernel
def hand_down(forest: Forest, leaf: int, other: int, variable: int) -> None:
    """Divide what a node at the last depth has seen between its two leaves, in place; bandits count without weights."""
    counts, weights, sums = forest.leaves[leaf, COUNTS], forest.leaves[leaf, WEIGHTS], forest.leaves[leaf, SUMS]
    for action in range(forest.arms.shape[1]):
        here, there = forest.arms[leaf, action], forest.arms[other, action]
        there[PLAYS] = forest.sums[counts, action, variable]
        there[WEIGHT] = forest.sums[weights, action, variable]
        there[SUM] = forest.sums[sums, action, variable]
        there[REMAINS] = 1.0
        for field in (PLAYS, WEIGHT, SUM):
            here[field] -= there[field]
        if forest.rule[LEAF_KIND] != ELIMINATION:
            for arm in (here, there):
                arm[SUM] *= arm[PLAYS] / arm[WEIGHT] if arm[WEIGHT] > 0.0 else 0.0
                arm[WEIGHT] = arm[PLAYS]


@kernel
def split(forest: Forest, rng: Words, tree: int, node: int, variable: int) -> None:
    """Two leaves under a node, in place; without room for them the node stays a leaf and selects its action."""
    leaf = forest.nodes[node, LEAF]
    first, other = forest.pool[N_NODES], forest.pool[N_LEAVES]
    if first + 2 > forest.nodes.shape[0] or other + 1 > forest.leaves.shape[0]:
        release(forest, leaf)
        select_action(forest, tree, node)
        return
    forest.pool[N_NODES] += 2
    forest.pool[N_LEAVES] += 1
    make_node(forest, first, leaf)
    make_node(forest, first + 1, other)
    forest.nodes[node, CHILD], forest.nodes[node, VARIABLE] = first, variable
    depth = forest.leaves[leaf, DEPTH]
    if depth == forest.trees[tree, MAX_DEPTH]:
        hand_down(forest, leaf, other, variable)
        release(forest, leaf)
        for field in range(N_LEAF_FIELDS):
            forest.leaves[other, field] = forest.leaves[leaf, field]
        select_action(forest, tree, first)
        select_action(forest, tree, first + 1)
        return
    used = forest.marks[forest.leaves[leaf, SUMS]] == USED
    used[variable] = True
    release(forest, leaf)
    begin(forest, rng, tree, first, depth + 1, used)
    begin(forest, rng, tree, first + 1, depth + 1, used)


@kernel
def check(forest: Forest, rng: Words, tree: int, node: int) -> None:
    """What a leaf does when every action has the plays that it waited for, in place."""
    if forest.nodes[node, CHOICE] == SELECTING_ACTION:
        select_action(forest, tree, node)
        return
    leaf = forest.nodes[node, LEAF]
    variable = surviving_variable(forest, tree, leaf)
    if variable == NOTHING:
        schedule(forest, leaf, later(forest, forest.leaves[leaf, NEXT]))
    else:
        split(forest, rng, tree, node, variable)


@kernel
def resume(forest: Forest) -> None:
    """Schedule every leaf's next check anew, in place, after actions came or went."""
    tree_of = np.zeros(forest.pool[N_NODES], dtype=np.int32)
    for node in range(forest.pool[N_NODES]):
        tree = tree_of[node] = node if node < forest.trees.shape[0] else tree_of[node]
        child, leaf = forest.nodes[node, CHILD], forest.nodes[node, LEAF]
        if child != node:
            tree_of[child] = tree_of[child + 1] = tree
        elif forest.nodes[node, CHOICE] == SELECTING_ACTION:
            select_action(forest, tree, node)
        else:
            fewest = np.inf
            for action in range(forest.arms.shape[1]):
                fewest = min(fewest, forest.arms[leaf, action, PLAYS])
            schedule(forest, leaf, int(max(fewest + 1.0, forest.trees[tree, FIRST_SPLIT])))
