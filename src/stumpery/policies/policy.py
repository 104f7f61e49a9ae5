"""The interface of bandit policies: named actions, a decision now, a reward later."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, overload

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows, own_row, rows_at
from stumpery.locks import locking
from stumpery.options import check_range, check_whole, shown
from stumpery.policies.arguments import as_number, checked_weights, repeats_of
from stumpery.policies.hooks import PolicyHooks
from stumpery.policies.logged import DecisionLog, learn_chunks
from stumpery.policies.overridden import decide_among, decide_each, learn_each, play_each
from stumpery.policies.records import ChosenActions, LoggedPredictions
from stumpery.random import new_generator
from stumpery.saving.validation import check_random_state
from stumpery.types import Action, Context, Decision, Decisions, Explanation, Floats, Integers, RankedDecision

_new_tuple = tuple.__new__  # a NamedTuple's own constructor is a Python function, which takes twice as long


@dataclass(kw_only=True, eq=False)
class Policy(PolicyHooks):
    """Bandit policy: choose one of several actions, then learn from the reward of that action alone.

    Threads may share a policy: each call takes the policy's lock.

    A subclass implements the hooks `_decide`, `_learn`, `_arrays`, `_grow`, `_shrink` and `explain`. It may override
    `_decide_many`, `_decide_rows`, `_learn_many`, `_test_then_learn`, `_play` and `_probabilities` with faster ones
    that give the same bits, `_scores`, by which `decide(k=...)` ranks, and `_validate_state` to validate files. In
    hooks actions are indices, and rewards are checked and scaled to 0..1.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
    """

    seed: int = 0
    reward_range: tuple[float, float] = (0.0, 1.0)

    learning_draws: ClassVar[bool] = False  # whether learning draws random numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        self._low, self._high = self.reward_range = check_range("reward_range", self.reward_range)
        self._is_unit = self.reward_range == (0.0, 1.0)
        self._rng = new_generator(self.seed)
        self.seed = int(self.seed)

    @overload
    def decide(
        self, context: Context = None, *, available: Iterable[Action] | None = None, k: None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, context: Context = None, *, available: Iterable[Action] | None = None, k: int
    ) -> RankedDecision: ...

    @locking
    def decide(
        self, context: Context = None, *, available: Iterable[Action] | None = None, k: int | None = None
    ) -> Decision | RankedDecision:
        """Choose an action, by default among all, else among those `available`; with `k` rank that many.

        The decision holds a copy of the context, a dict where a pandas Series or a NumPy record came. A ranking has the
        action that was drawn first, with the probability of that draw; the others follow without a draw, the highest
        score first, so only the reward of the first can be learned without bias.
        """
        if k is not None:
            with self._mutex:
                return self._ranked(context, available, k)
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
    def learn(self, decision: Decision, reward: float, *, weight: float = 1.0) -> None:
        """Learn the reward of a decision: at once, delayed, out of order, or from a log. Repeated ones count again.

        A `weight` from 0 to 1,000 is how often it counts: 0 changes nothing, 2 learns it twice, 2.5 twice and with a
        probability of one half once more.
        """
        value = reward if type(reward) is float else as_number(reward)
        if not self._low <= value <= self._high:
            raise InvalidInput(f"reward is {shown(reward)}; it must be a number from {self._low:g} to {self._high:g}")
        with self._mutex:
            index, probability, context = self._checked_decision(decision)
            unit = value if self._is_unit else self._unit(value)
            if type(weight) is float and weight == 1.0:
                self._learn(context, index, unit, probability)
                return
            for _ in range(repeats_of(checked_weights(weight, 1), self._rng)[0]):
                self._learn(context, index, unit, probability)

    def decide_many(self, contexts: Any, *, available: Any = None) -> Decisions:
        """Choose for each row of `contexts`, or that many times if it is a number; equals a loop of `decide`.

        `available` is a list of actions for all rows, or one for each row: a list of lists, or a matrix of booleans
        with a column for each action.
        """
        contexts, n = _counted(contexts)
        masks = self._all if available is None else self._available_masks(available, n)
        if n and type(self).decide is not Policy.decide:  # overridden outside the package
            return decide_each(self, contexts, n, masks)
        decide = self._decide_many if masks.ndim == 1 else self._decide_rows
        actions, probabilities = decide(contexts, n, masks) if n else ChosenActions.empty(0)
        return Decisions([self.actions[index] for index in actions.tolist()], probabilities, contexts)

    def learn_many(
        self,
        decisions: Decisions | Sequence[Decision],
        rewards: Iterable[float] | Floats,
        *,
        weight: float | Sequence[float] | Floats = 1.0,
    ) -> Integers:
        """Learn the rewards of many decisions, or none if one is invalid; equals a loop of `learn`.

        Returns the positions of the decisions that were refused since their action has been removed, mostly none; all
        others are learned. `weight` is one number for all, or one for each.
        """
        values, indices, probabilities, contexts = self._checked_log(decisions, rewards, may_be_removed=True)
        weights = None if type(weight) is float and weight == 1.0 else checked_weights(weight, len(indices))
        refused: Integers = np.flatnonzero(indices < 0)
        if len(refused):
            kept = np.flatnonzero(indices >= 0)
            indices, probabilities, values = indices[kept], probabilities[kept], values[kept]
            contexts = None if contexts is None else rows_at(contexts, kept)
            weights = None if weights is None else weights[kept]
        if len(indices) and (
            type(self).learn is not Policy.learn  # overridden outside the package
            or (weights is not None and self.learning_draws)
        ):
            learn_each(self, contexts, indices, values, probabilities, weights)
            return refused
        if weights is not None:
            positions = np.repeat(np.arange(len(indices)), repeats_of(weights, self._rng))
            indices, probabilities, values = indices[positions], probabilities[positions], values[positions]
            contexts = None if contexts is None else rows_at(contexts, positions)
        if len(indices):
            self._learn_many(contexts, indices, self._unit(values), probabilities)
        return refused

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
            return play_each(self, contexts, values)
        return self._play(contexts, self._unit(values)) if len(values) else ChosenActions.empty(0)

    @abstractmethod
    def explain(self, decision: Decision | None = None) -> Explanation:
        """Explain `decision` by the current statistics of every action: a summary and a row per action.

        Rows have `action`, `n` (rewards learned) and `mean` first; docs/policies.md describes all columns.
        """

    def _ranked(self, context: Context, available: Iterable[Action] | None, k: int) -> RankedDecision:
        """A decision, and behind its action others by score."""
        mask = self._all if available is None else self._available_mask(available)
        check_whole("k", k, 1)
        if k > (n := int(mask.sum())):
            raise InvalidInput(f"k is {k}; there are only {n} actions to rank")
        decision = decide_among(self, context, mask)
        scores = np.where(mask, self._scores(decision.context, mask), -np.inf)
        chosen = self._position(decision.action)
        others = [index for index in np.argsort(-scores, kind="stable").tolist() if mask[index] and index != chosen]
        return RankedDecision(decision, (decision.action, *(self.actions[index] for index in others[: k - 1])))

    def _heading(self) -> str:
        return f"{type(self).__name__}: {len(self.actions)} actions, {self.n_bytes:,} bytes"

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "reward_range": list(self.reward_range)}

    def _validate_state(self) -> None:
        check_random_state(self._rng)


def _counted(contexts: Any) -> tuple[Any, int]:
    """Contexts and their number; None and a number where only that is given."""
    if isinstance(contexts, int | np.integer) and not isinstance(contexts, bool):
        if contexts < 0:
            raise InvalidInput(f"contexts is {contexts}; a number of decisions must be 0 or more")
        return None, int(contexts)
    return contexts, n_rows(contexts, "contexts")
