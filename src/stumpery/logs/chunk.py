"""A chunk of a log: some rows of logged decisions as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.columns import Columns
from stumpery.types import Floats, Integers

UNKNOWN = -1  # the index of an action that the log does not name, or that is not among its actions


@dataclass(frozen=True, eq=False, repr=False)
class LogChunk:
    """Rows of logged bandit feedback as columns: contexts, actions, probabilities, rewards.

    Args:
        contexts: The contexts, in a form that `decide_many` and `learn_many` of policies take.
        actions: Index of each logged action in `Log.actions`; -1 where it is missing or unknown.
        probabilities: Logged probability of each action, the propensity, in (0, 1]; NaN where it is missing or invalid.
        rewards: Reward of each action; NaN where there was no feedback.
        times: Seconds since 1970; NaN where there is no time.
        event_ids: Identifier of each event; None where the log has none.
        lines: Line of the file, from 1, or row of the frame, from 0, of each event.
        weights: How many events each row stands for, where a logger drops some (`pdrop`); None where all count once.
        available: Which actions could be chosen, (rows, actions); None where all could.
        all_probabilities: Probability of every action, (rows, actions), 0 where it was not available, a row of NaN
            where they are missing or do not sum to 1; None where the log has none.
        action_features: Features of the candidates of each row, a mapping from action to features; None unless asked
            for.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, 0.0], "probability": [0.5, 0.5]}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward", probability="probability")
    >>> (chunk,) = log.chunks()
    >>> chunk.actions.tolist(), chunk.rewards.tolist(), chunk.contexts["hour"].tolist()
    ([1, 0], [1.0, 0.0], [9, 21])
    """

    contexts: Columns
    actions: Integers
    probabilities: Floats
    rewards: Floats
    times: Floats
    event_ids: Sequence[str | None] | None
    lines: Integers
    weights: Floats | None = None
    available: NDArray[np.bool_] | None = None
    all_probabilities: Floats | None = None
    action_features: Sequence[Mapping[Any, Mapping[str, Any]]] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return f"LogChunk({len(self):,} rows, {len(self.contexts.names)} columns)"

    def where(self, mask: NDArray[np.bool_]) -> "LogChunk":
        """The rows for which a mask is true."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask).tolist()
        return LogChunk(
            self.contexts[mask],
            self.actions[mask],
            self.probabilities[mask],
            self.rewards[mask],
            self.times[mask],
            None if self.event_ids is None else [self.event_ids[row] for row in kept],
            self.lines[mask],
            None if self.weights is None else self.weights[mask],
            None if self.available is None else self.available[mask],
            None if self.all_probabilities is None else self.all_probabilities[mask],
            None if self.action_features is None else [self.action_features[row] for row in kept],
        )
