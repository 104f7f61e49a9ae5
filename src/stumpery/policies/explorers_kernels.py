"""From scores and doubts to a choice and its probability.

A scorer gives every action a score (an estimate of its reward, on the scale 0 to 1) and a doubt: 1 / sqrt(n) after n
rewards, infinite before the first. An explorer's rule is one small array, so that every scorer's kernels can hold any
explorer. All kinds but Thompson sampling fill a vector of chances and draw once from it: the probability of a choice
is exact. Thompson sampling draws from the posteriors; the probability of its choice is an estimate (see `lead`).
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import kernel
from stumpery.random import beta, choice, integer, normal, uniform
from stumpery.types import Floats, Words

GREEDY, UPPER_CONFIDENCE, INVERSE_GAP, BETA_THOMPSON, GAUSSIAN_THOMPSON = range(5)

# A rule's fields. STRENGTH is rho, the scale of the inverse gap, or the rewards' standard deviation.
KIND, EPSILON, DECAY, FLOOR, STRENGTH, PRIOR_SUCCESSES, PRIOR_FAILURES = range(7)
N_FIELDS = 7

# A board's rows, each with a column per action.
SCORE, DOUBT, VALUE, CHANCE = range(4)
N_ROWS = 4

LEAST_CHANCE = 1e-6  # of a Thompson choice: its inverse stays usable as a weight
N_NODES = 24
REACH = 4.0  # posterior standard deviations to either side


def new_board(n_actions: int) -> Floats:
    """A board on which nothing is known yet."""
    board = np.zeros((N_ROWS, n_actions))
    board[DOUBT] = np.inf
    return board


@kernel
def epsilon_at(rule: Floats, time: float) -> float:
    """The share of uniform choices at a time: epsilon * time^-decay, never below the floor."""
    epsilon: float = rule[EPSILON]
    if rule[DECAY] != 0.0:
        epsilon *= time ** -rule[DECAY]
    floor: float = rule[FLOOR]
    return max(epsilon, floor)


class Ranking(NamedTuple):
    """The highest value on a board, who has it first, how many share it, and of how many actions."""

    best: float
    leader: int
    n_best: int
    n_available: int


@kernel
def rank(rule: Floats, board: Floats, available: np.ndarray, time: float) -> Ranking:
    """Write every value onto the board, in place: the score, plus a bonus where the rule has one and there is doubt."""
    scores, doubts, values = board[SCORE], board[DOUBT], board[VALUE]
    bonus = math.sqrt(rule[STRENGTH] * math.log(time)) if rule[KIND] == UPPER_CONFIDENCE else 0.0
    best, leader, n_best, n_available = -np.inf, -1, 0, 0
    for action in range(scores.shape[0]):
        if not available[action]:
            continue
        n_available += 1
        value = scores[action]
        if bonus > 0.0 and doubts[action] < np.inf:
            value += bonus * doubts[action]
        values[action] = value
        if value > best or leader < 0:
            best, leader, n_best = value, action, 1
        elif value == best:
            n_best += 1
    return Ranking(best, leader, n_best, n_available)


@kernel
def nth(board: Floats, available: np.ndarray, least: float, n: int) -> int:
    """The n-th available action, from 0, whose value is at least `least`."""
    for action in range(board.shape[1]):
        if available[action] and board[VALUE, action] >= least:
            if n == 0:
                return action
            n -= 1
    return -1


@kernel
def posterior(rule: Floats, board: Floats, action: int) -> tuple[float, float]:
    """Mean and standard deviation of what Thompson sampling believes of an action."""
    n = 1.0 / (board[DOUBT, action] * board[DOUBT, action])
    total = n * board[SCORE, action] if n > 0.0 else 0.0
    a, b = rule[PRIOR_SUCCESSES], rule[PRIOR_FAILURES]
    mean = (a + total) / (a + b + n)
    if rule[KIND] == GAUSSIAN_THOMPSON:
        return mean, rule[STRENGTH] / math.sqrt(a + b + n)
    return mean, math.sqrt(mean * (1.0 - mean) / (a + b + n + 1.0))


@kernel
def below(z: float) -> float:
    """The standard normal distribution function, to 1.5e-4 (Page 1977)."""
    return 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.070566 * z * z)))


@kernel
def lead(rule: Floats, board: Floats, available: np.ndarray, action: int) -> float:
    """Estimate the chance that an action's posterior draw is the largest.

    Every posterior is taken for a normal one with the same mean and variance, and the integral of the action's density
    times the others' distribution functions for a sum over nodes; each function is smoothed over a node's width, so
    that a narrow rival of a wide action is not missed between two nodes.
    """
    mean, sd = posterior(rule, board, action)
    step = 2.0 * REACH / N_NODES
    weights = np.empty(N_NODES)
    mass = 0.0
    for node in range(N_NODES):
        z = (node + 0.5) * step - REACH
        weights[node] = math.exp(-0.5 * z * z)
        mass += weights[node]
    for rival in range(board.shape[1]):
        if rival == action or not available[rival]:
            continue
        rival_mean, rival_sd = posterior(rule, board, rival)
        spread = math.sqrt(rival_sd * rival_sd + step * step * sd * sd / 12.0)
        first = (mean - sd * REACH - rival_mean) / spread
        if first > REACH:  # a rival left behind
            continue
        for node in range(N_NODES):
            weights[node] *= below(first + (node + 0.5) * step * sd / spread)
    total = 0.0
    for node in range(N_NODES):
        total += weights[node]
    return max(total / mass, LEAST_CHANCE)


@kernel
def fill_chances(rule: Floats, board: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's chance onto the board, in place."""
    best, _, n_best, n_available = rank(rule, board, available, time)
    epsilon = epsilon_at(rule, time)
    sharpness = rule[STRENGTH] * math.sqrt(time)
    left = 1.0
    for action in range(board.shape[1]):
        share = 0.0
        if available[action]:
            if rule[KIND] >= BETA_THOMPSON:
                share = lead(rule, board, available, action)
                board[VALUE, action] = posterior(rule, board, action)[0]
            elif rule[KIND] == INVERSE_GAP and board[VALUE, action] < best < np.inf:
                share = 1.0 / (n_available + sharpness * (best - board[VALUE, action]))
            left -= share
            share = epsilon / n_available + (1.0 - epsilon) * share
        board[CHANCE, action] = share
    if rule[KIND] < BETA_THOMPSON:
        for action in range(board.shape[1]):
            if available[action] and board[VALUE, action] == best:
                board[CHANCE, action] = epsilon / n_available + (1.0 - epsilon) * left / n_best


