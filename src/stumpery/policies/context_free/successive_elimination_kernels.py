"""Successive elimination: play all remaining actions in turn; drop those that are significantly worse.

With K actions, mean rewards m_k and t plays of each remaining action, k goes when
max m - m_k + epsilon >= 2 sqrt(log(4 K t^2 / delta) / (2 t)), equation (2) of Feraud et al. 2016.
"""

import math

import numpy as np

from stumpery.jit import kernel
from stumpery.random import integer
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, RandomState

# Fields of the options, and of the clock: whose turn it is, and the plays of every action at the last check.
OPTION_EPSILON, OPTION_DELTA, OPTION_IN_TURN = range(3)
CLOCK_TURN, CLOCK_CHECKED_PLAYS = range(2)


@kernel
def elimination_bound(n_actions: int, plays: float, delta: float) -> float:
    """The right-hand side of equation (2)."""
    return 2.0 * math.sqrt(math.log(4.0 * n_actions * plays * plays / delta) / (2.0 * plays))


@kernel
def fewest_plays(arms: Floats, remaining: np.ndarray) -> float:
    """The smallest number of plays among the remaining actions."""
    plays = np.inf
    for action in range(remaining.shape[0]):
        if remaining[action]:
            plays = min(plays, arms[action, moments.COUNT])
    return plays


@kernel
def eliminate(arms: Floats, remaining: np.ndarray, options: Floats, plays: float) -> None:
    """Drop every remaining action that equation (2) eliminates, in place; the best one stays."""
    n_actions = remaining.shape[0]
    leader = -1
    for action in range(n_actions):
        if remaining[action] and (leader < 0 or arms[action, moments.MEAN] > arms[leader, moments.MEAN]):
            leader = action
    needed = elimination_bound(n_actions, plays, options[OPTION_DELTA]) - options[OPTION_EPSILON]
    for action in range(n_actions):
        if action != leader and arms[leader, moments.MEAN] - arms[action, moments.MEAN] >= needed:
            remaining[action] = False


@kernel
def learn(arms: Floats, remaining: np.ndarray, clock: Floats, options: Floats, action: int, reward: float) -> None:
    """Learn a reward, in place; test for elimination when the smallest number of plays has risen."""
    moments.add(arms, action, reward, 1.0)
    if remaining[action]:
        plays = fewest_plays(arms, remaining)
        if plays > clock[CLOCK_CHECKED_PLAYS]:
            clock[CLOCK_CHECKED_PLAYS] = plays
            eliminate(arms, remaining, options, plays)


@kernel
def decide(
    rng: RandomState, remaining: np.ndarray, clock: Floats, options: Floats, available: np.ndarray
) -> tuple[int, float]:
    """The next available remaining action in turn, or one drawn; any available one if none remains."""
    n_actions = remaining.shape[0]
    n_open, n_available = 0, 0
    for action in range(n_actions):
        n_available += available[action]
        n_open += available[action] and remaining[action]
    none_remain = n_open == 0
    n_candidates = n_available if none_remain else n_open
    in_turn = options[OPTION_IN_TURN] == 1.0 and not none_remain
    skip = 0 if in_turn else integer(rng, n_candidates)
    start = int(clock[CLOCK_TURN]) if in_turn else 0
    for step in range(n_actions):
        action = (start + step) % n_actions
        if available[action] and (none_remain or remaining[action]):
            if skip == 0:
                if in_turn:
                    clock[CLOCK_TURN] = (action + 1) % n_actions
                return action, 1.0 if in_turn else 1.0 / n_candidates
            skip -= 1
    return -1, 0.0


@kernel
def play(
    rng: RandomState,
    arms: Floats,
    remaining: np.ndarray,
    clock: Floats,
    options: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
) -> None:
    """Decide, look up the reward and learn, for every row of `rewards`; writes choices into the last two."""
    available = np.ones(rewards.shape[1], dtype=np.bool_)
    for row in range(rewards.shape[0]):
        action, probability = decide(rng, remaining, clock, options, available)
        learn(arms, remaining, clock, options, action, rewards[row, action])
        actions[row], probabilities[row] = action, probability
