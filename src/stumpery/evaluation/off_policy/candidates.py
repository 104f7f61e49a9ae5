"""What can be evaluated on a log: policies that are frozen, learn or are replayed; rules; fixed actions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.frames import rows as rows_of
from stumpery.frames import rows_at
from stumpery.options import listed, shown
from stumpery.policies.arguments import as_number
from stumpery.policies.policy import Policy
from stumpery.types import Action, Decision, Decisions, Floats, Integers

Mask = NDArray[np.bool_]
MIN_AHEAD, MAX_AHEAD = 4, 4096  # rows whose probabilities a replayed policy computes at once
MAX_DEVIATION = 1e-6  # of a rule's probabilities from a sum of 1: they may come from 32-bit floats


class LoggedRows(NamedTuple):
    """Valid rows of a log.

    `actions` are indices of `names`, the log's actions; `contexts` are None where the log has none, `available` and
    `counts` where all actions were offered, and each row stands for one event.
    """

    contexts: Any
    actions: Integers
    probabilities: Floats
    rewards: Floats
    names: tuple[Action, ...]
    available: Mask | None = None
    all_probabilities: Floats | None = None
    counts: Floats | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.actions)

    def contexts_at(self, index: Integers) -> Any:
        """The contexts of some rows, as policies take them; their number where there are none."""
        if self.contexts is None:
            return len(index)
        return self.contexts if len(index) == self.n else rows_at(self.contexts, index)

    def at(self, index: Integers) -> "LoggedRows":
        """Some of the rows."""
        contexts = None if self.contexts is None else rows_at(self.contexts, index)
        return LoggedRows(
            contexts,
            self.actions[index],
            self.probabilities[index],
            self.rewards[index],
            self.names,
            None if self.available is None else self.available[index],
            None if self.all_probabilities is None else self.all_probabilities[index],
            None if self.counts is None else self.counts[index],
        )

    def runs(self) -> Iterator[tuple[slice, Mask | None]]:
        """Runs of rows that offer the same actions."""
        if self.available is None or self.available.all():
            yield slice(0, self.n), None
            return
        changes = (self.available[1:] != self.available[:-1]).any(axis=1)
        starts = [0, *(np.flatnonzero(changes) + 1).tolist(), self.n]
        for start, stop in pairwise(starts):
            yield slice(start, stop), self.available[start]

    def groups(self) -> Iterator[tuple[Integers, Mask | None]]:
        """Groups of rows, by index, that offer the same actions."""
        if self.available is None or self.available.all():
            yield np.arange(self.n), None
            return
        masks, group = np.unique(self.available, axis=0, return_inverse=True)
        for index, mask in enumerate(masks):
            yield np.flatnonzero(group.ravel() == index), mask


@dataclass(frozen=True)
class Progressive:
    """A policy evaluated as it learns along a log: each event is judged by what a copy learned from those before.

    The copy learns every logged reward with its logged probability; its own distributions are evaluated.

    Args:
        policy: The policy, which stays as it is.

    >>> import stumpery as st
    >>> Progressive(st.UCB(actions=["news", "film"])).policy.actions
    ('news', 'film')
    """

    policy: Policy


@dataclass(frozen=True)
class Replayed:
    """A policy replayed on a log with rejection: a copy learns only events that it could have had itself.

    An event is accepted with the probability floor * p / q, where q is the logged probability, p the policy's
    probability of the logged action, and floor a lower bound on q; accepted events are distributed as if the policy had
    chosen (Li et al. 2011 for uniform logs). It needs many events where the floor is low.

    Args:
        policy: The policy, which stays as it is.
        seed: Seed of the rejections.

    >>> import stumpery as st
    >>> Replayed(st.UCB(actions=["news", "film"])).seed
    0
    """

    policy: Policy
    seed: int = 0


class Candidate(ABC):
    """A target policy along a log."""

    @abstractmethod
    def probabilities(self, rows: LoggedRows) -> Floats:
        """The probability of each of the log's actions in each row, (n, actions)."""


class Fixed(Candidate):
    """Always the same action, where it is offered."""

    def __init__(self, action: int) -> None:
        self._action = action

    def probabilities(self, rows: LoggedRows) -> Floats:
        """1 for the action; 0 where it was not offered."""
        chosen = np.zeros((rows.n, len(rows.names)))
        chosen[:, self._action] = 1.0
        return chosen if rows.available is None else chosen * rows.available


class Rule(Candidate):
    """A function from a context to an action, or to a mapping from actions to probabilities."""

    def __init__(self, name: str, rule: Callable[[Any], Any], actions: Sequence[Action]) -> None:
        self._name, self._rule = name, rule
        self._index = {action: index for index, action in enumerate(actions)}

    def probabilities(self, rows: LoggedRows) -> Floats:
        """What the function says of each context."""
        chosen = np.zeros((rows.n, len(self._index)))
        contexts = [None] * rows.n if rows.contexts is None else rows_of(rows.contexts)
        for row, context in zip(chosen, contexts, strict=True):
            said = self._rule(context)
            for action, share in said.items() if isinstance(said, dict) else ((said, 1.0),):
                row[self._position(action)] += as_number(share)
            if not (row.min() >= 0.0 and abs(row.sum() - 1.0) <= MAX_DEVIATION):  # NaN is not
                raise InvalidInput(f"the rule {self._name!r} gives {shown(said)}; probabilities must sum to 1")
        return chosen if rows.available is None else chosen * rows.available

    def _position(self, action: Any) -> int:
        try:
            return self._index[action]
        except (KeyError, TypeError):
            known = listed(list(self._index))
            raise InvalidInput(f"the rule {self._name!r} gives {shown(action)}; it must be one of {known}") from None


