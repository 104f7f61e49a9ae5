"""Vowpal Wabbit's dsjson: a JSON line for each decision, with the cost of its action.

`_label_cost` is minus the reward, `_label_Action` counts from 1, `a` lists the actions from the chosen one on, and `p`
their probabilities along `a`. `c` is the context, with the features of the actions in `_multi`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stumpery.logs.formats.dsjson_candidates import CandidateReader
from stumpery.logs.formats.dsjson_fields import decisions, event_type, label_type, labels_agree
from stumpery.logs.formats.json_columns import Namespace
from stumpery.logs.formats.json_lines import Events, JsonEvents
from stumpery.logs.formats.times import seconds
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, LogFacts, RawRows
from stumpery.system.extras import need
from stumpery.types import Action, Floats


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
        self._recipe = partial(DsjsonSource, path, encoding, action, reward, with_features=with_features)
        self._events = JsonEvents(path, event_type(), "c", encoding)
        self._namespace: Namespace = self._events.namespace
        self._candidates = CandidateReader(self._namespace.attribute("_multi"), action)
        self._reward = reward
        self._with_features = with_features
        self._json = need("msgspec", "logs").json.Decoder()
        self._has_names = action is not None

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the file anew: types that were made from its lines cannot be sent."""
        return self._recipe, ()

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
        for block in self._events.kept(decisions, size, report, advance):
            yield self._rows(block, report)

    def _rows(self, block: Events, report: LogReport) -> RawRows:
        events, lines = block.events, np.array(block.lines, dtype=np.int64)
        times, invalid = seconds([event.time for event in events])
        report.add_many("invalid time", lines[invalid])
        contexts = [event.context for event in events]
        names = self._candidates.names(contexts, events)
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
            action_features=self._candidates.features(contexts, names) if self._with_features else None,
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
        if not self._has_names and labels_agree(events):
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
