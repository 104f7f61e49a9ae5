"""Vowpal Wabbit's text formats: `--cb` (a line for each decision) and `--cb_adf` (a line for each action).

A label is `action:cost:probability`, and the cost is minus the reward. Features are `name:value`, `name=category`, or
`name` alone, which counts 1; those of a namespace get its name before theirs, such as "user.age".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from stumpery.columns import Values
from stumpery.encoding.columns.values import text_of
from stumpery.errors import InvalidInput
from stumpery.logs.formats.lines import read_lines
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.types import Action

N_SAMPLE_EVENTS = 1000  # whose features become columns


@dataclass
class TextEvent:
    """One decision of a text file.

    Args:
        line: its first line.
        action: the chosen action.
        cost: minus the reward.
        probability: of the action.
        features: of the context.
        candidates: what could be chosen; nothing if the text does not say.
        action_features: of each candidate.
        problem: why it cannot be read; empty if it can.
    """

    line: int
    action: Action | None = None
    cost: float = np.nan
    probability: float = np.nan
    features: dict[str, Any] = field(default_factory=dict)
    candidates: tuple[Action, ...] = ()
    action_features: dict[Action, dict[str, Any]] = field(default_factory=dict)
    problem: str = ""


class TextSource:
    """A file in one of Vowpal Wabbit's text formats.

    Args:
        path: the file.
        encoding: its encoding.
        file_format: "cb" or "cb_adf".
        action: the feature that names an action of `cb_adf`; None numbers the actions from 1.
        with_features: whether to give the actions' features.
    """

    unit = "line"
    has_probabilities = True
    actions: tuple[Action, ...] | None = None
    reward_range: tuple[float, float] | None = None
    n_rows: int | None = None

    def __init__(
        self, path: Path, encoding: str | None, file_format: str, action: str | None, *, with_features: bool
    ) -> None:
        self.name = path.name
        self.format = file_format
        self._path = path
        self._encoding = encoding
        self._action = action
        self._with_features = with_features
        sample = [event.features for event in islice((each for each, _ in self._events(1000)), N_SAMPLE_EVENTS)]
        self._is_number = {
            name: all(not isinstance(row[name], str) for row in sample if name in row)
            for name in dict.fromkeys(name for row in sample for name in row)
        }
        self._names: dict[tuple[Action, ...], tuple[Action, ...]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return tuple(self._is_number)

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Parse the file."""
        batch: list[TextEvent] = []
        for event, share in self._events(size, report):
            if event.problem:
                report.add(event.problem, event.line)
                continue
            batch.append(event)
            if len(batch) == size:
                yield self._rows(batch, report)
                batch = []
                advance(share)
        if batch:
            yield self._rows(batch, report)

    def _rows(self, events: Sequence[TextEvent], report: LogReport) -> RawRows:
        lines = np.array([event.line for event in events], dtype=np.int64)
        names = [self._names.setdefault(event.candidates, event.candidates) for event in events]
        has_candidates = any(names)
        if len(self._names) > N_SAMPLE_EVENTS:
            self._names.clear()
        return RawRows(
            lines=lines,
            actions=[event.action for event in events],
            probabilities=np.array([event.probability for event in events]),
            rewards=0.0 - np.array([event.cost for event in events]),
            columns=self._columns(events, report),
            candidates=Candidates(names, None, None) if has_candidates else None,
            action_features=[event.action_features for event in events] if self._with_features else None,
        )

    def _columns(self, events: Sequence[TextEvent], report: LogReport) -> Mapping[str, Values]:
        """The features as columns; new ones, and texts among numbers, are problems."""
        known = self._is_number.keys()
        new = [event for event in events if not known >= event.features.keys()]
        for event in new:
            report.add("new column", event.line, next(name for name in event.features if name not in known))
        found: dict[str, Values] = {}
        for name, is_number in self._is_number.items():
            values = [event.features.get(name) for event in events]
            if is_number:
                for event, value in zip(events, values, strict=True):
                    if isinstance(value, str):
                        report.add("value of another type", event.line, name)
                found[name] = np.array([None if isinstance(value, str) else value for value in values], np.float64)
            else:
                found[name] = [None if value is None else text_of(value) for value in values]
        return found

    def _events(self, size: int, report: LogReport | None = None) -> Iterator[tuple[TextEvent, float]]:
        """Each event, and the share of the file that has been read."""
        return self._of_lines(size, report) if self.format == "cb" else self._of_blocks(size, report)

    def _of_lines(self, size: int, report: LogReport | None) -> Iterator[tuple[TextEvent, float]]:
        for number, line, share in self._lines(size, report):
            if line:
                yield _cb_event(number, line), share

    def _of_blocks(self, size: int, report: LogReport | None) -> Iterator[tuple[TextEvent, float]]:
        """Lines up to an empty one are an event."""
        block: list[str] = []
        first, share = 1, 0.0
        for number, line, share in self._lines(size, report):
            if line:
                first = first if block else number
                block.append(line)
            elif block:
                yield _adf_event(first, block, self._action), share
                block = []
        if block:
            yield _adf_event(first, block, self._action), share

    def _lines(self, size: int, report: LogReport | None) -> Iterator[tuple[int, str, float]]:
        for block in read_lines(self._path, size, self._encoding):
            for number, line in enumerate(block.lines, block.first):
                yield number, line.decode(errors="replace").strip(), block.share
            if block.is_damaged and report is not None:
                report.add("cut file", block.first + len(block.lines))


