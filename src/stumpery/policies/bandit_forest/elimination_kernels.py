"""Elimination at the nodes of bandit trees: of variables until one is left, then of actions.

With K actions, M variables, L trees of depth D and t plays of each action at a node, a variable goes when its estimate
is 4 sqrt(log(4 K M D L t^2 / delta) / (2 t)) - epsilon below the best one's, equation (3) of Feraud et al. 2016, and
once the path is complete an action goes by 2 sqrt(log(4 K L t^2 / delta) / (2 t)) - epsilon, equation (4).
"""

import math

import numpy as np

from stumpery.jit import internal
from stumpery.policies.bandit_forest.arena_kernels import (
    CHOICE,
    DELTA,
    ELIMINATION,
    EPSILON,
    FIRST_DROP,
    GROWTH,
    IN,
    INVERSE,
    LEAF_KIND,
    MAX_DEPTH,
    NEXT,
    NOTHING,
    OUT,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SUM,
    SUMS,
    WAITING,
    WEIGHING,
    WEIGHT,
    Forest,
    leaf_of,
)
from stumpery.types import Floats

NEARLY = 1.0001  # room for rounding
LAST_CHECK = 2**31 - 1  # plays are written in 32 bits; nothing is eliminated after so many of every action


@internal
def bound(width: float, n_hypotheses: float, plays: float, delta: float) -> float:
    """The right-hand sides of equations (1) to (4)."""
    return width * math.sqrt(math.log(4.0 * n_hypotheses * plays * plays / delta) / (2.0 * plays))


@internal
def schedule(forest: Forest, leaf: int, plays: int) -> None:
    """Call for a check when every remaining action has so many plays, in place."""
    waiting = 0
    for action in range(forest.arms.shape[1]):
        if forest.arms[leaf, action, REMAINS] != 0.0 and forest.arms[leaf, action, PLAYS] < plays:
            waiting += 1
    forest.leaves[leaf, NEXT] = min(plays, LAST_CHECK)
    forest.leaves[leaf, WAITING] = waiting


@internal
def later(forest: Forest, plays: int) -> int:
    """The plays at which to check after a check at `plays`: a share more, at least one."""
    return int(max(plays + 1.0, np.ceil(plays * (1.0 + forest.rule[GROWTH]))))


@internal
def fill_scales(forest: Forest, leaf: int, scales: Floats) -> None:
    """What turns each action's sum into its mean, in place; 0 where nothing was seen."""
    total = 0.0
    for action in range(scales.shape[0]):
        total += forest.arms[leaf, action, PLAYS]
    for action in range(scales.shape[0]):
        part = total if forest.rule[WEIGHING] == INVERSE else forest.arms[leaf, action, WEIGHT]
        scales[action] = 1.0 / part if part > 0.0 else 0.0


@internal
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


@internal
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


@internal
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


@internal
def n_remaining(forest: Forest, leaf: int) -> int:
    """How many actions are left in a leaf."""
    n_left = 0
    for action in range(forest.arms.shape[1]):
        n_left += forest.arms[leaf, action, REMAINS] != 0.0
    return n_left


@internal
def drop_weights(forest: Forest, leaf: int) -> None:
    """Scale a bandit leaf's sums from weights to plays, in place: bandits count without weights."""
    for action in range(forest.arms.shape[1]):
        plays, weight = forest.arms[leaf, action, PLAYS], forest.arms[leaf, action, WEIGHT]
        paid = forest.arms[leaf, action, SUM] * (plays / weight if weight > 0.0 else 0.0)
        forest.arms[leaf, action, SUM] = min(paid, plays)
        forest.arms[leaf, action, WEIGHT] = plays


@internal
def select_action(forest: Forest, tree: int, node: int) -> None:
    """Drop actions as long as their plays allow; a leaf with one action left has made its choice; in place."""
    leaf = leaf_of(forest, node)
    forest.nodes[node, CHOICE] = SELECTING_ACTION
    forest.leaves[leaf, NEXT] = 0
    if forest.rule[LEAF_KIND] != ELIMINATION:
        drop_weights(forest, leaf)
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
