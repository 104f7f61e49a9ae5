"""Checks of logged rows: probabilities, rewards, event ids, actions; doubtful ones are reported."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.columns import Columns
from stumpery.logs.chunk import UNKNOWN, LogChunk
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.types import Action, Floats, Integers

MAX_DEVIATION = 1e-3  # of a sum of probabilities from 1: loggers write 32-bit floats, or few digits
N_RECENT_IDS = 2**18  # event ids remembered in a generation; two generations are


class RecentIds:
    """The event ids of the last rows, at least N_RECENT_IDS and at most twice as many: memory stays bounded."""

    def __init__(self, capacity: int = N_RECENT_IDS) -> None:
        self._capacity = capacity
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, event_ids: Sequence[str | None]) -> list[int]:
        """Remember ids; returns the places of those that have come before."""
        repeated = []
        new, old = self._new, self._old
        for place, key in enumerate(map(hash, event_ids)):
            if key in new or key in old:
                if event_ids[place] is not None:
                    repeated.append(place)
                continue
            new.add(key)
            if len(new) >= self._capacity:
                self._old, self._new = new, set()
                new, old = self._new, self._old
        return repeated


class RowChecker:
    """Checks rows of one pass over a log and makes chunks of them.

    Args:
        index: from actions to their indices.
        report: what counts doubts.
        no_feedback: the reward of rows without one; None leaves NaN.
        has_probabilities: whether a row without probability is doubtful.
    """

    def __init__(
        self, index: Mapping[Action, int], report: LogReport, no_feedback: float | None, *, has_probabilities: bool
    ) -> None:
        self._index = index
        self._report = report
        self._no_feedback = no_feedback
        self._has_probabilities = has_probabilities
        self._recent = RecentIds()

    def chunk(self, rows: RawRows) -> LogChunk:
        """Check rows; those to be dropped are left out."""
        n_rows = len(rows.lines)
        kept = np.ones(n_rows, dtype=np.bool_)
        if rows.event_ids is not None:
            repeated = self._recent.add(rows.event_ids)
            self._report.doubts("duplicate event id", rows.lines[repeated])
            kept[repeated] = False
        available, all_probabilities = self._candidates(rows.candidates, rows.lines)
        actions = self._actions(rows)
        chunk = LogChunk(
            Columns(rows.columns, n_rows),
            actions,
            self._probabilities(rows, actions, all_probabilities),
            self._rewards(rows),
            np.full(n_rows, np.nan) if rows.times is None else rows.times,
            rows.event_ids,
            rows.lines,
            rows.weights,
            available,
            all_probabilities,
            rows.action_features,
        ).where(kept)
        self._report.rows += len(chunk)
        return chunk

    def _actions(self, rows: RawRows) -> Integers:
        index: Any = self._index  # a missing action is None
        actions = np.fromiter(map(index.get, rows.actions, repeat(UNKNOWN)), np.int64, len(rows.lines))
        for place in np.flatnonzero(actions == UNKNOWN).tolist():
            name = rows.actions[place]
            line = int(rows.lines[place])
            if name is None:
                self._report.doubt("missing action", line)
            else:
                self._report.doubt("unknown action", line, repr(name))
        return actions

    def _probabilities(self, rows: RawRows, actions: Integers, all_probabilities: Floats | None) -> Floats:
        values = rows.probabilities
        if all_probabilities is not None and len(values):
            drawn = np.where(actions == UNKNOWN, np.nan, all_probabilities[np.arange(len(values)), actions])
            values = np.where(np.isnan(values), drawn, values)
            differ = np.abs(drawn - values) > MAX_DEVIATION
            self._report.doubts("contradictory probability", rows.lines[differ])
        with np.errstate(invalid="ignore"):
            missing, low, high = np.isnan(values), values <= 0.0, values > 1.0
        if self._has_probabilities:
            self._report.doubts("missing probability", rows.lines[missing])
        for name, wrong in (("probability of 0", low), ("probability above 1", high)):
            if wrong.any():
                self._report.doubts(name, rows.lines[wrong], f"{values[wrong][0]:g}")
        return np.where(low | high, np.nan, values)

    def _rewards(self, rows: RawRows) -> Floats:
        values = rows.rewards
        infinite, missing = np.isinf(values), np.isnan(values)
        self._report.doubts("invalid reward", rows.lines[infinite])
        self._report.doubts("no feedback", rows.lines[missing])
        values = np.where(infinite, np.nan, values)
        return values if self._no_feedback is None else np.where(missing, self._no_feedback, values)

    def _candidates(
        self, candidates: Candidates | None, lines: Integers
    ) -> tuple[NDArray[np.bool_] | None, Floats | None]:
        """Which actions are available, and every action's probability, as matrices."""
        if candidates is None:
            return None, None
        n_rows, n_actions = len(lines), len(self._index)
        available = np.zeros((n_rows, n_actions), dtype=np.bool_)
        given = candidates.probabilities
        probabilities = None if given is None else np.zeros((n_rows, n_actions + 1))  # the last: unknown actions
        for places, indices, row_indices in self._groups(candidates):
            if row_indices.shape[1] == 0 and len(indices) == 0:  # nothing is said of these rows
                available[places] = True
            available[np.ix_(np.array(places), indices)] = True
            if given is not None and probabilities is not None:
                values = np.array([given[place] for place in places], dtype=np.float64)
                if values.shape[1] == row_indices.shape[1] and values.shape[1] > 0:
                    probabilities[np.array(places)[:, None], row_indices] = values
                else:
                    probabilities[places] = np.nan
        if probabilities is not None:
            self._check_sums(probabilities, lines)
            probabilities = np.ascontiguousarray(probabilities[:, :n_actions])
        return (None if available.all() else available), probabilities

    def _groups(self, candidates: Candidates) -> list[tuple[list[int], Integers, Integers]]:
        """Rows with the same candidates: the rows, the indices of the actions, and those along the probabilities."""
        groups: dict[tuple[int, int, int], list[int]] = {}
        orders, given = candidates.orders, candidates.probabilities
        for place, names in enumerate(candidates.names):
            n_ordered = len(names) if orders is None else len(orders[place])
            key = id(names), n_ordered, 0 if given is None else len(given[place])
            groups.setdefault(key, []).append(place)
        found = []
        for places in groups.values():
            names = candidates.names[places[0]]
            indices = np.array([self._index.get(name, UNKNOWN) for name in names], dtype=np.int64)
            if orders is None:
                along = np.broadcast_to(indices, (len(places), len(indices)))
            else:
                along = indices[np.array([orders[place] for place in places], dtype=np.int64)]
            known = indices[indices != UNKNOWN]
            if (along == UNKNOWN).any():  # a candidate that is not among the log's actions: only the others count
                along = np.where(along == UNKNOWN, len(self._index), along)
            found.append((places, known, along))
        return found

    def _check_sums(self, probabilities: Floats, lines: Integers) -> None:
        """Report rows whose probabilities are no distribution, and set them to NaN, in place."""
        known = ~np.isnan(probabilities).any(axis=1)
        with np.errstate(invalid="ignore"):
            off = np.abs(probabilities.sum(axis=1) - 1.0) > MAX_DEVIATION
            off |= (probabilities < 0.0).any(axis=1)
        off &= known
        if off.any():
            self._report.doubts("probabilities off 1", lines[off], f"{probabilities[off][0].sum():.6g}")
            probabilities[off] = np.nan
