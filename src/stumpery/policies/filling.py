"""Contextual policies whose kernel gives the probabilities and scores of many rows in one call, and reward predictors.

Off-policy estimators need every action's probability for each event of a log, and a model of rewards.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.frames import n_rows, own_row
from stumpery.policies.contextual import ContextualPolicy, EncoderT
from stumpery.policies.mode_kernels import FILLS, LEARNS
from stumpery.policies.records import ChosenActions, LoggedPredictions
from stumpery.types import Context, Floats, Integers


@dataclass(kw_only=True, eq=False)
class FillingPolicy(ContextualPolicy[EncoderT]):
    """A contextual policy whose kernel `run` has the mode FILLS."""

    def _unchanged_rows(self, contexts: Any) -> tuple[Self, Any]:
        """Contexts, encoded, and the policy that takes them: a copy where it does not know its columns yet."""
        if self._encoder is not None:
            return self, self._rows(contexts)
        policy = self.clone()
        policy._infer_columns(contexts)
        return policy, policy._rows(contexts)

    def _probabilities(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Floats:
        policy, rows = self._unchanged_rows(contexts)
        return policy._filled(rows, available)[:, : len(self.actions)].copy()

    def _filled(self, rows: Any, available: NDArray[np.bool_]) -> Floats:
        """Every action's probability, then every action's score, for encoded rows."""
        filled = np.empty((len(rows), 2 * len(self.actions)))
        self._run(rows, filled, ChosenActions.empty(len(rows)), available, FILLS)
        return filled

    def _test_then_learn(
        self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats, available: NDArray[np.bool_]
    ) -> LoggedPredictions:
        filled = np.empty((len(actions), 2 * len(self.actions)))
        filled[:, 0] = rewards  # the kernel reads it before it writes the row
        self._run(self._rows(contexts), filled, ChosenActions(actions, probabilities), available, FILLS | LEARNS)
        return LoggedPredictions(filled[:, : len(self.actions)].copy(), self._predicted_rewards(filled))

    def _predicted_rewards(self, filled: Floats) -> Floats | None:
        """The scores as rewards; None where they do not estimate rewards."""
        return None


@dataclass(kw_only=True, eq=False)
class RewardPredictor(FillingPolicy[EncoderT]):
    """A contextual policy whose scores estimate rewards."""

    def predict_rewards(self, context: Context) -> Floats:
        """Every action's predicted reward (action value) for a context, in the order of `actions`.

        The policy stays as it is. The direct method and doubly robust estimators use such predictions.
        """
        one: Floats = self._predict([own_row(context)])[0]
        return one

    def predict_rewards_many(self, contexts: Any) -> Floats:
        """Every action's predicted reward for each row of `contexts`, (n, actions); equals `predict_rewards`."""
        return self._predict(contexts) if n_rows(contexts, "contexts") else np.zeros((0, len(self.actions)))

    def _predict(self, contexts: Any) -> Floats:
        policy, rows = self._unchanged_rows(contexts)
        return self._predicted_rewards(policy._filled(rows, self._all))

    def _predicted_rewards(self, filled: Floats) -> Floats:
        scores: Floats = self._low + filled[:, len(self.actions) :] * (self._high - self._low)
        return scores
