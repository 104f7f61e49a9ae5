"""Mean rewards without context: the simplest scorer.

An action's moments and its column of the board change only when its reward comes, so a decision has nothing to compute
but the explorer's choice.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.policies.exploration import explorers_kernels as explorers
from stumpery.policies.exploration.explorers_kernels import DOUBT, SCORE
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, Words


@kernel
def learn(arms: Floats, board: Floats, clock: Floats, action: int, reward: float) -> None:
    """Fold one reward into an action's moments and put its new score and doubt on the board, in place."""
    moments.add(arms, action, reward, 1.0)
    board[SCORE, action] = arms[action, moments.MEAN]
    board[DOUBT, action] = 1.0 / np.sqrt(arms[action, moments.COUNT])
    clock[0] += 1.0


@kernel
def decide(rng: Words, rule: Floats, board: Floats, available: np.ndarray, clock: Floats) -> tuple[int, float]:
    """Choose by the board; the time is one more than the rewards seen."""
    return explorers.choose(rng, rule, board, available, clock[0] + 1.0)


@kernel
def decide_all(
    rng: Words,
    rule: Floats,
    board: Floats,
    available: np.ndarray,
    clock: Floats,
    actions: Integers,
    chances: Floats,
) -> None:
    """Fill `actions` and `chances` with one decision each, in place."""
    for row in range(actions.shape[0]):
        actions[row], chances[row] = decide(rng, rule, board, available, clock)


@kernel
def learn_all(arms: Floats, board: Floats, clock: Floats, actions: Integers, rewards: Floats) -> None:
    """Fold many rewards in, in place and in order."""
    for row in range(actions.shape[0]):
        learn(arms, board, clock, actions[row], rewards[row])


@kernel
def play(
    rng: Words,
    rule: Floats,
    arms: Floats,
    board: Floats,
    clock: Floats,
    rewards: Floats,
    actions: Integers,
    chances: Floats,
) -> None:
    """Decide, look up the reward and learn, once for every row of `rewards`; the choices go into the last two."""
    available = np.ones(rewards.shape[1], dtype=np.bool_)
    for row in range(rewards.shape[0]):
        action, chance = decide(rng, rule, board, available, clock)
        learn(arms, board, clock, action, rewards[row, action])
        actions[row], chances[row] = action, chance
