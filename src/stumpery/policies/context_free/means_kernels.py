"""Mean rewards of actions without context, and the loops of context-free bandits.

An action's moments and its column of the action statistics change only when its reward comes, so a decision computes
nothing but the explorer's choice.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, RandomState


@kernel
def learn(arms: Floats, statistics: Floats, clock: Floats, action: int, reward: float) -> None:
    """Add a reward to an action's moments and update its score and uncertainty, in place."""
    moments.add(arms, action, reward, 1.0)
    statistics[ACTION_SCORE, action] = arms[action, moments.MEAN]
    statistics[ACTION_UNCERTAINTY, action] = 1.0 / np.sqrt(arms[action, moments.COUNT])
    clock[0] += 1.0


@kernel
def decide(
    rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, clock: Floats
) -> tuple[int, float]:
    """Choose by the action statistics; the time is the number of rewards and one."""
    return explorers.choose(rng, rule, statistics, available, clock[0] + 1.0)


@kernel
def decide_all(
    rng: RandomState,
    rule: Floats,
    statistics: Floats,
    available: np.ndarray,
    clock: Floats,
    actions: Integers,
    probabilities: Floats,
) -> None:
    """Write one decision into each row of `actions` and `probabilities`, in place."""
    for row in range(actions.shape[0]):
        actions[row], probabilities[row] = decide(rng, rule, statistics, available, clock)


@kernel
def learn_all(arms: Floats, statistics: Floats, clock: Floats, actions: Integers, rewards: Floats) -> None:
    """Learn many rewards in order, in place."""
    for row in range(actions.shape[0]):
        learn(arms, statistics, clock, actions[row], rewards[row])


@kernel
def play(
    rng: RandomState,
    rule: Floats,
    arms: Floats,
    statistics: Floats,
    clock: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
) -> None:
    """Decide, look up the reward and learn, for every row of `rewards`; writes choices into the last two."""
    available = np.ones(rewards.shape[1], dtype=np.bool_)
    for row in range(rewards.shape[0]):
        action, probability = decide(rng, rule, statistics, available, clock)
        learn(arms, statistics, clock, action, rewards[row, action])
        actions[row], probabilities[row] = action, probability
