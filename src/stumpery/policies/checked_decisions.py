"""Decisions and rewards that come back to a policy: checked, actions as indices, rewards scaled to 0..1."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows
from stumpery.options import shown
from stumpery.policies.arguments import MIN_PROBABILITY, action_of, checked_probability, checked_rewards
from stumpery.policies.changing_actions import ChangingActions
from stumpery.types import Action, Context, Decision, Decisions, Floats, Integers


class CheckedDecisions(ChangingActions):
    """A model with actions that checks decisions and their rewards."""

    _low: float
    _high: float
    _is_unit: bool  # whether rewards are from 0 to 1

    def checked_rewards(self, rewards: Iterable[float] | Floats) -> Floats:
        """Rewards as an array; a ValueError names the first that is invalid."""
        return checked_rewards(rewards, self._low, self._high)

    def _checked_decision(self, decision: Decision) -> tuple[int, float, Context]:
        """A decision's index of its action, its probability and its context, checked."""
        try:
            action, probability, context = decision
            index = self._index[action]
        except (TypeError, ValueError, KeyError):
            index = self._position(action_of(decision))
        if not (type(probability) is float and MIN_PROBABILITY <= probability <= 1.0):
            probability = checked_probability(probability)
        return index, probability, context

    def _checked_decisions(self, decisions: Decisions | Sequence[Decision]) -> tuple[Integers, Floats, Any]:
        """The same of many decisions, as columns; the index is -1 where the action has been removed."""
        if isinstance(decisions, Decisions):
            actions, given, contexts = decisions.actions, decisions.probabilities, decisions.contexts
            if len(given) != len(actions) or (contexts is not None and n_rows(contexts, "contexts") != len(actions)):
                raise InvalidInput("decisions must hold as many probabilities, and contexts if any, as actions")
            quick = self._quickly_checked(actions, given)
            if quick is not None:
                return *quick, contexts
            opened = [(self._index_or_removed(a), checked_probability(p)) for a, p in zip(actions, given, strict=True)]
        elif isinstance(decisions, Iterable):
            complete = [self._decision_or_removed(decision) for decision in decisions]
            opened, contexts = [row[:2] for row in complete], [context for *_, context in complete]
        else:
            raise InvalidInput(f"decisions is {shown(decisions)}; it must be Decisions or a list of Decision")
        indices, probabilities = [index for index, _ in opened], [probability for _, probability in opened]
        return np.array(indices, dtype=np.int64), np.array(probabilities, dtype=np.float64), contexts

    def _quickly_checked(self, actions: Sequence[Action], probabilities: Any) -> tuple[Integers, Floats] | None:
        """Indices and probabilities of valid decisions, checked as columns; None where each must be looked at."""
        if type(probabilities) is not np.ndarray or probabilities.dtype != np.float64 or self._removed:
            return None
        if not (len(probabilities) and probabilities.min() > 0.0 and probabilities.max() <= 1.0):  # also where NaN
            return None
        try:
            indices = np.fromiter(map(self._index.__getitem__, actions), np.int64, len(probabilities))
        except (TypeError, KeyError):
            return None
        return indices, np.maximum(probabilities, MIN_PROBABILITY)

    def _checked_log(
        self, decisions: Any, rewards: Any, *, may_be_removed: bool = False
    ) -> tuple[Floats, Integers, Floats, Any]:
        """The rewards, and the columns of as many decisions, checked; the index of a removed action may be -1."""
        values = self.checked_rewards(rewards)
        indices, probabilities, contexts = self._checked_decisions(decisions)
        if values.ndim != 1 or len(values) != len(indices):
            raise InvalidInput(f"there are {len(indices)} decisions and {values.size} rewards: one of each is needed")
        if not may_be_removed and (indices < 0).any():
            raise InvalidInput("some decisions are of actions that have been removed; leave them out")
        return values, indices, probabilities, contexts

    def _index_or_removed(self, action: Action) -> int:
        return -1 if self._removed and self._was_removed(action) else self._position(action)

    def _decision_or_removed(self, decision: Decision) -> tuple[int, float, Context]:
        if self._removed and self._was_removed(action_of(decision)):
            _, probability, context = decision
            return -1, checked_probability(probability), context
        return self._checked_decision(decision)

    def _unit(self, rewards: Any) -> Any:
        """Rewards scaled from `reward_range` to 0..1."""
        return rewards if self._is_unit else (rewards - self._low) / (self._high - self._low)

    def _reward(self, unit: float) -> float:
        """The inverse of `_unit`."""
        return self._low + unit * (self._high - self._low)
