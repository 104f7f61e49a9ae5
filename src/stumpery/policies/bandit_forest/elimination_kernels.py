"""Elimination of variables and actions in the leaves of bandit trees: variables until one is left, then actions.

With K actions, M variables, L trees of depth D and t plays of each action at a node, a variable goes when its estimate
is 4 sqrt(log(4 K M D L t^2 / delta) / (2 t)) - epsilon below the best one's, equation (3) of Feraud et al. 2016, and
once the path is complete an action goes by 2 sqrt(log(4 K L t^2 / delta) / (2 t)) - epsilon, equation (4).
"""

import math

import numpy as np

from stumpery.jit import internal
from stumpery.policies.bandit_forest.arena_kernels import (
    ARM_PLAYS,
    ARM_REMAINS,
    ARM_SUM,
    ARM_WEIGHT,
    ELIMINATION_LEAF,
    INVERSE_PROPENSITY,
    LEAF_N_WAITING,
    LEAF_NEXT_CHECK,
    LEAF_SUMS,
    MARK_CANDIDATE,
    MARK_DROPPED,
    NO_INDEX,
    NODE_CHOICE,
    OPTION_CHECK_GROWTH,
    OPTION_DELTA,
    OPTION_LEAF_KIND,
    OPTION_WEIGHTING,
    SELECTING_ACTION,
    TREE_EPSILON,
    TREE_FIRST_DROP,
    TREE_MAX_DEPTH,
    BanditArena,
    leaf_of,
)
from stumpery.types import Floats

ROUNDING_MARGIN = 1.0001
MAX_CHECK_PLAYS = 2**31 - 1  # LEAF_NEXT_CHECK has 32 bits; nothing is eliminated after so many plays of every action


@internal
def elimination_bound(width: float, n_hypotheses: float, plays: float, delta: float) -> float:
    """The right-hand sides of equations (1) to (4)."""
    return width * math.sqrt(math.log(4.0 * n_hypotheses * plays * plays / delta) / (2.0 * plays))


@internal
def schedule_check(arena: BanditArena, leaf: int, plays: int) -> None:
    """Schedule a leaf's check for when every remaining action has this many plays, in place."""
    n_waiting = 0
    for action in range(arena.arms.shape[1]):
        if arena.arms[leaf, action, ARM_REMAINS] != 0.0 and arena.arms[leaf, action, ARM_PLAYS] < plays:
            n_waiting += 1
    arena.leaves[leaf, LEAF_NEXT_CHECK] = min(plays, MAX_CHECK_PLAYS)
    arena.leaves[leaf, LEAF_N_WAITING] = n_waiting


@internal
def next_check(arena: BanditArena, plays: int) -> int:
    """The plays at which to check after a check at `plays`: more by a fixed share, at least by one."""
    return int(max(plays + 1.0, np.ceil(plays * (1.0 + arena.options[OPTION_CHECK_GROWTH]))))


@internal
def fill_scales(arena: BanditArena, leaf: int, scales: Floats) -> None:
    """Write the factor that turns each action's sum into its mean, in place; 0 where there are no rewards."""
    total = 0.0
    for action in range(scales.shape[0]):
        total += arena.arms[leaf, action, ARM_PLAYS]
    for action in range(scales.shape[0]):
        is_ips = arena.options[OPTION_WEIGHTING] == INVERSE_PROPENSITY
        divisor = total if is_ips else arena.arms[leaf, action, ARM_WEIGHT]
        scales[action] = 1.0 / divisor if divisor > 0.0 else 0.0


@internal
def fill_variable_rewards(arena: BanditArena, leaf: int, scales: Floats, values: Floats) -> None:
    """Write every variable's estimated reward with the best action for each of its two values, in place."""
    block = arena.leaves[leaf, LEAF_SUMS]
    clear = np.zeros(values.shape[0])
    values[:] = 0.0
    for action in range(scales.shape[0]):
        scale, total = scales[action], arena.arms[leaf, action, ARM_SUM]
        for variable in range(values.shape[0]):  # selects instead of branches, so that the loop is vectorised
            sum_set = float(arena.sums[block, action, variable])
            with_set, with_clear = sum_set * scale, (total - sum_set) * scale
            values[variable] = with_set if with_set > values[variable] else values[variable]
            clear[variable] = with_clear if with_clear > clear[variable] else clear[variable]
    for variable in range(values.shape[0]):
        values[variable] += clear[variable]


