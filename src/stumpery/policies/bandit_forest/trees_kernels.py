"""The Bandit Forest's events: descend, choose, learn.

All trees descend together, level by level: a leaf is its own child, so nothing asks where a path ends. A finished leaf
learns no more, and a reward of 0 touches no sums.
"""

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies.bandit_forest import arena_kernels as arena
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest import votes_kernels as voting
from stumpery.policies.bandit_forest.arena_kernels import (
    CHILD,
    CHOICE,
    COUNTS,
    EVERYTHING,
    LEAF,
    LEAF_KIND,
    N_LAST,
    NEXT,
    PLAIN,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SUM,
    SUMS,
    VARIABLE,
    WAITING,
    WEIGHING,
    WEIGHT,
    WEIGHTS,
    Float32s,
    Forest,
    Int32s,
)
from stumpery.policies.bandit_forest.votes_kernels import Places
from stumpery.policies.exploration.explorer_kernels import DECIDES, LEARNS
from stumpery.types import Bits, Floats, Integers, RandomState

_U = np.uint32

CACHE_LINE = 16  # floats


@internal
def descend(nodes: Int32s, bits: Bits, reached: Places) -> None:
    """Write the node that the bits lead to in every tree into `reached`, in place; the bit after the last is clear.

    Unsigned places are half the work: nothing asks whether they count from an array's end.
    """
    for tree in range(reached.shape[0]):
        reached[tree] = tree
    moving = _U(1)
    while moving != _U(0):
        moving = _U(0)
        for tree in range(reached.shape[0]):
            node = reached[tree]
            following = _U(nodes[node, CHILD]) + _U(bits[_U(nodes[node, VARIABLE])])
            moving |= following ^ node
            reached[tree] = following


@internal
def read(row: Bits, bits: Bits, ones: Float32s) -> None:
    """One row as bits with a clear one after the last, and as floats, in place."""
    for variable in range(row.shape[0]):
        bits[variable] = row[variable]
        ones[variable] = row[variable]
    bits[row.shape[0]] = 0


@internal
def count(forest: Forest, reached: Places, due: Places, action: int, reward: float, usual: float) -> int:
    """Fold one reward into the leaves that were reached, in place; the trees whose time has come go into `due`."""
    nodes, leaves, arms, arm = forest.nodes, forest.leaves, forest.arms, _U(action)
    is_bandit = forest.rule[LEAF_KIND] != arena.ELIMINATION
    n_due = 0
    for tree in range(reached.shape[0]):
        node = reached[tree]
        choice = nodes[node, CHOICE]
        if choice >= 0:
            continue
        leaf = _U(nodes[node, LEAF])
        weight = 1.0 if is_bandit and choice == SELECTING_ACTION else usual
        plays = arms[leaf, arm, PLAYS] + 1.0
        arms[leaf, arm, PLAYS] = plays
        arms[leaf, arm, WEIGHT] += weight
        if reward != 0.0:
            arms[leaf, arm, SUM] += weight * reward
        if plays == leaves[leaf, NEXT] and arms[leaf, arm, REMAINS] != 0.0:
            leaves[leaf, WAITING] -= 1
            if leaves[leaf, WAITING] == 0:
                due[n_due] = tree
                n_due += 1
    return n_due


@internal
def add(forest: Forest, reached: Places, ones: Float32s, action: int, field: int, gain: float) -> None:
    """Add a gain to the sums of all bits that are set, in the blocks of the leaves that were reached, in place."""
    nodes, leaves, sums, arm, step = forest.nodes, forest.leaves, forest.sums, _U(action), np.float32(gain)
    for tree in range(reached.shape[0]):  # ask for all memory at once, so that the trees do not wait one by one
        block = leaves[_U(nodes[reached[tree], LEAF]), field]
        if block >= 0:
            for variable in range(0, ones.shape[0], CACHE_LINE):
                if sums[_U(block), arm, variable] < np.float32(0.0):
                    return  # never: there are no negative rewards
    for tree in range(reached.shape[0]):
        block = leaves[_U(nodes[reached[tree], LEAF]), field]
        if block >= 0:
            for variable in range(ones.shape[0]):
                sums[_U(block), arm, variable] += step * ones[variable]


@internal
def take(
    forest: Forest, reached: Places, due: Places, ones: Float32s, action: int, reward: float, probability: float
) -> int:
    """Learn from one reward, in place; give how many trees are due to grow."""
    forest.arms[EVERYTHING, action, PLAYS] += 1.0
    forest.arms[EVERYTHING, action, SUM] += reward
    weight = 1.0 if forest.rule[WEIGHING] == PLAIN else 1.0 / probability
    if reward != 0.0:
        add(forest, reached, ones, action, SUMS, weight * reward)
    if forest.pool[N_LAST] > 0:
        for field, gain in ((COUNTS, 1.0), (WEIGHTS, weight)):
            add(forest, reached, ones, action, field, gain)
    return count(forest, reached, due, action, reward, weight)


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
    rule: Floats,
    clock: Floats,
    rows: Bits,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: np.ndarray,
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, or both.

    One entry for all, since each would compile the whole forest anew. `rewards` has a column per action where it does
    both, else one.
    """
    forest = Forest(nodes, leaves, arms, sums, marks, pool, trees, rule)
    reached, due = np.empty(trees.shape[0], dtype=np.uint32), np.empty(trees.shape[0], dtype=np.uint32)
    votes = np.empty((voting.N_VOTE_ROWS, arms.shape[1]))
    bits, ones = np.empty(rows.shape[1] + 1, dtype=np.uint8), np.empty(rows.shape[1], dtype=np.float32)
    for place in range(rows.shape[0]):
        read(rows[place], bits, ones)
        descend(nodes, bits, reached)
        if does & DECIDES:
            actions[place], probabilities[place] = voting.choose(forest, rng, clock, reached, available, votes)
        if does & LEARNS:
            action = actions[place]
            reward = rewards[place, action if does & DECIDES else 0]
            for nth in range(take(forest, reached, due, ones, action, reward, probabilities[place])):
                tree = arena.wide(due[nth])
                growth.check(forest, rng, tree, arena.wide(reached[tree]))