def _cb_event(number: int, line: str) -> TextEvent:
    """The event of a line of `--cb` text."""
    header, *namespaces = line.split("|")
    event = TextEvent(number)
    try:
        labels = [token for token in header.split() if ":" in token]
        others = [int(token) for token in header.split() if token.isdigit()]
        if not namespaces or len(labels) > 1:
            event.problem = "event of another kind" if labels else "unreadable line"
            return event
        if labels:
            event.action, event.cost, event.probability = _label(labels[0])
            event.candidates = tuple(sorted({int(event.action), *others})) if others else ()
        event.features = _features(namespaces)
    except ValueError:
        event.problem = "unreadable line"
    return event


def _adf_event(number: int, lines: Sequence[str], action: str | None) -> TextEvent:
    """The event of a block of lines of `--cb_adf` text."""
    event = TextEvent(number)
    try:
        if lines[0].startswith("shared"):
            event.features = _features(lines[0].split("|")[1:])
            lines = lines[1:]
        names: list[Action] = []
        for place, line in enumerate(lines, 1):
            header, *namespaces = line.split("|")
            features = _features(namespaces)
            name = features.get(action, place) if action is not None else place
            names.append(name)
            event.action_features[name] = features
            labels = [token for token in header.split() if ":" in token]
            if labels:
                if event.action is not None:
                    event.problem = "event of another kind"
                _, event.cost, event.probability = _label(labels[0])
                event.action = name
        event.candidates = tuple(names)
        if not names or len(set(names)) != len(names):
            event.problem = "event of another kind"
    except ValueError:
        event.problem = "unreadable line"
    return event


def _label(token: str) -> tuple[int, float, float]:
    """An action, its cost and its probability; the last two are NaN where they are not given."""
    number, cost, probability, *rest = [*token.split(":"), "", ""]
    if any(rest):
        raise InvalidInput(f"label {token!r} has more than three parts")
    return int(number), float(cost) if cost else np.nan, float(probability) if probability else np.nan


def _features(namespaces: Sequence[str]) -> dict[str, Any]:
    """Features by column; a ValueError for one whose value is no number."""
    found: dict[str, Any] = {}
    for text in namespaces:
        tokens = text.split()
        prefix = ""
        if text[:1].strip() and tokens:  # a name follows the bar at once
            prefix = f"{tokens.pop(0).partition(':')[0]}."
        for token in tokens:
            name, _, value = token.partition(":")
            column, _, category = name.partition("=")
            found[f"{prefix}{column}"] = category or (float(value) if value else 1.0)
    return found
