"""Slices of a log: the same figures for each value of a column, or of a function of contexts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.evaluation.off_policy.candidates import LoggedRows
from stumpery.evaluation.off_policy.ledger import Ledger
from stumpery.frames import rows as rows_of
from stumpery.options import shown
from stumpery.types import Floats

MAX_SLICES = 20
OTHERS = "all other values"


class Slices:
    """A ledger for each slice, in the order in which they appear; values beyond MAX_SLICES share one."""

    def __init__(self, by: str | Callable[[Any], Any] | None, whole: Ledger) -> None:
        if by is not None and not isinstance(by, str) and not callable(by):
            raise InvalidInput(f"slices is {shown(by)}; it must be a column, a function or None")
        self._by, self._whole = by, whole
        self.ledgers: dict[str, Ledger] = {}

    def add(self, rows: LoggedRows, predicted: Floats, judged: Mapping[str, Any]) -> None:
        """Add rows to the ledgers of their slices."""
        if self._by is None:
            return
        labels = np.array(self._labels(rows))
        for label in dict.fromkeys(labels.tolist()):
            index = np.flatnonzero(labels == label)
            parts = {name: None if each is None else each[index] for name, each in judged.items()}
            self._ledger(label).add(rows.at(index), predicted[index], parts)

    def _ledger(self, label: str) -> Ledger:
        if label not in self.ledgers:
            if len(self.ledgers) >= MAX_SLICES:
                label = OTHERS
            self.ledgers.setdefault(label, self._whole.empty())
        return self.ledgers[label]

    def _labels(self, rows: LoggedRows) -> list[str]:
        if rows.contexts is None:
            raise InvalidInput("slices need contexts; the log has none")
        if callable(self._by):
            return [str(self._by(context)) for context in rows_of(rows.contexts)]
        if self._by not in rows.contexts.names:
            names = ", ".join(map(repr, rows.contexts.names[:10]))
            raise InvalidInput(f"slices is {self._by!r}; it must be a column of contexts: {names}")
        return ["missing" if str(value) in ("None", "nan") else str(value) for value in rows.contexts[self._by]]
