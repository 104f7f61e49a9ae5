"""Off-policy evaluation: what policies would have earned on a log, in one pass and bounded memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.evaluation.off_policy.candidates import (
    Candidate,
    Fixed,
    Frozen,
    Learning,
    LoggedRows,
    Progressive,
    Rejecting,
    Replayed,
    Rule,
)
from stumpery.evaluation.off_policy.ledger import Ledger
from stumpery.evaluation.off_policy.log_checks import LogChecks
from stumpery.evaluation.off_policy.reporting.report import OffPolicyReport
from stumpery.evaluation.off_policy.reward_models import RewardModel, reward_model_of
from stumpery.evaluation.off_policy.slices import Slices
from stumpery.options import check_callable, check_number, check_whole, listed, shown
from stumpery.policies.policy import Policy
from stumpery.types import Action

LOGGED = "logged"
CHUNK_ROWS = 8192


class EvaluationLog(Protocol):
    """A log of decisions, such as `stumpery.logs.Log`, that can be read again and again."""

    @property
    def actions(self) -> Sequence[Action]:
        """The actions."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward."""

    def chunks(self, size: int) -> Any:
        """The rows, in chunks."""


def evaluate(
    log: EvaluationLog,
    policies: Mapping[str, Any],
    *,
    model: Any = None,
    slices: str | Callable[[Any], Any] | None = None,
    level: float = 0.95,
    least_probability: float | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> OffPolicyReport:
    """Off-policy evaluation: estimate what policies would have earned on a log of decisions, with intervals.

    The log is read once, in chunks, and nothing grows with it. The policies stay as they are. Rows without a valid
    action, probability or reward are left out and counted.

    Args:
        log: The log, from `stumpery.logs`.
        policies: By name: a policy, evaluated frozen; a `Progressive` or `Replayed` one, which learns along the log;
            an action, always taken; a function from a context to an action or to a dict of probabilities. The log's own
            policy is added as "logged".
        model: Reward model of the direct method and of doubly robust estimates, cross-fitted along time: None is a
            RewardForest (without contexts, means); else a RewardForest with other options, or a scikit-learn regressor.
        slices: A column of contexts, or a function from a context to a name: estimates for each of its values, with
            intervals corrected for their number.
        level: Coverage of intervals, between 0 and 1.
        least_probability: The least probability with which the logging policy chooses any action that is offered, such
            as epsilon over the number of actions. It narrows confidence sequences where the log lacks the
            probabilities of all actions; an InvalidInput names a line with a lower one.
        seed: Seed of the reward model and of resamples.
        progress: Called with the number of rows of each chunk.

    >>> import stumpery as st
    >>> rows = {"hour": [hour % 24 for hour in range(2000)], "action": ["news", "film"] * 1000, "p": [0.5] * 2000}
    >>> rows["reward"] = [float(action == "news") for action in rows["action"]]
    >>> log = st.logs.from_frame(rows, action="action", reward="reward", probability="p")
    >>> report = st.evaluate(log, {"always news": "news"}, least_probability=0.5)
    >>> report.value("always news") > 0.95, report.value("logged")
    (True, 0.5)
    """
    check_number("level", level, 0.0, 1.0, above=True, below=True)
    check_whole("seed", seed, 0)
    check_callable("progress", progress)
    if least_probability is not None:
        check_number("least_probability", least_probability, 0.0, 1.0, above=True)
    actions = tuple(_attribute(log, "actions"))
    if not actions:
        raise InvalidInput("the log is empty: it has no row with an action, so nothing can be evaluated")
    candidates = _candidates(log, policies, actions)
    low, high = (float(end) for end in log.reward_range)
    checks = LogChecks(actions, (low, high), least_probability)
    whole = Ledger(list(candidates), (low, high), len(actions), least_probability, level)
    sliced = Slices(slices, whole)
    reward_model: RewardModel | None = None
    for chunk in log.chunks(CHUNK_ROWS):
        rows = checks.valid_rows(chunk)
        if rows.n:
            if reward_model is None:
                has_context = rows.contexts is not None
                reward_model = reward_model_of(model, actions, (low, high), has_context=has_context, seed=seed)
            predicted = reward_model.predict_then_learn(
                rows.contexts_at(np.arange(rows.n)), rows.actions, rows.rewards, rows.probabilities
            )
            judged = {name: _judged(each, rows) for name, each in candidates.items()}
            whole.add(rows, predicted, judged)
            sliced.add(rows, predicted, judged)
        if progress is not None:
            progress(len(chunk))
    if not whole.n:
        raise InvalidInput(f"the log has no row to evaluate: {checks.left_out()}")
    return OffPolicyReport(whole, checks, sliced.ledgers, level=level, seed=seed)


def _judged(candidate: Candidate | None, rows: LoggedRows) -> Any:
    """A candidate's probabilities; which rows a replayed one accepts; None for the log's policy."""
    if candidate is None:
        return None
    return candidate.accepted(rows) if isinstance(candidate, Rejecting) else candidate.probabilities(rows)


def _attribute(log: Any, name: str) -> Any:
    if not hasattr(log, "chunks") or not hasattr(log, name):
        raise InvalidInput(f"log is {shown(log)}; it must be a log, such as st.logs.from_frame makes")
    return getattr(log, name)


def _candidates(log: EvaluationLog, policies: Any, actions: tuple[Action, ...]) -> dict[str, Candidate | None]:
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidInput(f"policies is {shown(policies)}; it must be a dict from names to policies")
    for name in policies:
        if not isinstance(name, str):
            raise InvalidInput(f"policies has the name {shown(name)}; names must be strings")
    if LOGGED in policies:
        raise InvalidInput(f"policies has the name {LOGGED!r}, which is that of the log's own policy; take another")
    return {LOGGED: None, **{name: _candidate(log, name, given, actions) for name, given in policies.items()}}


def _candidate(log: EvaluationLog, name: str, given: Any, actions: tuple[Action, ...]) -> Candidate:
    if isinstance(given, Progressive | Replayed) and not isinstance(given.policy, Policy):
        raise InvalidInput(f"policy {name!r} is to learn {shown(given.policy)}; it must be a policy")
    if isinstance(given, Progressive):
        return Learning(given.policy, actions)
    if isinstance(given, Replayed):
        return Rejecting(given.policy, actions, _least_logged(log), given.seed)
    if isinstance(given, Policy):
        if not set(given.actions) & set(actions):
            raise InvalidInput(f"policy {name!r} has no action of the log, which has {listed(list(actions))}")
        return Frozen(given, actions)
    if callable(given) and not isinstance(given, type):
        return Rule(name, given, actions)
    if isinstance(given, Action) and given in actions:
        return Fixed(actions.index(given))
    kinds = "a policy, a function, or an action of the log"
    raise InvalidInput(f"policy {name!r} is {shown(given)}; it must be {kinds}, which has {listed(list(actions))}")


def _least_logged(log: EvaluationLog) -> float:
    """The least probability of the log, from a pass of its own."""
    least = 1.0
    for chunk in log.chunks(CHUNK_ROWS):
        known = chunk.probabilities[chunk.probabilities > 0.0]
        least = min(least, float(known.min(initial=1.0)))
    return least
