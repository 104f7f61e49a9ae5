"""Elimination of variables and actions in the leaves of bandit trees: variables until one is left, then actions.

With K actions, M variables, L trees of depth D and t plays of each action at a node, a variable goes when its estimate
is 4 sqrt(log(4 K M D L t^2 / delta) / (2 t)) - epsilon below the best one's, equation (3) of Feraud et al. 2016, and
once the path is complete an action goes by 2 sqrt(log(4 K L t^2 / delta) / (2 t)) - epsilon, equation (4).
"""

import math

import numpy as np

from stumpery.jit import internal
from stumpery.policies.bandit_forest.state_kernels import (
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
    BanditState,
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
def schedule_check(state: BanditState, leaf: int, plays: int) -> None:
    """Schedule a leaf's check for when every remaining action has this many plays, in place."""
    n_waiting = 0
    for action in range(state.arms.shape[1]):
        if state.arms[leaf, action, ARM_REMAINS] != 0.0 and state.arms[leaf, action, ARM_PLAYS] < plays:
            n_waiting += 1
    state.leaves[leaf, LEAF_NEXT_CHECK] = min(plays, MAX_CHECK_PLAYS)
    state.leaves[leaf, LEAF_N_WAITING] = n_waiting


@internal
def next_check(state: BanditState, plays: int) -> int:
    """The plays at which to check after a check at `plays`: more by a fixed share, at least by one."""
    return int(max(plays + 1.0, np.ceil(plays * (1.0 + state.options[OPTION_CHECK_GROWTH]))))


@internal
def fill_scales(state: BanditState, leaf: int, scales: Floats) -> None:
    """Write the factor that turns each action's sum into its mean, in place; 0 where there are no rewards."""
    total = 0.0
    for action in range(scales.shape[0]):
        total += state.arms[leaf, action, ARM_PLAYS]
    for action in range(scales.shape[0]):
        is_ips = state.options[OPTION_WEIGHTING] == INVERSE_PROPENSITY
        divisor = total if is_ips else state.arms[leaf, action, ARM_WEIGHT]
        scales[action] = 1.0 / divisor if divisor > 0.0 else 0.0


@internal
def fill_variable_rewards(state: BanditState, leaf: int, scales: Floats, values: Floats) -> None:
    """Write every variable's estimated reward with the best action for each of its two values, in place."""
    block = state.leaves[leaf, LEAF_SUMS]
    clear = np.zeros(values.shape[0])
    values[:] = 0.0
    for action in range(scales.shape[0]):
        scale, total = scales[action], state.arms[leaf, action, ARM_SUM]
        for variable in range(values.shape[0]):  # selects instead of branches, so that the loop is vectorised
            sum_set = float(state.sums[block, action, variable])
            with_set, with_clear = sum_set * scale, (total - sum_set) * scale
            values[variable] = with_set if with_set > values[variable] else values[variable]
            clear[variable] = with_clear if with_clear > clear[variable] else clear[variable]
    for variable in range(values.shape[0]):
        values[variable] += clear[variable]


@internal
def surviving_variable(state: BanditState, tree: int, leaf: int) -> int:
    """Drop the variables that equation (3) eliminates, in place; return the last one, or NO_INDEX if more remain."""
    n_actions, n_variables = state.sums.shape[1], state.sums.shape[2]
    plays, marks = state.leaves[leaf, LEAF_NEXT_CHECK], state.marks[state.leaves[leaf, LEAF_SUMS]]
    n_hypotheses = float(n_actions) * n_variables * state.trees[tree, TREE_MAX_DEPTH] * state.trees.shape[0]
    needed = elimination_bound(4.0, n_hypotheses, plays, state.options[OPTION_DELTA]) - state.trees[tree, TREE_EPSILON]
    scales, values = np.empty(n_actions), np.empty(n_variables)
    fill_scales(state, leaf, scales)
    highest, n_left = 0.0, 0
    for action in range(n_actions):
        highest = max(highest, scales[action] * state.arms[leaf, action, ARM_SUM])
    for variable in range(n_variables):
        n_left += marks[variable] == MARK_CANDIDATE
    if n_left > 1 and needed > highest * ROUNDING_MARGIN:  # all estimates lie between the highest mean and twice that
        return NO_INDEX
    fill_variable_rewards(state, leaf, scales, values)
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
def drop_actions(state: BanditState, tree: int, leaf: int, plays: float) -> None:
    """Drop the actions that equation (4) eliminates, in place."""
    n_actions = state.arms.shape[1]
    n_hypotheses = float(n_actions) * state.trees.shape[0]
    needed = elimination_bound(2.0, n_hypotheses, plays, state.options[OPTION_DELTA]) - state.trees[tree, TREE_EPSILON]
    means = np.empty(n_actions)
    fill_scales(state, leaf, means)
    leader = NO_INDEX
    for action in range(n_actions):
        means[action] *= state.arms[leaf, action, ARM_SUM]
        remains = state.arms[leaf, action, ARM_REMAINS] != 0.0
        if remains and (leader == NO_INDEX or means[action] > means[leader]):
            leader = action
    for action in range(n_actions):
        if action != leader and means[leader] - means[action] >= needed:
            state.arms[leaf, action, ARM_REMAINS] = 0.0


@internal
def n_remaining(state: BanditState, leaf: int) -> int:
    """The number of actions that remain in a leaf."""
    n_left = 0
    for action in range(state.arms.shape[1]):
        n_left += state.arms[leaf, action, ARM_REMAINS] != 0.0
    return n_left


@internal
def unweight_sums(state: BanditState, leaf: int) -> None:
    """Scale a leaf's sums from weights to plays, in place: bandit algorithms count rewards without weights."""
    for action in range(state.arms.shape[1]):
        plays, weight = state.arms[leaf, action, ARM_PLAYS], state.arms[leaf, action, ARM_WEIGHT]
        total = state.arms[leaf, action, ARM_SUM] * (plays / weight if weight > 0.0 else 0.0)
        state.arms[leaf, action, ARM_SUM] = min(total, plays)
        state.arms[leaf, action, ARM_WEIGHT] = plays


@internal
def select_action(state: BanditState, tree: int, node: int) -> None:
    """Eliminate actions as far as their plays allow; a leaf with one action left chooses it; in place."""
    leaf = leaf_of(state, node)
    state.nodes[node, NODE_CHOICE] = SELECTING_ACTION
    state.leaves[leaf, LEAF_NEXT_CHECK] = 0
    if state.options[OPTION_LEAF_KIND] != ELIMINATION_LEAF:
        unweight_sums(state, leaf)
    while state.options[OPTION_LEAF_KIND] == ELIMINATION_LEAF:
        n_left, last, fewest = 0, NO_INDEX, np.inf
        for action in range(state.arms.shape[1]):
            if state.arms[leaf, action, ARM_REMAINS] != 0.0:
                n_left, last, fewest = n_left + 1, action, min(fewest, state.arms[leaf, action, ARM_PLAYS])
        if n_left == 1:
            state.nodes[node, NODE_CHOICE] = last
            return
        plays = int(fewest)
        if plays < state.trees[tree, TREE_FIRST_DROP]:
            schedule_check(state, leaf, int(state.trees[tree, TREE_FIRST_DROP]))
            return
        drop_actions(state, tree, leaf, fewest)
        schedule_check(state, leaf, next_check(state, plays))
        if state.leaves[leaf, LEAF_N_WAITING] > 0 and n_remaining(state, leaf) > 1:
            return