@internal
def surviving_variable(arena: BanditArena, tree: int, leaf: int) -> int:
    """Drop the variables that equation (3) eliminates, in place; return the last one, or NO_INDEX if more remain."""
    n_actions, n_variables = arena.sums.shape[1], arena.sums.shape[2]
    plays, marks = arena.leaves[leaf, LEAF_NEXT_CHECK], arena.marks[arena.leaves[leaf, LEAF_SUMS]]
    n_hypotheses = float(n_actions) * n_variables * arena.trees[tree, TREE_MAX_DEPTH] * arena.trees.shape[0]
    needed = elimination_bound(4.0, n_hypotheses, plays, arena.options[OPTION_DELTA]) - arena.trees[tree, TREE_EPSILON]
    scales, values = np.empty(n_actions), np.empty(n_variables)
    fill_scales(arena, leaf, scales)
    highest, n_left = 0.0, 0
    for action in range(n_actions):
        highest = max(highest, scales[action] * arena.arms[leaf, action, ARM_SUM])
    for variable in range(n_variables):
        n_left += marks[variable] == MARK_CANDIDATE
    if n_left > 1 and needed > highest * ROUNDING_MARGIN:  # all estimates lie between the highest mean and twice that
        return NO_INDEX
    fill_variable_rewards(arena, leaf, scales, values)
    leader = NO_INDEX
    for variable in range(n_variables):
        if marks[variable] == MARK_CANDIDATE and (leader == NO_INDEX or values[variable] > values[leader]):
            leader = variable
    for variable in range(n_variables):
        if marks[variable] == MARK_CANDIDATE and variable != leader and values[leader] - values[variable] >= needed:
            marks[variable] = MARK_DROPPED
            n_left -= 1
    return leader if n_left == 1 else NO_INDEX


@internal
def drop_actions(arena: BanditArena, tree: int, leaf: int, plays: float) -> None:
    """Drop the actions that equation (4) eliminates, in place."""
    n_actions = arena.arms.shape[1]
    n_hypotheses = float(n_actions) * arena.trees.shape[0]
    needed = elimination_bound(2.0, n_hypotheses, plays, arena.options[OPTION_DELTA]) - arena.trees[tree, TREE_EPSILON]
    means = np.empty(n_actions)
    fill_scales(arena, leaf, means)
    leader = NO_INDEX
    for action in range(n_actions):
        means[action] *= arena.arms[leaf, action, ARM_SUM]
        remains = arena.arms[leaf, action, ARM_REMAINS] != 0.0
        if remains and (leader == NO_INDEX or means[action] > means[leader]):
            leader = action
    for action in range(n_actions):
        if action != leader and means[leader] - means[action] >= needed:
            arena.arms[leaf, action, ARM_REMAINS] = 0.0


@internal
def n_remaining(arena: BanditArena, leaf: int) -> int:
    """The number of actions that remain in a leaf."""
    n_left = 0
    for action in range(arena.arms.shape[1]):
        n_left += arena.arms[leaf, action, ARM_REMAINS] != 0.0
    return n_left


@internal
def unweight_sums(arena: BanditArena, leaf: int) -> None:
    """Scale a leaf's sums from weights to plays, in place: bandit algorithms count rewards without weights."""
    for action in range(arena.arms.shape[1]):
        plays, weight = arena.arms[leaf, action, ARM_PLAYS], arena.arms[leaf, action, ARM_WEIGHT]
        total = arena.arms[leaf, action, ARM_SUM] * (plays / weight if weight > 0.0 else 0.0)
        arena.arms[leaf, action, ARM_SUM] = min(total, plays)
        arena.arms[leaf, action, ARM_WEIGHT] = plays


@internal
def select_action(arena: BanditArena, tree: int, node: int) -> None:
    """Eliminate actions as far as their plays allow; a leaf with one action left chooses it; in place."""
    leaf = leaf_of(arena, node)
    arena.nodes[node, NODE_CHOICE] = SELECTING_ACTION
    arena.leaves[leaf, LEAF_NEXT_CHECK] = 0
    if arena.options[OPTION_LEAF_KIND] != ELIMINATION_LEAF:
        unweight_sums(arena, leaf)
    while arena.options[OPTION_LEAF_KIND] == ELIMINATION_LEAF:
        n_left, last, fewest = 0, NO_INDEX, np.inf
        for action in range(arena.arms.shape[1]):
            if arena.arms[leaf, action, ARM_REMAINS] != 0.0:
                n_left, last, fewest = n_left + 1, action, min(fewest, arena.arms[leaf, action, ARM_PLAYS])
        if n_left == 1:
            arena.nodes[node, NODE_CHOICE] = last
            return
        plays = int(fewest)
        if plays < arena.trees[tree, TREE_FIRST_DROP]:
            schedule_check(arena, leaf, int(arena.trees[tree, TREE_FIRST_DROP]))
            return
        drop_actions(arena, tree, leaf, fewest)
        schedule_check(arena, leaf, next_check(arena, plays))
        if arena.leaves[leaf, LEAF_N_WAITING] > 0 and n_remaining(arena, leaf) > 1:
            return
