"""The interface of bandit policies: named actions, a decision now, a reward later."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows, own_row
from stumpery.locks import locking
from stumpery.models import Model
from stumpery.options import check_range, listed, shown
from stumpery.policies.arguments import (
    MIN_PROBABILITY,
    action_of,
    as_number,
    checked_actions,
    checked_probability,
    checked_rewards,
    each_context,
)
from stumpery.policies.logged import DecisionLog, learn_chunks
from stumpery.random import new_generator
from stumpery.saving.validation import check_random_state
from stumpery.types import Action, Context, Decision, Decisions, Explanation, Floats, Integers

MAX_DRAWS = 10_000  # to see all actions of a policy that only draws

_new_tuple = tuple.__new__  # a NamedTuple's own constructor is a Python function, which takes twice as long


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


@dataclass(kw_only=True, eq=False)
class Policy(Model):
    """Bandit policy: choose one of several actions, then learn from the reward of that action alone.

    Threads may share a policy: each call takes the policy's lock.

    A subclass implements the hooks `_decide`, `_learn`, `_arrays`, `_grow`, `_shrink` and `explain`. It may override
    `_decide_many`, `_learn_many`, `_test_then_learn`, `_play` and `_probabilities` with faster ones that give the same
    bits, and `_validate_state` to validate files. In hooks actions are indices, and rewards are checked and scaled to
    0..1.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
    """

    actions: Sequence[Action]
    seed: int = 0
    reward_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        self.actions = checked_actions(self.actions)
        self._low, self._high = self.reward_range = check_range("reward_range", self.reward_range)
        self._is_unit = self.reward_range == (0.0, 1.0)
        self._rng = new_generator(self.seed)
        self.seed = int(self.seed)
        self._index_actions()

    @locking
    def decide(self, context: Context = None, *, available: Iterable[Action] | None = None) -> Decision:
        """Choose an action, by default among all, else among those `available`.

        The decision holds a copy of the context, a dict where a pandas Series or a NumPy record came.
        """
        with self._mutex:
            if type(context) is dict:
                context = context.copy()  # not by a call of `own_row`, which would take longer
            elif context is not None:
                context = own_row(context)
            index, probability = self._decide(
                context, self._all if available is None else self._available_mask(available)
            )
            return _new_tuple(Decision, (self.actions[index], probability, context))

    @locking
    def learn(self, decision: Decision, reward: float) -> None:
        """Learn the reward of a decision: at once, delayed, out of order, or from a log. Repeated ones count again."""
        value = reward if type(reward) is float else as_number(reward)
        if not self._low <= value <= self._high:
            raise InvalidInput(f"reward is {shown(reward)}; it must be a number from {self._low:g} to {self._high:g}")
        with self._mutex:
            index, probability, context = self._checked_decision(decision)
            self._learn(context, index, value if self._is_unit else self._unit(value), probability)

    def decide_many(self, contexts: Any, *, available: Iterable[Action] | None = None) -> Decisions:
        """Choose for each row of `contexts`, or that many times if it is a number; equals a loop of `decide`."""
        mask = self._all if available is None else self._available_mask(available)
        contexts, n = _counted(contexts)
        if n and type(self).decide is not Policy.decide:  # overridden outside the package
            return self._decide_each(contexts, n, mask)
        actions, probabilities = self._decide_many(contexts, n, mask) if n else ChosenActions.empty(0)
        return Decisions([self.actions[index] for index in actions.tolist()], probabilities, contexts)

    def learn_many(self, decisions: Decisions | Sequence[Decision], rewards: Iterable[float] | Floats) -> None:
        """Learn the rewards of many decisions, or none if one is invalid; equals a loop of `learn`."""
        values, indices, probabilities, contexts = self._checked_log(decisions, rewards)
        if len(indices) and type(self).learn is not Policy.learn:  # overridden outside the package
            columns = indices.tolist(), probabilities.tolist(), each_context(contexts, len(indices)), values.tolist()
            for index, probability, context, reward in zip(*columns, strict=True):
                self.learn(Decision(self.actions[index], probability, context), reward)
        elif len(indices):
            self._learn_many(contexts, indices, self._unit(values), probabilities)

    @locking
    def learn_log(self, log: DecisionLog, *, progress: Callable[[int], None] | None = None) -> Self:
        """Learn all rows of a log that have a reward (warm start), chunk by chunk; returns the policy.

        Equals `learn_many` of the log's decisions; other threads may use the policy between chunks. Logged
        probabilities go to the policies that weigh rewards by them; where they are missing they count as 1. A row that
        cannot be learned raises an InvalidInput with its line, after the rows before it have been learned, or is
        counted in `log.report` where the log is read leniently. `progress` gets the number of rows of each chunk.
        """
        learn_chunks(self, log, progress)
        return self

    def probabilities(self, context: Context = None, *, available: Iterable[Action] | None = None) -> Floats:
        """Every action's probability for a context, in the order of `actions`; the policy stays as it is.

        Those of Thompson sampling are estimates, and may miss a sum of 1 by a hundredth.
        """
        mask = self._all if available is None else self._available_mask(available)
        one: Floats = self._probabilities(None if context is None else [own_row(context)], 1, mask)[0]
        return one

    def probabilities_many(self, contexts: Any, *, available: Iterable[Action] | None = None) -> Floats:
        """Every action's probability for each row of `contexts`, (n, actions); equals a loop of `probabilities`."""
        mask = self._all if available is None else self._available_mask(available)
        contexts, n = _counted(contexts)
        return self._probabilities(contexts, n, mask) if n else np.zeros((0, len(self.actions)))

    def test_then_learn(
        self,
        decisions: Decisions | Sequence[Decision],
        rewards: Iterable[float] | Floats,
        *,
        available: Iterable[Action] | None = None,
    ) -> LoggedPredictions:
        """Every action's probability for each logged event, just before it is learned: progressive validation.

        It learns as `learn_many` does, and the probabilities are those of `probabilities` before each event.
        """
        mask = self._all if available is None else self._available_mask(available)
        values, indices, probabilities, contexts = self._checked_log(decisions, rewards)
        if not len(indices):
            return LoggedPredictions(np.zeros((0, len(self.actions))), None)
        return self._test_then_learn(contexts, indices, self._unit(values), probabilities, mask)

    def play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        """Simulate: decide and learn along rows of which all rewards are known, a column of `rewards` per action."""
        values = self.checked_rewards(rewards)
        if values.ndim != 2 or values.shape[1] != len(self.actions):
            raise InvalidInput(
                f"rewards have shape {values.shape}; a column for each of {len(self.actions)} actions is needed"
            )
        if contexts is not None and n_rows(contexts, "contexts") != len(values):
            raise InvalidInput(
                f"there are {len(contexts)} contexts and {len(values)} rows of rewards: one of each is needed"
            )
        if type(self).decide is not Policy.decide or type(self).learn is not Policy.learn:  # overridden
            return self._play_each(contexts, values)
        return self._play(contexts, self._unit(values)) if len(values) else ChosenActions.empty(0)

    @abstractmethod
    def explain(self, decision: Decision | None = None) -> Explanation:
        """Explain `decision` by the current statistics of every action: a summary and a row per action.

        Rows have `action`, `n` (rewards learned) and `mean` first; docs/policies.md describes all columns.
        """

    def add_action(self, action: Action) -> None:
        """Add an action to those offered."""
        (name,) = checked_actions([action])
        if name in self._index:
            raise InvalidInput(f"action {shown(name)} is there already; actions must differ")
        before = self.actions
        self._set_option("actions", (*before, name))
        try:
            self._grow()
        except (ValueError, MemoryError):  # beyond max_bytes
            self._set_option("actions", before)
            raise
        self._index_actions()

    def remove_action(self, action: Action) -> None:
        """Remove an action and what was learned of it; rewards of its earlier decisions are refused from now on."""
        index = self._position(action)
        if len(self.actions) == 1:
            raise InvalidInput(f"{action!r} is the only action left; a policy needs at least one")
        self._set_option("actions", tuple(name for name in self.actions if name != action))
        self._shrink(index)
        self._index_actions()

    def position(self, action: Action) -> int:
        """The index of an action; a ValueError if it is not one of the policy's."""
        return self._position(action)

    def checked_rewards(self, rewards: Iterable[float] | Floats) -> Floats:
        """Rewards as an array; a ValueError names the first that is invalid."""
        return checked_rewards(rewards, self._low, self._high)

    def _heading(self) -> str:
        return f"{type(self).__name__}: {len(self.actions)} actions, {self.n_bytes:,} bytes"

    # Hooks that a subclass implements: actions are indices, rewards are checked and scaled to 0..1.

    @abstractmethod
    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        """Choose an action; return its index and the probability with which it was drawn."""

    @abstractmethod
    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn one reward."""

    @abstractmethod
    def _grow(self) -> None:
        """Extend the arrays by one action, the last."""

    @abstractmethod
    def _shrink(self, action: int) -> None:
        """Delete an action from the arrays."""

    # Hooks with a default: a subclass may override these loops by faster ones that give the same bits.

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        chosen = ChosenActions.empty(n)
        for row, context in enumerate(each_context(contexts, n)):
            chosen.actions[row], chosen.probabilities[row] = self._decide(context, available)
        return chosen

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

    # Loops over `decide` and `learn`, for subclasses outside the package that override them.

    def _infer_columns(self, contexts: Any) -> None:
        """Infer from the first contexts of many what a single one does not determine."""

    def _decide_each(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Decisions:
        self._infer_columns(contexts)
        names = [action for action, offered in zip(self.actions, available.tolist(), strict=True) if offered]
        options = {} if available.all() else {"available": names}
        decided = [self.decide(context, **options) for context in each_context(contexts, n)]
        probabilities = np.array([decision.probability for decision in decided])
        return Decisions([decision.action for decision in decided], probabilities, contexts)

    def _play_each(self, contexts: Any, rewards: Floats) -> ChosenActions:
        chosen = ChosenActions.empty(len(rewards))
        if len(rewards):
            self._infer_columns(contexts)
        for row, context in enumerate(each_context(contexts, len(rewards))):
            decision = self.decide(context)
            index, probability, _ = self._checked_decision(decision)
            self.learn(decision, float(rewards[row, index]))
            chosen.actions[row], chosen.probabilities[row] = index, probability
        return chosen

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "actions": list(self.actions), "reward_range": list(self.reward_range)}

    def _validate_state(self) -> None:
        check_random_state(self._rng)

    def _position(self, action: Action) -> int:
        try:
            return self._index[action]
        except (KeyError, TypeError):
            raise InvalidInput(f"action is {shown(action)}; it must be one of {listed(self.actions)}") from None

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
        """The same of many decisions, as columns."""
        if isinstance(decisions, Decisions):
            actions, given, contexts = decisions.actions, decisions.probabilities, decisions.contexts
            if len(given) != len(actions) or (contexts is not None and n_rows(contexts, "contexts") != len(actions)):
                raise InvalidInput("decisions must hold as many probabilities, and contexts if any, as actions")
            opened = [(self._position(a), checked_probability(p)) for a, p in zip(actions, given, strict=True)]
        elif isinstance(decisions, Iterable):
            complete = [self._checked_decision(decision) for decision in decisions]
            opened, contexts = [row[:2] for row in complete], [context for *_, context in complete]
        else:
            raise InvalidInput(f"decisions is {shown(decisions)}; it must be Decisions or a list of Decision")
        indices, probabilities = [index for index, _ in opened], [probability for _, probability in opened]
        return np.array(indices, dtype=np.int64), np.array(probabilities, dtype=np.float64), contexts

    def _checked_log(self, decisions: Any, rewards: Any) -> tuple[Floats, Integers, Floats, Any]:
        """The rewards, and the columns of as many decisions, checked."""
        values = self.checked_rewards(rewards)
        indices, probabilities, contexts = self._checked_decisions(decisions)
        if values.ndim != 1 or len(values) != len(indices):
            raise InvalidInput(f"there are {len(indices)} decisions and {values.size} rewards: one of each is needed")
        return values, indices, probabilities, contexts

    def _unit(self, rewards: Any) -> Any:
        """Rewards scaled from `reward_range` to 0..1."""
        return rewards if self._is_unit else (rewards - self._low) / (self._high - self._low)

    def _reward(self, unit: float) -> float:
        """The inverse of `_unit`."""
        return self._low + unit * (self._high - self._low)

    def _index_actions(self) -> None:
        """Index the actions by name, after they have changed."""
        self._index = {action: index for index, action in enumerate(self.actions)}
        self._all = np.ones(len(self.actions), dtype=np.bool_)

    def _available_mask(self, available: Iterable[Action]) -> NDArray[np.bool_]:
        """Which actions are available, by index."""
        if isinstance(available, str) or not isinstance(available, Iterable):
            raise InvalidInput(f"available is {shown(available)}; it must be a list of actions")
        mask = np.zeros(len(self.actions), dtype=np.bool_)
        for action in available:
            mask[self._position(action)] = True
        if not mask.any():
            raise InvalidInput("available is empty; at least one action is needed")
        return mask


def _counted(contexts: Any) -> tuple[Any, int]:
    """Contexts and their number; None and a number where only that is given."""
    if isinstance(contexts, int | np.integer) and not isinstance(contexts, bool):
        if contexts < 0:
            raise InvalidInput(f"contexts is {contexts}; a number of decisions must be 0 or more")
        return None, int(contexts)
    return contexts, n_rows(contexts, "contexts")
