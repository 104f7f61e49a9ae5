"""Learning from a log of decisions, chunk by chunk."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.policies.arguments import MIN_PROBABILITY
from stumpery.types import Action, Decisions, Floats, Integers

NO_PROBABILITY = 1.0  # where none was logged: the reward counts once


class ProblemReport(Protocol):
    """What counts rows with problems, or refuses them."""

    def add_many(self, name: str, lines: Any, detail: str = "") -> None:
        """Count rows with one kind of problem by their lines."""


class DecisionChunk(Protocol):
    """Rows of a log as columns; `stumpery.logs.LogChunk` says what each is."""

    contexts: Any
    actions: Integers
    probabilities: Floats
    rewards: Floats
    lines: Integers


class DecisionLog(Protocol):
    """A log of decisions, such as `stumpery.logs.Log`."""

    @property
    def actions(self) -> Sequence[Action]:
        """The actions, in the order of their indices in chunks."""

    @property
    def report(self) -> ProblemReport:
        """The report of the current pass."""

    def chunks(self) -> Iterator[Any]:
        """The chunks in order."""

    def index_for(self, actions: Sequence[Action]) -> list[int]:
        """The place of each of the log's actions among others."""


class LearningPolicy(Protocol):
    """A policy."""

    actions: Sequence[Action]
    reward_range: tuple[float, float]

    def learn_many(self, decisions: Decisions, rewards: Floats) -> Integers:
        """Learn the rewards of many decisions; returns the positions of those refused."""


def learn_chunks(policy: LearningPolicy, log: DecisionLog, progress: Callable[[int], None] | None) -> None:
    """Learn the rows of a log that have a reward and an action of the policy."""
    if not all(hasattr(log, name) for name in ("chunks", "index_for", "report")):
        raise InvalidInput(f"log is {shown(log)}; it must come from stumpery.logs.read or stumpery.logs.from_frame")
    log.index_for(policy.actions)  # strict reading refuses actions that the policy lacks before anything is learned
    names = list(log.actions)
    known = np.array([name in set(policy.actions) for name in names], dtype=np.bool_)
    for chunk in log.chunks():
        learnable = _learnable(policy, chunk, known, log.report)
        rows = np.flatnonzero(learnable)
        if len(rows):
            contexts = chunk.contexts if learnable.all() else chunk.contexts[rows]
            given = chunk.probabilities[rows]
            probabilities = np.where(np.isnan(given), NO_PROBABILITY, np.maximum(given, MIN_PROBABILITY))
            actions = [names[index] for index in chunk.actions[rows].tolist()]
            policy.learn_many(Decisions(actions, probabilities, contexts), chunk.rewards[rows])
        if progress is not None:
            progress(len(learnable))


def _learnable(policy: LearningPolicy, chunk: DecisionChunk, known: Any, report: ProblemReport) -> Any:
    """Which rows can be learned; what the policy cannot take is a problem."""
    has_action = chunk.actions >= 0
    unknown = has_action.copy()
    unknown[has_action] = ~known[chunk.actions[has_action]]
    report.add_many("action unknown to the policy", chunk.lines[unknown])
    low, high = policy.reward_range
    with np.errstate(invalid="ignore"):
        outside = (chunk.rewards < low) | (chunk.rewards > high)
    if outside.any():
        detail = f"{chunk.rewards[outside][0]:g} is not from {low:g} to {high:g}"
        report.add_many("reward outside the range", chunk.lines[outside], detail)
    return has_action & ~unknown & ~outside & ~np.isnan(chunk.rewards)
