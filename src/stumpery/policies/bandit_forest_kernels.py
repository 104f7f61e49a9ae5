"""The Bandit Forest's events: descend, vote or explore, learn.

All trees descend together, level by level: a leaf is its own child, so nothing asks where a path ends. A path votes
once its leaf has chosen an action; when enough paths vote the winner is played, else one of the actions that remain on
some path. A finished leaf learns no more, and a reward of 0 touches no sums.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import kernel
from stumpery.policies import bandit_growth_kernels as growth
from stumpery.policies import explorers_kernels as explorers
from stumpery.policies.bandit_growth_kernels import (
    CHILD,
    CHOICE,
    COUNTS,
    EVERYTHING,
    IN_TURN,
    LEAF,
    LEAF_KIND,
    N_LAST,
    NEEDED,
    NEXT,
    PLAIN,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SUM,
    SUMS,
    THOMPSON,
    VARIABLE,
    WAITING,
    WEIGHING,
    WEIGHT,
    WEIGHTS,
    Float32s,
    Forest,
    Int32s,
)
from stumpery.random import integer
from stumpery.types import Bits, Floats, Integers, Words

Places = NDArray[np.uint32]
_U = np.uint32

EXPLORING, N_DECIDED, TURN = range(3)  # of the clock
N_CLOCK_FIELDS = 3
N_VOTES, EXPECTED, VARIANCE = range(3)  # rows of the votes; the last two of Thompson votes
CACHE_LINE = 16  # floats
RECENT = 1000.0  # decisions over which the share that explores is averaged


def new_rule(kind: int, strength: float) -> Floats:
    """An explorer's rule for leaves that are bandits, with a prior of one success and one failure."""
    rule = np.zeros(explorers.N_FIELDS)
    rule[explorers.KIND], rule[explorers.STRENGTH] = kind, strength
    rule[explorers.PRIOR_SUCCESSES] = rule[explorers.PRIOR_FAILURES] = 1.0
    return rule


UCB_RULE = new_rule(explorers.UPPER_CONFIDENCE, 2.0)
THOMPSON_RULE = new_rule(explorers.BETA_THOMPSON, 1.0)
VOTES_RULE = new_rule(explorers.DOUBT_THOMPSON, 1.0)  # sums up the Thompson votes of many leaves


@kernel
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


@kernel
def read(row: Bits, bits: Bits, ones: Float32s) -> None:
    """One row as bits with a clear one after the last, and as floats, in place."""
    for variable in range(row.shape[0]):
        bits[variable] = row[variable]
        ones[variable] = row[variable]
    bits[row.shape[0]] = 0


@kernel
def fill_board(forest: Forest, leaf: int, board: Floats) -> float:
    """Put what a leaf knows onto a board, in place; give the time at it."""
    time = 1.0
    for action in range(board.shape[1]):
        plays, total = forest.arms[leaf, action, PLAYS], forest.arms[leaf, action, SUM]
        board[explorers.SCORE, action] = total / plays if plays > 0.0 else np.inf
        board[explorers.DOUBT, action] = 1.0 / math.sqrt(plays) if plays > 0.0 else np.inf
        time += plays
    return time


@kernel
def bandit_vote(forest: Forest, rng: Words, leaf: int, votes: Floats, available: np.ndarray) -> None:
    """Add the vote of a leaf that is a bandit, and the mean and variance of a Thompson vote, in place."""
    board = np.zeros((explorers.N_ROWS, votes.shape[1]))
    time = fill_board(forest, leaf, board)
    if forest.rule[LEAF_KIND] != THOMPSON:
        votes[N_VOTES, explorers.choose(rng, UCB_RULE, board, available, time)[0]] += 1.0
        return
    for action in range(votes.shape[1]):
        if board[explorers.DOUBT, action] == np.inf:
            board[explorers.SCORE, action] = 0.0
    votes[N_VOTES, explorers.sample(rng, THOMPSON_RULE, board, available)] += 1.0
    for action in range(votes.shape[1]):
        if available[action]:
            chance = explorers.lead(THOMPSON_RULE, board, available, action)
            votes[EXPECTED, action] += chance
            votes[VARIANCE, action] += chance * (1.0 - chance)


