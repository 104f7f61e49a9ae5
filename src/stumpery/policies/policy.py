"""What every policy is: named actions, a decision now, a reward later."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.display import as_html
from stumpery.frames import n_rows, own_row, rows
from stumpery.locks import locking
from stumpery.models import Model
from stumpery.options import check_range, listed, shown
from stumpery.policies.arguments import MIN_PROBABILITY, as_number, checked_actions, checked_probability
from stumpery.random import new_generator
from stumpery.types import Action, Context, Decision, Decisions, Explanation, Floats, Integers
from stumpery.validation import check_random_state

_new_tuple = tuple.__new__  # a NamedTuple's own constructor is a Python function, which takes twice as long


class Played(NamedTuple):
    """What a policy did over a run of events: indices of its actions, and their probabilities."""

    actions: Integers
    probabilities: Floats

    @classmethod
    def blank(cls, n: int) -> Self:
        """Room for so many events."""
        return cls(np.empty(n, dtype=np.int64), np.empty(n))


@dataclass(kw_only=True, eq=False)
class Policy(Model):
    """Choose one of several actions, then learn from the reward of that action alone.

    Actions are strings, numbers or booleans. Rewards lie within `reward_range`. Several threads may share a policy: one
    waits while another decides or learns.
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
        self._renumber()

    @locking
    def decide(self, context: Context = None, *, available: Iterable[Action] | None = None) -> Decision:
        """Choose an action, among those `available` if that is given.

        The decision holds a copy of the context, a dict where a pandas Series or a NumPy record came.
        """
        with self._mutex:
            if type(context) is dict:
                context = context.copy()  # not by a call of `own_row`, which would take longer
            elif context is not None:
                context = own_row(context)
            index, probability = self._decide(context, self._all if available is None else self._mask(available))
            return _new_tuple(Decision, (self.actions[index], probability, context))

    @locking
    def learn(self, decision: Decision, reward: float) -> None:
        """Take the reward of one decision: now, late, out of order, more than once, or from a log."""
        value = reward if type(reward) is float else as_number(reward)
        if not self._low <= value <= self._high:
            raise ValueError(f"reward is {shown(reward)}; it must be a number from {self._low:g} to {self._high:g}")
        with self._mutex:
            index, probability, context = self._opened(decision)
            self._learn(context, index, value if self._is_unit else self._unit(value), probability)

    def decide_many(self, contexts: Any, *, available: Iterable[Action] | None = None) -> Decisions:
        """Choose once for each row of `contexts`, or that many times if it is a number: equals a loop of `decide`."""
        mask = self._all if available is None else self._mask(available)
        if isinstance(contexts, int | np.integer) and not isinstance(contexts, bool):
            if contexts < 0:
                raise ValueError(f"contexts is {contexts}; a number of decisions must be 0 or more")
            n, contexts = int(contexts), None
        else:
            n = n_rows(contexts, "contexts")
        if n and type(self).decide is not Policy.decide:  # overridden outside the package
            return self._decide_each(contexts, n, mask)
        actions, probabilities = self._decide_many(contexts, n, mask) if n else Played.blank(0)
        return Decisions([self.actions[index] for index in actions.tolist()], probabilities, contexts)

    def learn_many(self, decisions: Decisions | Sequence[Decision], rewards: Iterable[float] | Floats) -> None:
        """Take many rewards, all or, where one is wrong, none: equals a loop of `learn`."""
        values = self.checked_rewards(rewards)
        indices, probabilities, contexts = self._opened_many(decisions)
        if values.ndim != 1 or len(values) != len(indices):
            raise ValueError(f"there are {len(indices)} decisions and {values.size} rewards: one of each is needed")
        if len(indices) and type(self).learn is not Policy.learn:  # overridden outside the package
            columns = indices.tolist(), probabilities.tolist(), _each(contexts, len(indices)), values.tolist()
            for index, probability, context, reward in zip(*columns, strict=True):
                self.learn(Decision(self.actions[index], probability, context), reward)
        elif len(indices):
            self._learn_many(contexts, indices, self._unit(values), probabilities)

    def play(self, contexts: Any, rewards: Floats) -> Played:
        """Decide and learn along rows whose every reward is known, a column of `rewards` for each action."""
        values = self.checked_rewards(rewards)
        if values.ndim != 2 or values.shape[1] != len(self.actions):
            raise ValueError(
                f"rewards have shape {values.shape}; a column for each of {len(self.actions)} actions is needed"
            )
        if contexts is not None and n_rows(contexts, "contexts") != len(values):
            raise ValueError(
                f"there are {len(contexts)} contexts and {len(values)} rows of rewards: one of each is needed"
            )
        if type(self).decide is not Policy.decide or type(self).learn is not Policy.learn:  # overridden
            return self._play_each(contexts, values)
        return self._play(contexts, self._unit(values)) if len(values) else Played.blank(0)

    @abstractmethod
    def explain(self, decision: Decision | None = None) -> Explanation:
        """What is known of every action now, and why `decision` would be taken."""

    def add_action(self, action: Action) -> None:
        """Offer one more action from now on."""
        (name,) = checked_actions([action])
        if name in self._index:
            raise ValueError(f"action {shown(name)} is there already; actions must differ")
        before = self.actions
        self._set_option("actions", (*before, name))
        try:
            self._grow()
        except (ValueError, MemoryError):  # there is no room for it
            self._set_option("actions", before)
            raise
        self._renumber()

    def remove_action(self, action: Action) -> None:
        """Offer an action no more and forget what was learned of it; a reward that still comes for it is refused."""
        index = self._position(action)
        if len(self.actions) == 1:
            raise ValueError(f"{action!r} is the only action left; a policy needs at least one")
        self._set_option("actions", tuple(name for name in self.actions if name != action))
        self._shrink(index)
        self._renumber()

    def position(self, action: Action) -> int:
        """The index of an action; a ValueError says that it is none of ours."""
        return self._position(action)

    def checked_rewards(self, rewards: Iterable[float] | Floats) -> Floats:
        """Rewards as an array; a ValueError says which of them cannot be one."""
        try:
            given = np.asarray(rewards if hasattr(rewards, "__len__") else list(rewards))
        except (TypeError, ValueError):
            given = np.array("")
        if np.ma.is_masked(rewards):
            raise ValueError("some rewards are masked; leave out the decisions whose reward is not known")
        if given.dtype.kind == "O":
            given = np.array([as_number(value) for value in given.flat]).reshape(given.shape)
        if given.size and given.dtype.kind not in "biuf":
            raise ValueError("rewards must be numbers, one for each decision or each row and action")
        values: Floats = np.require(given, np.float64, ["C", "W"])  # one type to the compiler
        if values.size and not (values.min() >= self._low and values.max() <= self._high):  # also where one is NaN
            worst = float(values[~((values >= self._low) & (values <= self._high))].flat[0])
            raise ValueError(f"a reward is {worst!r}; it must be a number from {self._low:g} to {self._high:g}")
        return values

    def _repr_html_(self) -> str:
        options = [
            {"option": each.name, "value": shown(getattr(self, each.name))} for each in fields(self) if each.repr
        ]
        return as_html(f"{type(self).__name__}: {len(self.actions)} actions, {self.n_bytes:,} bytes", options)

    # What a policy brings: rewards arrive here checked and scaled to 0..1, actions as indices.

    @abstractmethod
    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        """Choose an index and say with which probability."""

    @abstractmethod
    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Take one reward."""

    @abstractmethod
    def _grow(self) -> None:
        """Make room for one more action, the last."""

    @abstractmethod
    def _shrink(self, action: int) -> None:
        """Close the gap that an action left."""

    # What a policy may do faster than these loops, with the same result.

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Played:
        played = Played.blank(n)
        for row, context in enumerate(_each(contexts, n)):
            played.actions[row], played.probabilities[row] = self._decide(context, available)
        return played

    def _learn_many(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> None:
        for row, context in enumerate(_each(contexts, len(actions))):
            self._learn(context, int(actions[row]), float(rewards[row]), float(probabilities[row]))

    def _play(self, contexts: Any, rewards: Floats) -> Played:
        n = len(rewards)
        played = Played.blank(n)
        for row, context in enumerate(_each(contexts, n)):
            index, probability = self._decide(context, self._all)
            self._learn(context, index, float(rewards[row, index]), probability)
            played.actions[row], played.probabilities[row] = index, probability
        return played

    # What is done instead where a subclass outside the package overrides `decide` or `learn`.

    def _settle(self, contexts: Any) -> None:
        """Take from the first contexts of many what a single one may not tell."""

    def _decide_each(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Decisions:
        self._settle(contexts)
        names = [action for action, offered in zip(self.actions, available.tolist(), strict=True) if offered]
        options = {} if available.all() else {"available": names}
        decided = [self.decide(context, **options) for context in _each(contexts, n)]
        probabilities = np.array([decision.probability for decision in decided])
        return Decisions([decision.action for decision in decided], probabilities, contexts)

    def _play_each(self, contexts: Any, rewards: Floats) -> Played:
        played = Played.blank(len(rewards))
        if len(rewards):
            self._settle(contexts)
        for row, context in enumerate(_each(contexts, len(rewards))):
            decision = self.decide(context)
            index, probability, _ = self._opened(decision)
            self.learn(decision, float(rewards[row, index]))
            played.actions[row], played.probabilities[row] = index, probability
        return played

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "actions": list(self.actions), "reward_range": list(self.reward_range)}

    def _validate_state(self) -> None:
        check_random_state(self._rng)

    def _position(self, action: Action) -> int:
        try:
            return self._index[action]
        except (KeyError, TypeError):
            raise ValueError(f"action is {shown(action)}; it must be one of {listed(self.actions)}") from None

    def _opened(self, decision: Decision) -> tuple[int, float, Context]:
        """An action's index, its probability and the context, all checked."""
        try:
            action, probability, context = decision
            index = self._index[action]
        except (TypeError, ValueError, KeyError):
            index = self._position(_action_of(decision))
        if not (type(probability) is float and MIN_PROBABILITY <= probability <= 1.0):
            probability = checked_probability(probability)
        return index, probability, context

    def _opened_many(self, decisions: Decisions | Sequence[Decision]) -> tuple[Integers, Floats, Any]:
        """The same as columns."""
        if isinstance(decisions, Decisions):
            actions, given, contexts = decisions.actions, decisions.probabilities, decisions.contexts
            if len(given) != len(actions) or (contexts is not None and n_rows(contexts, "contexts") != len(actions)):
                raise ValueError("decisions must hold as many probabilities, and contexts if any, as actions")
            opened = [(self._position(a), checked_probability(p)) for a, p in zip(actions, given, strict=True)]
        elif isinstance(decisions, Iterable):
            complete = [self._opened(decision) for decision in decisions]
            opened, contexts = [row[:2] for row in complete], [context for *_, context in complete]
        else:
            raise ValueError(f"decisions is {shown(decisions)}; it must be Decisions or a list of Decision")
        indices, probabilities = [index for index, _ in opened], [probability for _, probability in opened]
        return np.array(indices, dtype=np.int64), np.array(probabilities, dtype=np.float64), contexts

    def _unit(self, rewards: Any) -> Any:
        return rewards if self._is_unit else (rewards - self._low) / (self._high - self._low)

    def _reward(self, unit: float) -> float:
        return self._low + unit * (self._high - self._low)

    def _renumber(self) -> None:
        self._index = {action: index for index, action in enumerate(self.actions)}
        self._all = np.ones(len(self.actions), dtype=np.bool_)

    def _mask(self, available: Iterable[Action]) -> NDArray[np.bool_]:
        if isinstance(available, str) or not isinstance(available, Iterable):
            raise ValueError(f"available is {shown(available)}; it must be a list of actions")
        mask = np.zeros(len(self.actions), dtype=np.bool_)
        for action in available:
            mask[self._position(action)] = True
        if not mask.any():
            raise ValueError("available is empty; at least one action is needed")
        return mask


def _each(contexts: Any, n: int) -> Iterable[Context]:
    """Each of `n` contexts, or as many times None."""
    return rows(contexts) if contexts is not None else [None] * n


def _action_of(decision: Any) -> Any:
    """The action of a decision; a ValueError says that it is none."""
    try:
        action, _, _ = decision
    except (TypeError, ValueError):
        form = "Decision(action, probability, context)"
        raise ValueError(f"decision is {shown(decision)}; it must be a {form}") from None
    return action
