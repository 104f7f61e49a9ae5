"""Modes of `run`, the one kernel of a contextual policy: it goes along rows and decides, learns, or does both.

One entry point serves `decide`, `learn`, their `_many` twins, `play`, `probabilities` and `explain`, since each further
one would compile everything below it again. With no mode it only fills the action statistics.
"""

from stumpery.jit import internal
from stumpery.policies.exploration.rule_kernels import ACTION_PROBABILITY, ACTION_SCORE
from stumpery.types import Floats

DECIDES, LEARNS = 1, 2
FILLS = 8  # writes every action's probability and score into the row of `rewards`, before it is learned


@internal
def reward_of(rewards: Floats, row: int, action: int, mode: int) -> float:
    """The reward of a row's action: `rewards` has a column per action if the mode is both, else one column."""
    reward: float = rewards[row, action if mode & DECIDES else 0]
    return reward


@internal
def write_probabilities_and_scores(statistics: Floats, rewards: Floats, row: int) -> None:
    """Write every action's probability, then every action's score, into a row of `rewards`, in place."""
    n_actions = statistics.shape[1]
    for action in range(n_actions):
        rewards[row, action] = statistics[ACTION_PROBABILITY, action]
        rewards[row, n_actions + action] = statistics[ACTION_SCORE, action]
