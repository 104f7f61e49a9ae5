"""What a policy implements: two hooks, and loops over them that it may replace by faster ones with the same bits."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.policies.arguments import each_context
from stumpery.policies.checked_decisions import CheckedDecisions
from stumpery.policies.records import ChosenActions, LoggedPredictions
from stumpery.types import Context, Floats, Integers

MAX_DRAWS = 10_000  # to see all actions of a policy that only draws


class PolicyHooks(CheckedDecisions):
    """Hooks of a policy: actions are indices, rewards are checked and scaled to 0..1."""

    # Hooks that a subclass implements.

    @abstractmethod
    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        """Choose an action; return its index and the probability with which it was drawn."""

    @abstractmethod
    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn one reward."""

    # Hooks with a default: a subclass may override these loops by faster ones that give the same bits.

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        chosen = ChosenActions.empty(n)
        for row, context in enumerate(each_context(contexts, n)):
            chosen.actions[row], chosen.probabilities[row] = self._decide(context, available)
        return chosen

    def _decide_rows(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        """Choose for n contexts, with a row of `available` for each."""
        chosen = ChosenActions.empty(n)
        for row, context in enumerate(each_context(contexts, n)):
            chosen.actions[row], chosen.probabilities[row] = self._decide(context, available[row])
        return chosen

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        """Every action's score for the context of the latest decision; by default its probability."""
        one: Floats = self._probabilities(None if context is None else [context], 1, available)[0]
        return one

    def _probabilities(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Floats:
        """Every action's probability for n contexts."""
        return np.stack([self._draw_all(partial(self._decide, each, available)) for each in each_context(contexts, n)])

    def _draw_all(self, draw: Callable[[], tuple[int, float]]) -> Floats:
        """Every action's probability, by draws until those drawn sum to 1; the random state and clock are restored."""
        probabilities: Floats = np.zeros(len(self.actions))
        drawn_from: list[NDArray[Any]] = [getattr(self, name) for name in ("_rng", "_clock") if hasattr(self, name)]
        before = [array.copy() for array in drawn_from]
        try:
            for _ in range(MAX_DRAWS):
                action, probability = draw()
                probabilities[action] = probability
                if probabilities.sum() > 1.0 - 1e-9:
                    break
        finally:
            for array, values in zip(drawn_from, before, strict=True):
                np.copyto(array, values)
        total: Floats = probabilities / probabilities.sum()
        return total

    def _infer_columns(self, contexts: Any) -> None:
        """Infer from the first contexts of many what a single one does not determine."""

    def _learn_many(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> None:
        for row, context in enumerate(each_context(contexts, len(actions))):
            self._learn(context, int(actions[row]), float(rewards[row]), float(probabilities[row]))

    def _test_then_learn(
        self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats, available: NDArray[np.bool_]
    ) -> LoggedPredictions:
        tested = np.empty((len(actions), len(self.actions)))
        for row, context in enumerate(each_context(contexts, len(actions))):
            tested[row] = self._probabilities(None if context is None else [context], 1, available)[0]
            self._learn(context, int(actions[row]), float(rewards[row]), float(probabilities[row]))
        return LoggedPredictions(tested, None)

    def _play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        n = len(rewards)
        chosen = ChosenActions.empty(n)
        for row, context in enumerate(each_context(contexts, n)):
            index, probability = self._decide(context, self._all)
            self._learn(context, index, float(rewards[row, index]), probability)
            chosen.actions[row], chosen.probabilities[row] = index, probability
        return chosen