@kernel
def sample(rng: Words, rule: Floats, board: Floats, available: np.ndarray) -> int:
    """Draw once from every available action's posterior and take the largest; ties have chance 0."""
    winner, highest = -1, -np.inf
    for action in range(board.shape[1]):
        if available[action]:
            mean, sd = posterior(rule, board, action)
            if rule[KIND] == BETA_THOMPSON:
                n = 1.0 / (board[DOUBT, action] * board[DOUBT, action]) + rule[PRIOR_SUCCESSES] + rule[PRIOR_FAILURES]
                draw = beta(rng, n * mean, n * (1.0 - mean))
            else:
                draw = mean + sd * normal(rng)
            if winner < 0 or draw > highest:
                winner, highest = action, draw
    return winner


@kernel
def choose(rng: Words, rule: Floats, board: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw an action; give it and the chance with which it was drawn. Values and chances on the board are scratch."""
    if rule[KIND] == INVERSE_GAP:
        fill_chances(rule, board, available, time)
        action = choice(rng, board[CHANCE])
        return action, board[CHANCE, action]
    best, leader, n_best, n_available = rank(rule, board, available, time)
    epsilon = epsilon_at(rule, time)
    explores = epsilon > 0.0 and uniform(rng) < epsilon
    if explores:
        action = nth(board, available, -np.inf, integer(rng, n_available))
    elif rule[KIND] >= BETA_THOMPSON:
        action = sample(rng, rule, board, available)
    else:
        action = leader if n_best == 1 else nth(board, available, best, integer(rng, n_best))
    if rule[KIND] >= BETA_THOMPSON:
        share = lead(rule, board, available, action)
    else:
        share = 1.0 / n_best if board[VALUE, action] == best else 0.0
    return action, epsilon / n_available + (1.0 - epsilon) * share
