"""Records of many decisions as arrays: the actions chosen along a run, and predictions for logged events."""

from typing import NamedTuple, Self

import numpy as np

from stumpery.types import Floats, Integers


class LoggedPredictions(NamedTuple):
    """What a policy said about logged events just before it learned each of them.

    Args:
        probabilities: Every action's probability, (n, actions).
        rewards: Every action's predicted reward, (n, actions); None of a policy that predicts none.

    >>> import stumpery as st
    >>> log = [st.Decision("news", 0.5), st.Decision("news", 0.5), st.Decision("film", 0.5)]
    >>> st.policies.Greedy(actions=["news", "film"]).test_then_learn(log, [1.0, 1.0, 0.0]).probabilities.tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]
    """

    probabilities: Floats
    rewards: Floats | None


class ChosenActions(NamedTuple):
    """The actions chosen along a run of events, as indices, and the probabilities with which they were drawn."""

    actions: Integers
    probabilities: Floats

    @classmethod
    def empty(cls, n: int) -> Self:
        """Arrays for n events, not initialised."""
        return cls(np.empty(n, dtype=np.int64), np.empty(n))
