"""Modes of `run`, the one kernel of a contextual policy: it goes along rows and decides, learns, or does both.

One entry point serves `decide`, `learn`, their `_many` twins, `play` and `explain`, since each further one would
compile everything below it again. With neither mode it only fills the action statistics.
"""

from stumpery.jit import internal
from stumpery.types import Floats

DECIDES, LEARNS = 1, 2


@internal
def reward_of(rewards: Floats, row: int, action: int, mode: int) -> float:
    """The reward of a row's action: `rewards` has a column per action if the mode is both, else one column."""
    reward: float = rewards[row, action if mode & DECIDES else 0]
    return reward
