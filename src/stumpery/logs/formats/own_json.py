"""Our own log as JSON lines: a line for each decision, after a line that names the actions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.logs.formats.json_lines import Events, JsonEvents
from stumpery.logs.formats.lines import read_lines
from stumpery.logs.formats.times import seconds
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.options import check_range, shown
from stumpery.policies.arguments import checked_actions
from stumpery.system.extras import need
from stumpery.types import Action

FORMAT_NAME = "stumpery-log"
FORMAT_VERSION = 1


def event_type() -> Any:
    """The type of an event but for its context."""
    msgspec = need("msgspec", "logs")
    number = float | None
    kinds: dict[str, Any] = {
        "action": str | int | float | bool | None,
        "probability": number,
        "reward": number,
        "event_id": str | None,
        "time": float | str | None,
        "probabilities": dict[str, float] | None,
        "available": list[str | int | float | bool] | None,
        "weight": number,
        "action_features": dict[str, dict[str, Any]] | None,
        "format": str | None,
    }
    return msgspec.defstruct("BaseEvent", [(name, kind, None) for name, kind in kinds.items()], gc=False)


class Heading:
    """What the first line of our own log says: its version, the actions, the range of rewards.

    Args:
        given: the line or the metadata as a dict; an empty one if there is none.
        name: the file's name, for messages.
    """

    def __init__(self, given: Mapping[str, Any], name: str) -> None:
        version = given.get("version", FORMAT_VERSION)
        if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
            raise InvalidInput(
                f"{name} is a log of version {shown(version)}; this version of Stumpery reads {FORMAT_VERSION}"
            )
        actions, rewards = given.get("actions"), given.get("reward_range")
        self.actions = checked_actions(actions) if actions else None
        self.reward_range = None if rewards is None else check_range("reward_range", rewards)

    @property
    def by_text(self) -> dict[str, Action]:
        """From the text of each action to the action: keys of JSON objects are texts."""
        return {str(action): action for action in self.actions or ()}


class OwnJsonSource:
    """A file of our own log as JSON lines.

    Args:
        path: the file.
        encoding: its encoding.
        with_features: whether to read the actions' features.
    """

    format = "stumpery"
    unit = "line"
    has_probabilities = True
    n_rows: int | None = None

    def __init__(self, path: Path, encoding: str | None, *, with_features: bool) -> None:
        self.name = path.name
        self._recipe = partial(OwnJsonSource, path, encoding, with_features=with_features)
        self._events = JsonEvents(path, event_type(), "context", encoding)
        self._heading = Heading(_first_line(path, encoding), self.name)
        self._by_text = self._heading.by_text
        self._candidates: dict[tuple[Any, ...], tuple[Action, ...]] = {}
        self._with_features = with_features

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the file anew: types that were made from its lines cannot be sent."""
        return self._recipe, ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return tuple(self._events.namespace.names)

    @property
    def actions(self) -> tuple[Action, ...] | None:
        """The actions that the first line names."""
        return self._heading.actions

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The range of rewards that the first line names."""
        return self._heading.reward_range

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Decode the file's lines."""
        for block in self._events.kept(decisions, size, report, advance):
            yield self._rows(block, report)

    def _rows(self, block: Events, report: LogReport) -> RawRows:
        events, lines = block.events, np.array(block.lines, dtype=np.int64)
        times, invalid = seconds([event.time for event in events])
        report.add_many("invalid time", lines[invalid])
        weights = np.array([event.weight for event in events], dtype=np.float64)
        weights = np.where(np.isnan(weights), 1.0, weights)
        return RawRows(
            lines=lines,
            actions=[event.action for event in events],
            probabilities=np.array([event.probability for event in events], dtype=np.float64),
            rewards=np.array([event.reward for event in events], dtype=np.float64),
            columns=self._events.namespace.columns([event.context for event in events]),
            times=times,
            event_ids=[event.event_id for event in events],
            weights=weights if (weights != 1.0).any() else None,
            candidates=self._offered(events),
            action_features=self._features(events) if self._with_features else None,
        )

    def _offered(self, events: Sequence[Any]) -> Candidates | None:
        if all(event.probabilities is None and event.available is None for event in events):
            return None
        names = [self._named(event.probabilities, event.available) for event in events]
        probabilities = [list(event.probabilities.values()) if event.probabilities else [] for event in events]
        return Candidates(names, None, probabilities if any(probabilities) else None)

    def _named(
        self, probabilities: Mapping[str, float] | None, available: Sequence[Action] | None
    ) -> tuple[Action, ...]:
        """The candidates of a row: those that have a probability, or that are available."""
        keys: tuple[Any, ...] = tuple(probabilities or available or ())
        found = self._candidates.get(keys)
        if found is None:
            if len(self._candidates) >= 4096:
                self._candidates.clear()
            found = self._candidates[keys] = tuple(self._by_text.get(key, key) for key in keys)
        return found

    def _features(self, events: Sequence[Any]) -> list[Mapping[Any, Mapping[str, Any]]]:
        given = [event.action_features or {} for event in events]
        return [{self._by_text.get(name, name): features for name, features in each.items()} for each in given]


def _first_line(path: Path, encoding: str | None) -> dict[str, Any]:
    """The first line, if it names the format."""
    decode = need("msgspec", "logs").json.decode
    block = next(read_lines(path, 1, encoding), None)
    try:
        line = decode(block.lines[0]) if block is not None and block.lines else {}
    except (ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) and line.get("format") == FORMAT_NAME else {}


def decisions(block: Events, report: LogReport) -> Events:
    """The events without the first line and without those that say nothing."""
    kept = []
    for place, event in enumerate(block.events):
        if event.format == FORMAT_NAME:
            continue
        if event.action is None and event.context is None:
            name = "event of another kind" if event.reward is None else "reward without decision"
            report.add(name, block.lines[place])
            continue
        kept.append(place)
    if len(kept) == len(block.events):
        return block
    return Events([block.events[place] for place in kept], [block.lines[place] for place in kept], block.share)