@kernel
def vote_chance(votes: Floats, available: np.ndarray, action: int, n_votes: int) -> float:
    """Estimate the chance that an action wins a Thompson vote: the numbers of votes taken for normal."""
    if n_votes == 1:
        return float(votes[EXPECTED, action])
    board = np.zeros((explorers.N_ROWS, votes.shape[1]))
    for each in range(votes.shape[1]):
        board[explorers.SCORE, each] = votes[EXPECTED, each]
        board[explorers.DOUBT, each] = math.sqrt(votes[VARIANCE, each] + 1.0 / 12.0)
    return explorers.lead(VOTES_RULE, board, available, action)


@kernel
def draw_best(rng: Words, votes: Floats, available: np.ndarray) -> tuple[int, int]:
    """The available action with the most votes, drawn where several have them; 0 of them where there are no votes."""
    most, n_best, winner = 0.0, 0, -1
    for action in range(votes.shape[1]):
        if available[action] and votes[N_VOTES, action] > 0.0:
            if votes[N_VOTES, action] > most:
                most, n_best, winner = votes[N_VOTES, action], 1, action
            elif votes[N_VOTES, action] == most:
                n_best += 1
    if n_best > 1:
        skip = integer(rng, n_best)
        for action in range(votes.shape[1]):
            if available[action] and votes[N_VOTES, action] == most:
                if skip == 0:
                    return action, n_best
                skip -= 1
    return winner, n_best


@kernel
def explore(forest: Forest, rng: Words, clock: Floats, reached: Places, available: np.ndarray) -> tuple[int, float]:
    """One of the actions that remain on some path, drawn or in turn; any available one where none of them is."""
    n_actions = available.shape[0]
    union = np.zeros(n_actions, dtype=np.bool_)
    n_union, n_available = 0, 0
    for action in range(n_actions):
        n_available += available[action]
    for tree in range(reached.shape[0]):
        choice, leaf = forest.nodes[reached[tree], CHOICE], forest.nodes[reached[tree], LEAF]
        for action in range(n_actions):
            if choice == action or (choice < 0 and forest.arms[leaf, action, REMAINS] != 0.0):
                n_union += available[action] and not union[action]
                union[action] = union[action] or available[action]
        if n_union == n_available:
            break
    nobody = n_union == 0
    n_candidates = n_available if nobody else n_union
    in_turn = forest.rule[IN_TURN] == 1.0
    skip = 0 if in_turn or n_candidates == 1 else integer(rng, n_candidates)
    start = int(clock[TURN]) if in_turn else 0
    for step in range(n_actions):
        action = (start + step) % n_actions
        if available[action] and (nobody or union[action]):
            if skip == 0:
                if in_turn:
                    clock[TURN] = (action + 1) % n_actions
                return action, 1.0 if in_turn else 1.0 / n_candidates
            skip -= 1
    return -1, 0.0


@kernel
def choose(
    forest: Forest, rng: Words, clock: Floats, reached: Places, available: np.ndarray, votes: Floats
) -> tuple[int, float]:
    """Vote where enough paths have finished, else explore; the action and its chance."""
    votes[:] = 0.0
    n_votes = 0
    for tree in range(reached.shape[0]):
        choice = forest.nodes[reached[tree], CHOICE]
        if choice >= 0:
            votes[N_VOTES, choice] += 1.0
            n_votes += 1
    if forest.rule[LEAF_KIND] != growth.ELIMINATION:
        for tree in range(reached.shape[0]):
            if forest.nodes[reached[tree], CHOICE] == SELECTING_ACTION:
                bandit_vote(forest, rng, forest.nodes[reached[tree], LEAF], votes, available)
                n_votes += 1
    winner, n_best = -1, 0
    if n_votes >= forest.rule[NEEDED]:
        winner, n_best = draw_best(rng, votes, available)
    explores = n_best == 0
    clock[N_DECIDED] = min(clock[N_DECIDED] + 1.0, RECENT)
    clock[EXPLORING] += (explores - clock[EXPLORING]) / clock[N_DECIDED]
    if explores:
        return explore(forest, rng, clock, reached, available)
    if forest.rule[LEAF_KIND] == THOMPSON:
        return winner, vote_chance(votes, available, winner, n_votes)
    return winner, 1.0 / n_best


