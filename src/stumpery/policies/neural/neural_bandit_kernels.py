"""A committee of neural networks (Allesiardo, Féraud, Bouneffouf 2014).

A member plays the action of its highest prediction, or any action with the chance gamma; which member to trust is
learned by Exp3 (Auer et al. 2002). The chance of an action is the mean of the members' chances, weighted by trust, so
that it is exact, and every member can be paid for what it would have played.
"""

import math

import numpy as np

from stumpery.jit import kernel, part
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration.explorers_kernels import CHANCE, DECIDES, DOUBT, LEARNS, SCORE, VALUE
from stumpery.policies.neural.network_kernels import CREDIT, Networks, correct, think
from stumpery.random import choice
from stumpery.types import Floats, Integers, Words

# A rule's fields: the shares of uniform choices among actions and among members.
GAMMA, EXPLORE = range(2)


@part
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
    chances = np.empty(committee.shape[0])
    total = 0.0
    for member in range(chances.shape[0]):
        chances[member] = math.exp(committee[member, CREDIT])
        total += chances[member]
    for member in range(chances.shape[0]):
        chances[member] = rule[EXPLORE] / chances.shape[0] + (1.0 - rule[EXPLORE]) * chances[member] / total
    return chances


@part
def fill_board(board: Floats, rule: Floats, available: np.ndarray, committee: Floats, guesses: Floats) -> None:
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


@part
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
def run(
    rng: Words,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    board: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    chances: Floats,
    available: np.ndarray,
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, both, or fill the board."""
    networks = Networks(hidden, outputs)
    for place in range(rows.shape[0]):
        thoughts = think(committee, columns, networks, rows[place])
        if not does & LEARNS or does & DECIDES:
            fill_board(board, rule, available, committee, thoughts.guesses)
        if does & DECIDES:
            actions[place] = choice(rng, board[CHANCE])
            chances[place] = board[CHANCE, actions[place]]
        if does & LEARNS:
            action, chance = actions[place], chances[place]
            reward = rewards[place, action if does & DECIDES else 0]
            credit(rule, committee, thoughts.guesses, action, reward, chance)
            correct(committee, networks, thoughts, action, reward, chance)
            features.note(clock, arms, columns, rows[place], action, reward)