class Frozen(Candidate):
    """A policy that stays as it is."""

    def __init__(self, policy: Policy, actions: Sequence[Action]) -> None:
        self._policy = policy
        places = {action: place for place, action in enumerate(policy.actions)}
        known = [(column, places[action]) for column, action in enumerate(actions) if action in places]
        self._columns, self._places = ([pair[side] for pair in known] for side in (0, 1))

    def probabilities(self, rows: LoggedRows) -> Floats:
        """The policy's probabilities in the order of the log's actions."""
        found = np.zeros((rows.n, len(rows.names)))
        for group, mask in rows.groups():
            offered = self._offered(rows.names, mask)
            if offered is None or offered:
                contexts = rows.contexts_at(group)
                found[group] = self._in_order(rows, self._policy.probabilities_many(contexts, available=offered))
        return found

    def _offered(self, names: Sequence[Action], mask: Mask | None) -> list[Action] | None:
        """The policy's actions among those that were offered; None for all."""
        return None if mask is None else [names[column] for column in self._columns if mask[column]]

    def _in_order(self, rows: LoggedRows, probabilities: Floats) -> Floats:
        """Columns of the policy's actions in the order of the log's."""
        found = np.zeros((len(probabilities), len(rows.names)))
        found[:, self._columns] = probabilities[:, self._places]
        return found


class Learning(Frozen):
    """A policy that learns the log, evaluated just before each event."""

    def __init__(self, policy: Policy, actions: Sequence[Action]) -> None:
        missing = [action for action in actions if action not in policy.actions]
        if missing:
            raise InvalidInput(f"the policy cannot learn the log: it has no action {listed(missing)}")
        super().__init__(policy.clone(include_attributes=True), actions)

    def probabilities(self, rows: LoggedRows) -> Floats:
        """What the policy says of each event before it learns it."""
        found = np.zeros((rows.n, len(rows.names)))
        for run, mask in rows.runs():
            index = np.arange(rows.n)[run]
            actions = [rows.names[action] for action in rows.actions[run].tolist()]
            contexts = None if rows.contexts is None else rows.contexts_at(index)
            decisions = Decisions(actions, rows.probabilities[run], contexts)
            tested = self._policy.test_then_learn(
                decisions, rows.rewards[run], available=self._offered(rows.names, mask)
            )
            found[run] = self._in_order(rows, tested.probabilities)
        return found


class Rejecting(Frozen):
    """A policy that is replayed: it learns the events that it accepts."""

    def __init__(self, policy: Policy, actions: Sequence[Action], floor: float, seed: int) -> None:
        super().__init__(policy.clone(include_attributes=True), actions)
        self._floor, self._rng = floor, np.random.default_rng(seed)

    def probabilities(self, rows: LoggedRows) -> Floats:
        """Refused: its events are those that `accepted` gives."""
        raise InvalidInput("a policy that is replayed has no probabilities of rows; it accepts events or does not")

    def accepted(self, rows: LoggedRows) -> Mask:
        """Which events it accepts; it learns them one after the other.

        Between two accepted events the policy stays, so its probabilities are those of many rows at once.
        """
        kept = np.zeros(rows.n, dtype=np.bool_)
        draws = self._rng.random(rows.n) * rows.probabilities / self._floor
        for run, mask in rows.runs():
            offered, start, n_ahead = self._offered(rows.names, mask), run.start, MIN_AHEAD
            while start < run.stop:
                ahead = np.arange(start, min(start + n_ahead, run.stop))
                own = self._own_probabilities(rows, ahead, offered)
                hits = np.flatnonzero(draws[ahead] < own)
                if len(hits):
                    row = int(ahead[hits[0]])
                    self._learn(rows, row, float(own[hits[0]]))
                    kept[row] = True
                    start, n_ahead = row + 1, max(n_ahead // 2, MIN_AHEAD)
                else:
                    start, n_ahead = int(ahead[-1]) + 1, min(2 * n_ahead, MAX_AHEAD)
        return kept

    def _own_probabilities(self, rows: LoggedRows, index: Integers, offered: list[Action] | None) -> Floats:
        """The policy's probability of the logged action of each row."""
        if offered is not None and not offered:
            return np.zeros(len(index))
        found = self._policy.probabilities_many(rows.contexts_at(index), available=offered)
        own: Floats = self._in_order(rows, found)[np.arange(len(index)), rows.actions[index]]
        return own

    def _learn(self, rows: LoggedRows, row: int, probability: float) -> None:
        context = None if rows.contexts is None else next(iter(rows_of(rows_at(rows.contexts, np.array([row])))))
        action = rows.names[rows.actions[row]]
        self._policy.learn(Decision(action, probability, context), float(rows.rewards[row]))
