"""A committee of neural networks (Allesiardo, Féraud, Bouneffouf 2014).

A member plays the action of its highest prediction, or any action with the chance gamma; which member to trust is
learned by Exp3 (Auer et al. 2002). The chance of an action is the mean of the members' chances, weighted by trust, so
that it is exact, and every member can be paid for what it would have played.
"""

import math

import numpy as np

from stumpery.jit import kernel
from stumpery.policies import features_kernels as features
from stumpery.policies.explorers_kernels import CHANCE, DOUBT, N_ROWS, SCORE, VALUE
from stumpery.policies.networks_kernels import CREDIT, Networks, Thoughts, correct, think
from stumpery.random import choice
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, Words

# A rule's fields: the shares of uniform choices among actions and among members.
GAMMA, EXPLORE = range(2)


@kernel
def lead(guesses: Floats, available: np.ndarray, action: int) -> float:
    """An action's share of a member's lead: 1 for the highest guess alone, equal shares where some tie."""
    n_best = 1
    for other in range(guesses.shape[0]):
        if available[other]:
            if guesses[other] > guesses[action]:
                return 0.0
            n_best += other != action and guesses[other] == guesses[action]
    return 1.0 / n_best


@kernel
def trust(rule: Floats, committee: Floats) -> Floats:
    """The chance of every member to be followed; credits are at most 0 and one of them is 0."""
    chances = np.exp(committee[:, CREDIT])
    total = 0.0
    for member in range(chances.shape[0]):
        total += chances[member]
    for member in range(chances.shape[0]):
        chances[member] = rule[EXPLORE] / chances.shape[0] + (1.0 - rule[EXPLORE]) * chances[member] / total
    return chances


@kernel
def fill_from(board: Floats, rule: Floats, available: np.ndarray, committee: Floats, guesses: Floats) -> None:
    """Write the trusted mean of the guesses, their spread and the chances onto the board, in place."""
    trusted = trust(rule, committee)
    n_available = 0
    for action in range(board.shape[1]):
        n_available += available[action]
    total = 0.0
    for action in range(board.shape[1]):
        score, square, share = 0.0, 0.0, 0.0
        for member in range(guesses.shape[0]):
            score += trusted[member] * guesses[member, action]
            square += trusted[member] * guesses[member, action] * guesses[member, action]
            if available[action]:
                share += trusted[member] * lead(guesses[member], available, action)
        board[SCORE, action] = board[VALUE, action] = score
        board[DOUBT, action] = math.sqrt(max(square - score * score, 0.0))
        board[CHANCE, action] = rule[GAMMA] / n_available + (1.0 - rule[GAMMA]) * share if available[action] else 0.0
        total += board[CHANCE, action]
    for action in range(board.shape[1]):  # trust may miss 1 by a rounding
        board[CHANCE, action] /= total


@kernel
def credit(rule: Floats, committee: Floats, guesses: Floats, action: int, reward: float, chance: float) -> None:
    """Give every member its estimated reward, in place: its own chance of the action times reward / chance."""
    n_members, n_actions = guesses.shape
    available = np.ones(n_actions, dtype=np.bool_)
    highest = -np.inf
    for member in range(n_members):
        own = rule[GAMMA] / n_actions + (1.0 - rule[GAMMA]) * lead(guesses[member], available, action)
        committee[member, CREDIT] += rule[EXPLORE] / n_members * own * reward / chance
        highest = max(highest, committee[member, CREDIT])
    for member in range(n_members):
        committee[member, CREDIT] -= highest


@kernel
def learn_from(
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    committee: Floats,
    networks: Networks,
    thoughts: Thoughts,
    row: Floats,
    action: int,
    reward: float,
    chance: float,
) -> None:
    """Fold the reward of a row into all that is kept, in place."""
    credit(rule, committee, thoughts.guesses, action, reward, chance)
    correct(committee, networks, thoughts, action, reward, chance)
    features.observe(columns, row)
    moments.add(arms, action, reward, 1.0)
    clock[0] += 1.0


@kernel
def fill_board(
    board: Floats,
    rule: Floats,
    available: np.ndarray,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    row: Floats,
) -> None:
    """Write scores, doubts, values and chances for one row onto the board, in place."""
    fill_from(board, rule, available, committee, think(committee, columns, Networks(hidden, outputs), row).guesses)


@kernel
def decide(
    rng: Words,
    rule: Floats,
    available: np.ndarray,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    row: Floats,
) -> tuple[int, float]:
    """Choose for one row."""
    board = np.empty((N_ROWS, outputs.shape[0]))
    fill_board(board, rule, available, columns, committee, hidden, outputs, row)
    action = choice(rng, board[CHANCE])
    return action, board[CHANCE, action]


@kernel
def learn(
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    row: Floats,
    action: int,
    reward: float,
    chance: float,
) -> None:
    """Fold the reward of one row into all that is kept, in place."""
    networks = Networks(hidden, outputs)
    thoughts = think(committee, columns, networks, row)
    learn_from(rule, clock, arms, columns, committee, networks, thoughts, row, action, reward, chance)


@kernel
def play(
    rng: Words,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    chances: Floats,
) -> None:
    """Decide, look up the reward and learn, once for every row; the choices go into the last two."""
    networks = Networks(hidden, outputs)
    available = np.ones(outputs.shape[0], dtype=np.bool_)
    board = np.empty((N_ROWS, outputs.shape[0]))
    for place in range(rows.shape[0]):
        row = rows[place]
        thoughts = think(committee, columns, networks, row)
        fill_from(board, rule, available, committee, thoughts.guesses)
        action = choice(rng, board[CHANCE])
        actions[place], chances[place] = action, board[CHANCE, action]
        reward, chance = rewards[place, action], chances[place]
        learn_from(rule, clock, arms, columns, committee, networks, thoughts, row, action, reward, chance)
