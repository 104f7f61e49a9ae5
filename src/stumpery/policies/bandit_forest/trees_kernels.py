"""Events of bandit trees: descend to the leaves, choose an action, learn its reward.

All trees descend together, level by level: a leaf is its own child, so no branch tests for its end. A leaf that
has chosen its action learns no more, and a reward of 0 changes no sums.
"""

import numpy as np

from stumpery.array_forest.forest_kernels import as_int64
from stumpery.jit import internal, kernel
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest import votes_kernels as voting
from stumpery.policies.bandit_forest.state_kernels import (
    ALL_EVENTS,
    ARM_PLAYS,
    ARM_REMAINS,
    ARM_SUM,
    ARM_WEIGHT,
    ELIMINATION_LEAF,
    LEAF_COUNTS,
    LEAF_N_WAITING,
    LEAF_NEXT_CHECK,
    LEAF_SUMS,
    LEAF_WEIGHTS,
    NODE_CHILD,
    NODE_CHOICE,
    NODE_LEAF,
    NODE_VARIABLE,
    OPTION_LEAF_KIND,
    OPTION_WEIGHTING,
    POOL_N_LAST_LEVEL,
    SELECTING_ACTION,
    UNWEIGHTED,
    BanditState,
    Float32s,
    Int32s,
)
from stumpery.policies.bandit_forest.votes_kernels import NodeIndices
from stumpery.policies.mode_kernels import DECIDES, LEARNS, reward_of
from stumpery.types import Bits, Floats, Integers, RandomState

_U = np.uint32

FLOATS_PER_CACHE_LINE = 16


@internal
def descend(nodes: Int32s, bits: Bits, reached: NodeIndices) -> None:
    """Write the leaf node that a row of bits reaches in every tree into `reached`, in place.

    The bit after the last is clear. Unsigned indices need no test for negative ones, which is half the work.
    """
    for tree in range(reached.shape[0]):
        reached[tree] = tree
    moving = _U(1)
    while moving != _U(0):
        moving = _U(0)
        for tree in range(reached.shape[0]):
            node = reached[tree]
            following = _U(nodes[node, NODE_CHILD]) + _U(bits[_U(nodes[node, NODE_VARIABLE])])
            moving |= following ^ node
            reached[tree] = following


@internal
def read_bits(row: Bits, bits: Bits, ones: Float32s) -> None:
    """Write a row as bits with a clear one after the last, and as floats, in place."""
    for variable in range(row.shape[0]):
        bits[variable] = row[variable]
        ones[variable] = row[variable]
    bits[row.shape[0]] = 0


@internal
def update_leaves(
    state: BanditState, reached: NodeIndices, due: NodeIndices, action: int, reward: float, weight: float
) -> int:
    """Update the reached leaves with one reward, in place; write the trees to check into `due`, return their number."""
    nodes, leaves, arms, arm = state.nodes, state.leaves, state.arms, _U(action)
    is_bandit = state.options[OPTION_LEAF_KIND] != ELIMINATION_LEAF
    n_due = 0
    for tree in range(reached.shape[0]):
        node = reached[tree]
        choice = nodes[node, NODE_CHOICE]
        if choice >= 0:
            continue
        leaf = _U(nodes[node, NODE_LEAF])
        leaf_weight = 1.0 if is_bandit and choice == SELECTING_ACTION else weight
        plays = arms[leaf, arm, ARM_PLAYS] + 1.0
        arms[leaf, arm, ARM_PLAYS] = plays
        arms[leaf, arm, ARM_WEIGHT] += leaf_weight
        if reward != 0.0:
            arms[leaf, arm, ARM_SUM] += leaf_weight * reward
        if plays == leaves[leaf, LEAF_NEXT_CHECK] and arms[leaf, arm, ARM_REMAINS] != 0.0:
            leaves[leaf, LEAF_N_WAITING] -= 1
            if leaves[leaf, LEAF_N_WAITING] == 0:
                due[n_due] = tree
                n_due += 1
    return n_due


@internal
def add_to_sums(state: BanditState, reached: NodeIndices, ones: Float32s, action: int, field: int, gain: float) -> None:
    """Add a gain to the sums of all set bits in the blocks of the reached leaves, in place."""
    nodes, leaves, sums, arm, step = state.nodes, state.leaves, state.sums, _U(action), np.float32(gain)
    for tree in range(reached.shape[0]):  # reads all blocks first, so that their cache misses overlap
        block = leaves[_U(nodes[reached[tree], NODE_LEAF]), field]
        if block >= 0:
            for variable in range(0, ones.shape[0], FLOATS_PER_CACHE_LINE):
                if sums[_U(block), arm, variable] < np.float32(0.0):
                    return  # never happens: sums are not negative
    for tree in range(reached.shape[0]):
        block = leaves[_U(nodes[reached[tree], NODE_LEAF]), field]
        if block >= 0:
            for variable in range(ones.shape[0]):
                sums[_U(block), arm, variable] += step * ones[variable]


@internal
def learn_event(
    state: BanditState,
    reached: NodeIndices,
    due: NodeIndices,
    ones: Float32s,
    action: int,
    reward: float,
    probability: float,
) -> int:
    """Learn from one reward, in place; return how many trees are due for a check."""
    state.arms[ALL_EVENTS, action, ARM_PLAYS] += 1.0
    state.arms[ALL_EVENTS, action, ARM_SUM] += reward
    weight = 1.0 if state.options[OPTION_WEIGHTING] == UNWEIGHTED else 1.0 / probability
    if reward != 0.0:
        add_to_sums(state, reached, ones, action, LEAF_SUMS, weight * reward)
    if state.pool[POOL_N_LAST_LEVEL] > 0:
        for field, gain in ((LEAF_COUNTS, 1.0), (LEAF_WEIGHTS, weight)):
            add_to_sums(state, reached, ones, action, field, gain)
    return update_leaves(state, reached, due, action, reward, weight)


@kernel
def run(
    rng: RandomState,
    nodes: Int32s,
    leaves: Int32s,
    arms: Floats,
    sums: Float32s,
    marks: Bits,
    pool: Int32s,
    trees: Floats,
    options: Floats,
    clock: Floats,
    rows: Bits,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: np.ndarray,
    mode: int,
) -> None:
    """Go along rows by `mode`, in place: decide, learn the given actions, or both; see `mode_kernels`."""
    state = BanditState(nodes, leaves, arms, sums, marks, pool, trees, options)
    reached, due = np.empty(trees.shape[0], dtype=np.uint32), np.empty(trees.shape[0], dtype=np.uint32)
    votes = np.empty((voting.N_VOTE_ROWS, arms.shape[1]))
    bits, ones = np.empty(rows.shape[1] + 1, dtype=np.uint8), np.empty(rows.shape[1], dtype=np.float32)
    for row in range(rows.shape[0]):
        read_bits(rows[row], bits, ones)
        descend(nodes, bits, reached)
        if mode & DECIDES:
            actions[row], probabilities[row] = voting.choose(state, rng, clock, reached, available, votes)
        if mode & LEARNS:
            action = actions[row]
            reward = reward_of(rewards, row, action, mode)
            for index in range(learn_event(state, reached, due, ones, action, reward, probabilities[row])):
                tree = as_int64(due[index])
                growth.check_leaf(state, rng, tree, as_int64(reached[tree]))
