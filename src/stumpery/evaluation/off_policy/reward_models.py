"""Reward models of the direct method, cross-fitted along time: an event is predicted by what was learned before it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from stumpery.encoding import Schema, VectorEncoder
from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.policies.reward_forest.policy import RewardForest
from stumpery.types import Action, Decisions, Floats, Integers

MAX_FITTED_ROWS = 100_000  # the latest, to which a regressor is fitted again
FIRST_FIT_ROWS = 500
MODEL_BYTES = 64_000_000  # of the default forest, so that long logs are evaluated in little memory
N_MODEL_TREES = 8  # fewer than a policy has: half the time, and the linear scorers beside them do much of the work


class RewardModel(ABC):
    """Reward model along a log."""

    @abstractmethod
    def predict_then_learn(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> Floats:
        """Every action's predicted reward for each event, (n, actions), from the events before it; then learn them."""


def reward_model_of(
    given: Any, actions: Sequence[Action], reward_range: tuple[float, float], *, has_context: bool, seed: int
) -> RewardModel:
    """The reward model that an argument `model` means."""
    if given is None and has_context:
        return ForestModel(
            RewardForest(
                actions=actions, reward_range=reward_range, seed=seed, n_trees=N_MODEL_TREES, max_bytes=MODEL_BYTES
            )
        )
    if given is None:
        return MeanModel(len(actions), sum(reward_range) / 2.0)
    if isinstance(given, RewardForest):
        if tuple(given.actions) != tuple(actions):
            raise InvalidInput("model has other actions than the log; it must have the log's actions, in its order")
        return ForestModel(given.clone())
    if hasattr(given, "fit") and hasattr(given, "predict") and has_context:
        return RegressorModel(given, len(actions), sum(reward_range) / 2.0)
    needs = "a RewardForest, or a regressor with fit and predict where the log has contexts"
    raise InvalidInput(f"model is {shown(given)}; it must be None, {needs}")


class ForestModel(RewardModel):
    """An incremental forest."""

    def __init__(self, forest: RewardForest) -> None:
        self._forest = forest
        self._low, self._high = forest.reward_range

    def predict_then_learn(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> Floats:
        """Every action's score just before the event is learned."""
        names = [self._forest.actions[index] for index in actions.tolist()]
        tested = self._forest.test_then_learn(Decisions(names, probabilities, contexts), rewards)
        assert tested.rewards is not None  # noqa: S101 - forests predict rewards
        return np.clip(tested.rewards, self._low, self._high)


class MeanModel(RewardModel):
    """The mean reward of each action so far, where there is no context."""

    def __init__(self, n_actions: int, initial: float) -> None:
        self._initial = initial
        self._counts, self._sums = np.zeros(n_actions), np.zeros(n_actions)

    def predict_then_learn(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> Floats:
        """Every action's mean before each event, as if it had had one more reward in the middle of the range."""
        chosen = np.zeros((len(actions), len(self._counts)))
        chosen[np.arange(len(actions)), actions] = 1.0
        earned = chosen * rewards[:, None]
        counts = self._counts + np.cumsum(chosen, axis=0) - chosen
        sums = self._sums + np.cumsum(earned, axis=0) - earned
        self._counts, self._sums = self._counts + chosen.sum(axis=0), self._sums + earned.sum(axis=0)
        predicted: Floats = (sums + self._initial) / (counts + 1.0)
        return predicted


class RegressorModel(RewardModel):
    """A scikit-learn regressor over vectors of the context and the action, fitted again whenever the log has doubled.

    It keeps the latest MAX_FITTED_ROWS events; before the first fit it predicts the middle of the range.
    """

    def __init__(self, regressor: Any, n_actions: int, initial: float) -> None:
        self._regressor, self._n_actions, self._initial = regressor, n_actions, initial
        self._encoder: VectorEncoder | None = None
        self._rows: list[Floats] = []
        self._rewards: list[Floats] = []
        self._n, self._next_fit, self._is_fitted = 0, FIRST_FIT_ROWS, False

    def predict_then_learn(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> Floats:
        """Every action's prediction by the latest fit, which knows only earlier chunks."""
        if self._encoder is None:
            self._encoder = VectorEncoder(schema=Schema.infer(contexts), one_hot=True)
        vectors = np.nan_to_num(np.asarray(self._encoder.encode_many(contexts), dtype=np.float64))
        predicted = np.full((len(vectors), self._n_actions), self._initial)
        if self._is_fitted:
            for action in range(self._n_actions):
                predicted[:, action] = self._regressor.predict(self._joined(vectors, np.full(len(vectors), action)))
        self._learn(self._joined(vectors, actions), rewards)
        return predicted

    def _joined(self, vectors: Floats, actions: Integers) -> Floats:
        return np.hstack([vectors, np.eye(self._n_actions)[actions]])

    def _learn(self, rows: Floats, rewards: Floats) -> None:
        self._rows.append(rows)
        self._rewards.append(rewards)
        self._n += len(rows)
        while sum(map(len, self._rows[1:])) >= MAX_FITTED_ROWS:
            del self._rows[0], self._rewards[0]
        if self._n >= self._next_fit:
            self._regressor = deepcopy(self._regressor).fit(np.vstack(self._rows), np.concatenate(self._rewards))
            self._next_fit, self._is_fitted = 2 * self._n, True
