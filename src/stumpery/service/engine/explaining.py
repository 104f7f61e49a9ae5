"""Explanations of decisions: as they were logged, by the policy as it is now, and as it was then."""

from typing import Any

import msgspec

from stumpery.service import events
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.errors import UnknownName
from stumpery.service.events import DecisionMade
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.opening import open_log
from stumpery.service.replica.policy_replica import PolicyReplica
from stumpery.service.settings import SiteSettings
from stumpery.types import Decision


def explain(journal: Journal, name: str, event: str) -> dict[str, Any]:
    """A decision as it was logged, its rewards, and what the policy says of it now."""
    policy = journal.replica.policy(name)
    history, made = _history(name, event, journal.find(name, event))
    return {"event_id": event, "history": history, "now": _explanation(policy, made)}


def explain_then(settings: SiteSettings, snapshots: Snapshots, name: str, event: str) -> dict[str, Any]:
    """A decision, and what the policy said of it when it was made: from the snapshot before it, and the log.

    It reads the log by itself, and takes as long as that part of the log: not for the engine's thread.
    """
    log = open_log(settings, is_reader=True)
    try:
        history, made = _history(name, event, log.rows_of(name, event))
        created = next((row.number for row in log.rows() if row.policy == name), 0)
        replica = snapshots.restore(log, before=max(made.version, created))
    finally:
        log.close()
    return {"event_id": event, "history": history, "then": _explanation(replica.policy(name), made)}


def _history(name: str, event: str, rows: list[LogRow]) -> tuple[list[dict[str, Any]], DecisionMade]:
    """The events of a decision as plain values, and the decision."""
    found = [(row, events.decoded(row.content)) for row in rows]
    made = next((each for _, each in found if isinstance(each, DecisionMade)), None)
    if made is None:
        raise UnknownName(f"policy {name!r} has made no decision {event!r}")
    history = [{"number": row.number, "time": row.time, **msgspec.to_builtins(each)} for row, each in found]
    return history, made


def _explanation(policy: PolicyReplica, made: DecisionMade) -> dict[str, Any] | None:
    if made.action not in policy.model.actions:
        return None
    explanation = policy.model.explain(Decision(made.action, made.probability, made.context))
    return {"summary": explanation.summary, "rows": list(explanation.rows)}
