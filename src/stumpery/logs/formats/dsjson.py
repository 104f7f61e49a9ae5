"""Vowpal Wabbit's dsjson: a JSON line for each decision, with the cost of its action.

`_label_cost` is minus the reward, `_label_Action` counts from 1, `a` lists the actions from the chosen one on, and `p`
their probabilities along `a`. `c` is the context, with the features of the actions in `_multi`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stumpery.logs.formats.json_columns import Namespace
from stumpery.logs.formats.json_lines import Events, JsonEvents
from stumpery.logs.formats.times import seconds
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, LogFacts, RawRows
from stumpery.system.extras import need
from stumpery.types import Action, Floats

MAX_CACHED = 4096  # candidates' names, by the text of `_multi`


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


class DsjsonSource:
    """A file of dsjson lines.

    Args:
        path: the file.
        encoding: its encoding.
        action: the feature of `_multi` that names the actions, such as "action.id"; None takes the tags of the actions
            where there are any, else their positions from 1.
        reward: "cost" for minus `_label_cost`, "observations" for the sum of the numbers in `o`.
        with_features: whether to read the actions' features.
    """

    format = "dsjson"
    unit = "line"
    has_probabilities = True
    actions: tuple[Action, ...] | None = None
    reward_range: tuple[float, float] | None = None
    n_rows: int | None = None

    def __init__(
        self, path: Path, encoding: str | None, action: str | None, reward: str, *, with_features: bool
    ) -> None:
        self.name = path.name
        self._events = JsonEvents(path, event_type(), "c", encoding)
        self._namespace: Namespace = self._events.namespace
        self._multi = self._namespace.attribute("_multi")
        self._action = action
        self._reward = reward
        self._with_features = with_features
        self._json = need("msgspec", "logs").json.Decoder()
        self._named: dict[bytes, tuple[Action, ...]] = {}
        self._numbered: dict[int, tuple[Action, ...]] = {}
        self._has_names = action is not None

    def facts(self, advance: Callable[[int, float], None]) -> LogFacts | None:
        """Actions and rewards from the labels alone, where actions are numbered."""
        if self._has_names or self._reward != "cost":
            return None
        n_actions, least, greatest, n_rows = 0, np.inf, -np.inf, 0
        for block in self._events.labels(label_type()):
            costs = np.array([event.cost for event in block.events], dtype=np.float64)
            known = costs[np.isfinite(costs)]
            least, greatest = min(least, known.min(initial=np.inf)), max(greatest, known.max(initial=-np.inf))
            sizes = (len(event.order) if event.order else event.action or 0 for event in block.events)
            n_actions = max(n_actions, *sizes) if block.events else n_actions
            n_rows += len(block.events)
            advance(len(block.events), block.share)
        rewards = None if least > greatest else (0.0 - float(greatest), 0.0 - float(least))
        return LogFacts(frozenset(range(1, n_actions + 1)), rewards, n_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return tuple(self._namespace.names)

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Decode the file's lines."""
        for block in self._events.read(size, report):
            decisions = self._decisions(block, report)
            advance(block.share)
            if decisions.events:
                yield self._rows(decisions, report)

    def _decisions(self, block: Events, report: LogReport) -> Events:
        """The events that are decisions to learn from; the others are counted."""
        if all(map(_is_ordinary, block.events)):
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

    def _rows(self, block: Events, report: LogReport) -> RawRows:
        events, lines = block.events, np.array(block.lines, dtype=np.int64)
        times, invalid = seconds([event.time for event in events])
        report.add_many("invalid time", lines[invalid])
        contexts = [event.context for event in events]
        names = self._names(contexts, events)
        weights = np.array([event.p_drop for event in events], dtype=np.float64)
        weights = 1.0 / (1.0 - np.where(np.isnan(weights), 0.0, weights))
        probabilities = np.array([event.probability for event in events], dtype=np.float64)
        has_order = any(event.order is not None for event in events)
        candidates = Candidates(
            [each if event.order else () for each, event in zip(names, events, strict=True)],
            [event.order or [] for event in events],
            [event.probabilities or [] for event in events],
            first=1,
        )
        return RawRows(
            lines=lines,
            actions=self._chosen(events, names, lines, report),
            probabilities=probabilities,
            rewards=self._rewards(events),
            columns=self._namespace.columns(contexts),
            times=times,
            event_ids=[event.event_id for event in events],
            weights=weights if (weights != 1.0).any() else None,
            candidates=candidates if has_order else None,
            action_features=self._features(contexts, names) if self._with_features else None,
        )

    def _rewards(self, events: Sequence[Any]) -> Floats:
        if self._reward == "cost":
            return -np.array([event.cost for event in events], dtype=np.float64) + 0.0  # no -0.0
        return np.array([self._observed(event.observations) for event in events], dtype=np.float64)

    def _observed(self, raw: Any) -> float:
        """The sum of the numbers observed; NaN if there are none."""
        found = None if raw is None else self._json.decode(raw)
        values = [each.get("v") for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        numbers = [value for value in values if isinstance(value, int | float)]
        return float(sum(numbers)) if numbers else float("nan")

    def _chosen(
        self, events: Sequence[Any], names: Sequence[tuple[Action, ...]], lines: Any, report: LogReport
    ) -> list[Action | None]:
        """The name of each chosen action; fields that contradict each other are a problem."""
        if not self._has_names and _agree(events):
            return [event.action for event in events]
        found: list[Action | None] = []
        contradictory = []
        for event, offered, line in zip(events, names, lines, strict=True):
            number, order = event.action, event.order
            first = order[0] if order else None
            if number is None:
                number = event.index + 1 if event.index is not None else first
            elif (first is not None and first != number) or (event.index is not None and event.index + 1 != number):
                contradictory.append(line)
            known = number is not None and 1 <= number <= len(offered)
            found.append(offered[number - 1] if known else None if offered else number)
        report.add_many("contradictory action", contradictory)
        return found

    def _names(self, contexts: Sequence[Any], events: Sequence[Any]) -> list[tuple[Action, ...]]:
        """The names of the candidates of each row: of those that `_multi` names, else positions from 1."""
        numbered, attribute = self._numbered, self._multi
        names = []
        for context, event in zip(contexts, events, strict=True):
            named = None
            if attribute is not None and self._has_names and context is not None:
                named = self._names_in(getattr(context, attribute))
            if named is None:
                n_candidates = len(event.order) if event.order else 0
                named = numbered.get(n_candidates)
                if named is None:
                    named = numbered[n_candidates] = tuple(range(1, n_candidates + 1))
            names.append(named)
        return names

    def _names_in(self, raw: Any) -> tuple[Action, ...] | None:
        """The names of the candidates in the text of `_multi`; None if it does not name each, once."""
        if raw is None:
            return None
        text = bytes(raw)
        found = self._named.get(text)
        if found is None:
            values = [_at(each, (self._action or "_tag").split(".")) for each in self._objects(text)]
            is_named = all(isinstance(value, str | int | float) for value in values) and len(set(values)) == len(values)
            if len(self._named) >= MAX_CACHED:
                self._named.clear()
            found = self._named[text] = tuple(values) if is_named else ()
        return found or None

    def _objects(self, text: bytes) -> list[Any]:
        """The candidates in the text of `_multi`; none where it is no list."""
        found = self._json.decode(text)
        return found if isinstance(found, list) else []

    def _features(self, contexts: Sequence[Any], names: Sequence[tuple[Action, ...]]) -> list[Mapping[Any, Any]]:
        """The features of each row's candidates."""
        found: list[Mapping[Any, Any]] = []
        for context, offered in zip(contexts, names, strict=True):
            raw = None if context is None or self._multi is None else getattr(context, self._multi)
            flat = [] if raw is None else [_flat(each) for each in self._objects(bytes(raw))]
            found.append(dict(zip(offered or range(1, len(flat) + 1), flat, strict=False)))
        return found


def _is_ordinary(event: Any) -> bool:
    """Whether an event is a decision like most others."""
    return event.context is not None and event.p_drop is None and event.outcomes is None and not event.is_skipped


def _agree(events: Sequence[Any]) -> bool:
    """Whether all events name their action in three ways that agree."""
    return all(
        event.order
        and event.action == event.order[0]
        and event.action - 1 == event.index
        and 0 < event.action <= len(event.order)
        for event in events
    )


def _at(value: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """An object's numbers and texts, by dotted keys."""
    found: dict[str, Any] = {}
    for key, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, dict):
            found |= _flat(each, f"{prefix}{key}.")
        elif isinstance(each, str | int | float) and not key.startswith("_"):
            found[f"{prefix}{key}"] = each
    return found