@kernel
def count(forest: Forest, reached: Places, due: Places, action: int, reward: float, usual: float) -> int:
    """Fold one reward into the leaves that were reached, in place; the trees whose time has come go into `due`."""
    nodes, leaves, arms, arm = forest.nodes, forest.leaves, forest.arms, _U(action)
    is_bandit = forest.rule[LEAF_KIND] != growth.ELIMINATION
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


@kernel
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


@kernel
def take(
    forest: Forest, rng: Words, reached: Places, ones: Float32s, action: int, reward: float, chance: float
) -> None:
    """Learn from one reward and grow the leaves whose time has come, in place."""
    forest.arms[EVERYTHING, action, PLAYS] += 1.0
    forest.arms[EVERYTHING, action, SUM] += reward
    weight = 1.0 if forest.rule[WEIGHING] == PLAIN else 1.0 / chance
    if reward != 0.0:
        add(forest, reached, ones, action, SUMS, weight * reward)
    if forest.pool[N_LAST] > 0:
        add(forest, reached, ones, action, COUNTS, 1.0)
        add(forest, reached, ones, action, WEIGHTS, weight)
    due = np.empty(reached.shape[0], dtype=np.uint32)
    for place in range(count(forest, reached, due, action, reward, weight)):
        tree = int(due[place])
        growth.check(forest, rng, tree, int(reached[tree]))


@kernel
def decide(
    rng: Words,
    nodes: Int32s,
    leaves: Int32s,
    arms: Floats,
    sums: Float32s,
    marks: Bits,
    pool: Int32s,
    trees: Floats,
    rule: Floats,
    clock: Floats,
    row: Bits,
    available: np.ndarray,
) -> tuple[int, float]:
    """Choose for one row."""
    forest = Forest(nodes, leaves, arms, sums, marks, pool, trees, rule)
    reached = np.empty(trees.shape[0], dtype=np.uint32)
    bits, ones = np.empty(row.shape[0] + 1, dtype=np.uint8), np.empty(row.shape[0], dtype=np.float32)
    read(row, bits, ones)
    descend(nodes, bits, reached)
    return choose(forest, rng, clock, reached, available, np.empty((3, available.shape[0])))


@kernel
def learn(
    rng: Words,
    nodes: Int32s,
    leaves: Int32s,
    arms: Floats,
    sums: Float32s,
    marks: Bits,
    pool: Int32s,
    trees: Floats,
    rule: Floats,
    row: Bits,
    action: int,
    reward: float,
    chance: float,
) -> None:
    """Take the reward of one row, in place."""
    forest = Forest(nodes, leaves, arms, sums, marks, pool, trees, rule)
    reached = np.empty(trees.shape[0], dtype=np.uint32)
    bits, ones = np.empty(row.shape[0] + 1, dtype=np.uint8), np.empty(row.shape[0], dtype=np.float32)
    read(row, bits, ones)
    descend(nodes, bits, reached)
    take(forest, rng, reached, ones, action, reward, chance)


@kernel
def play(
    rng: Words,
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
    chances: Floats,
) -> None:
    """Decide, look up the reward and learn, once for every row; the choices go into the last two."""
    forest = Forest(nodes, leaves, arms, sums, marks, pool, trees, rule)
    reached = np.empty(trees.shape[0], dtype=np.uint32)
    bits, ones = np.empty(rows.shape[1] + 1, dtype=np.uint8), np.empty(rows.shape[1], dtype=np.float32)
    available, votes = np.ones(rewards.shape[1], dtype=np.bool_), np.empty((3, rewards.shape[1]))
    for place in range(rows.shape[0]):
        read(rows[place], bits, ones)
        descend(nodes, bits, reached)
        action, chance = choose(forest, rng, clock, reached, available, votes)
        take(forest, rng, reached, ones, action, rewards[place, action], chance)
        actions[place], chances[place] = action, chance
