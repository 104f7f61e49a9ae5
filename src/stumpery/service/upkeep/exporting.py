"""Export of decisions and their rewards as JSON lines, in the order in which the rewards were final."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from stumpery.service import events
from stumpery.service.errors import UnknownName
from stumpery.service.events import DecisionMade, DecisionSettled, PolicyCreated, RewardCame, RewardStatus
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.log.opening import open_log
from stumpery.service.settings import site_of
from stumpery.system.writing import whole_file

HEADING = {"format": "stumpery-log", "version": 1}


def export(folder: Path, policy: str, path: Path, database: str | None = None) -> int:
    """Write the decisions of a policy that have their reward, a line each; returns how many.

    The first line names the actions and the range of rewards. The log may be in use.
    """
    log = open_log(site_of(None, folder=folder, log=database), is_reader=True)
    encoder, n = msgspec.json.Encoder(), 0
    try:
        settings = _settings(log, policy)
        heading = {**HEADING, "actions": settings.actions, "reward_range": settings.reward_range}
        with whole_file(path) as part, part.open("wb") as file:
            file.write(encoder.encode(heading) + b"\n")
            for line in lines(row for row in log.rows() if row.policy == policy):
                file.write(encoder.encode(line) + b"\n")
                n += 1
    finally:
        log.close()
    return n


def lines(rows: Iterable[LogRow]) -> Iterator[dict[str, Any]]:
    """Decisions of one policy with the rewards that were learned of them."""
    waiting: dict[str, tuple[int, DecisionMade]] = {}
    rewards: dict[str, float] = {}
    for row in rows:
        event, key = events.decoded(row.content), row.event or ""
        if isinstance(event, DecisionMade):
            waiting[key] = row.time, event
        elif isinstance(event, RewardCame) and event.status is RewardStatus.LEARNED and key in waiting:
            yield _line(key, *waiting.pop(key), event.value)
        elif isinstance(event, RewardCame) and event.status is RewardStatus.EARLY:
            rewards.setdefault(key, event.value)
        elif isinstance(event, DecisionSettled) and key in waiting:
            made = waiting.pop(key)
            if event.value is not None:
                yield _line(key, *made, event.value)


def _line(event: str, time: int, made: DecisionMade, reward: float) -> dict[str, Any]:
    line = {
        "event_id": event,
        "time": time / 1000,
        "action": made.action,
        "probability": made.probability,
        "reward": reward,
        "context": made.context or {},
    }
    return line if made.available is None else {**line, "available": made.available}


def _settings(log: EventLog, policy: str) -> Any:
    settings, actions = None, dict[str, None]()
    for row in log.rows():
        if row.policy == policy and row.event is None:
            event = events.decoded(row.content)
            if isinstance(event, PolicyCreated):
                settings = event.settings
                actions |= dict.fromkeys(settings.actions)
            elif isinstance(event, events.ActionAdded):
                actions[event.action] = None
    if settings is None:
        raise UnknownName(f"the log has no policy {policy!r}")
    return msgspec.structs.replace(settings, actions=tuple(actions))
