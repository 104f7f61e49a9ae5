"""The fields of a line of dsjson, and which lines are decisions to learn from."""

from collections.abc import Sequence
from typing import Any

from stumpery.logs.formats.json_lines import Events
from stumpery.logs.report import LogReport
from stumpery.system.extras import need


def event_type() -> Any:
    """The type of an event but for its context."""
    msgspec = need("msgspec", "logs")
    raw = msgspec.Raw  # null is a text, too
    keys: dict[str, tuple[str, Any]] = {
        "cost": ("_label_cost", float | None),
        "probability": ("_label_probability", float | None),
        "action": ("_label_Action", int | None),
        "index": ("_labelIndex", int | None),
        "order": ("a", list[int] | None),
        "probabilities": ("p", list[float] | None),
        "event_id": ("EventId", str | None),
        "time": ("Timestamp", str | None),
        "observations": ("o", raw),
        "is_skipped": ("_skipLearn", bool | None),
        "p_drop": ("pdrop", float | None),
        "outcomes": ("_outcomes", raw),
        "reward_value": ("RewardValue", raw),
    }
    fields = [(name, kind, None) for name, (_, kind) in keys.items()]
    return msgspec.defstruct("BaseEvent", fields, rename={name: key for name, (key, _) in keys.items()}, gc=False)


def label_type() -> Any:
    """The type of an event's label alone, and of its order of actions."""
    keys: dict[str, tuple[str, Any]] = {
        "cost": ("_label_cost", float | None),
        "action": ("_label_Action", int | None),
        "order": ("a", list[int] | None),
    }
    fields = [(name, kind, None) for name, (_, kind) in keys.items()]
    rename = {name: key for name, (key, _) in keys.items()}
    return need("msgspec", "logs").defstruct("Label", fields, rename=rename, gc=False)


def decisions(block: Events, report: LogReport) -> Events:
    """The events that are decisions to learn from; the others are counted."""
    if all(map(is_ordinary, block.events)):
        return block
    others: dict[str, list[int]] = {}
    kept = []
    for place, event in enumerate(block.events):
        problem = ""
        if event.outcomes is not None:
            problem = "event of another kind"
        elif event.context is None and event.order is None and event.action is None:
            problem = "event of another kind" if event.reward_value is None else "reward without decision"
        elif event.is_skipped:
            problem = "not to learn from"
        elif event.p_drop is not None and not 0.0 <= event.p_drop < 1.0:
            problem = "invalid weight"
        if problem:
            others.setdefault(problem, []).append(block.lines[place])
        else:
            kept.append(place)
    for problem, lines in others.items():
        report.add_many(problem, lines)
    if len(kept) == len(block.events):
        return block
    return Events([block.events[place] for place in kept], [block.lines[place] for place in kept], block.share)


def is_ordinary(event: Any) -> bool:
    """Whether an event is a decision like most others."""
    return event.context is not None and event.p_drop is None and event.outcomes is None and not event.is_skipped


def labels_agree(events: Sequence[Any]) -> bool:
    """Whether all events name their action in three ways that agree."""
    return all(
        event.order
        and event.action == event.order[0]
        and event.action - 1 == event.index
        and 0 < event.action <= len(event.order)
        for event in events
    )
