"""Checks of logged rows: probabilities, rewards, event ids, actions; problems are reported."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.columns import Columns, Values
from stumpery.logs.chunk import UNKNOWN, LogChunk
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.options import shown
from stumpery.types import Action, Floats, Integers

MAX_DEVIATION = 1e-3  # of a sum of probabilities from 1: loggers write 32-bit floats, or few digits
MAX_WEIGHT = 1e9  # events that a row stands for
N_RECENT_IDS = 2**18  # event ids remembered in a generation; two generations are


class RecentIds:
    """The event ids of the last rows, at least N_RECENT_IDS and at most twice as many: memory stays bounded."""

    def __init__(self, capacity: int = N_RECENT_IDS) -> None:
        self._capacity = capacity
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, event_ids: Sequence[str | None]) -> list[int]:
        """Remember ids; returns the places of those that have come before."""
        keys = list(map(hash, event_ids))
        distinct = set(keys)
        fits = len(distinct) == len(keys) and len(self._new) + len(keys) < self._capacity
        if (
            fits and distinct.isdisjoint(self._new) and distinct.isdisjoint(self._old)
        ):  # the usual case, three times as fast
            self._new |= distinct
            return []
        return self._add_each(event_ids, keys)

    def _add_each(self, event_ids: Sequence[str | None], keys: Sequence[int]) -> list[int]:
        repeated = []
        new, old = self._new, self._old
        for place, key in enumerate(keys):
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
        columns: the columns of contexts.
        report: what counts problems.
        no_feedback: the reward of rows without one; None leaves NaN.
        has_probabilities: whether a row without probability has a problem.
        grows: whether new actions are added to `index`, in place.
        recent: the event ids that have come before.
    """

    def __init__(
        self,
        index: dict[Action, int],
        columns: Sequence[str],
        report: LogReport,
        no_feedback: float | None,
        *,
        has_probabilities: bool,
        grows: bool = False,
        recent: RecentIds | None = None,
    ) -> None:
        self._index = index
        self._columns = columns
        self._report = report
        self._no_feedback = no_feedback
        self._has_probabilities = has_probabilities
        self._grows = grows
        self._recent = RecentIds() if recent is None else recent

    def chunk(self, rows: RawRows) -> LogChunk:
        """Check rows; those to be dropped are left out."""
        n_rows = len(rows.lines)
        kept = np.ones(n_rows, dtype=np.bool_)
        if rows.event_ids is not None:
            repeated = self._recent.add(rows.event_ids)
            self._report.add_many("duplicate event id", rows.lines[repeated])
            kept[repeated] = False
        if rows.weights is not None:
            valid = (rows.weights > 0.0) & (rows.weights <= MAX_WEIGHT)  # NaN is not
            self._report.add_many("invalid weight", rows.lines[~valid])
            kept &= valid
        if self._grows:
            self._index_new(rows)
        available, all_probabilities = self._candidates(rows.candidates, rows.lines)
        actions = self._actions(rows)
        chunk = LogChunk(
            Columns(_chosen(rows, self._columns), n_rows),
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

    def _index_new(self, rows: RawRows) -> None:
        """Give new actions an index, in place."""
        offered = set(rows.candidates.names) if rows.candidates is not None else set()
        for name in dict.fromkeys(chain(*offered, rows.actions)):
            if name is not None:
                self._index.setdefault(name, len(self._index))

    def _actions(self, rows: RawRows) -> Integers:
        index: Any = self._index  # a missing action is None
        actions = np.fromiter(map(index.get, rows.actions, repeat(UNKNOWN)), np.int64, len(rows.lines))
        for place in np.flatnonzero(actions == UNKNOWN).tolist():
            name = rows.actions[place]
            line = int(rows.lines[place])
            if name is None:
                self._report.add("missing action", line)
            else:
                self._report.add("unknown action", line, shown(name))
        return actions

    def _probabilities(self, rows: RawRows, actions: Integers, all_probabilities: Floats | None) -> Floats:
        values = rows.probabilities
        if all_probabilities is not None and len(values):
            drawn = np.where(actions == UNKNOWN, np.nan, all_probabilities[np.arange(len(values)), actions])
            values = np.where(np.isnan(values), drawn, values)
            differ = np.abs(drawn - values) > MAX_DEVIATION
            self._report.add_many("contradictory probability", rows.lines[differ])
        with np.errstate(invalid="ignore"):
            missing, low, high = np.isnan(values), values <= 0.0, values > 1.0
        if self._has_probabilities:
            self._report.add_many("missing probability", rows.lines[missing])
        for name, wrong in (("probability of 0", low), ("probability above 1", high)):
            if wrong.any():
                self._report.add_many(name, rows.lines[wrong], f"{values[wrong][0]:g}")
        return np.where(low | high, np.nan, values)

    def _rewards(self, rows: RawRows) -> Floats:
        values = rows.rewards
        infinite, missing = np.isinf(values), np.isnan(values)
        self._report.add_many("invalid reward", rows.lines[infinite])
        self._report.add_many("no feedback", rows.lines[missing])
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
        for places, names in _groups(candidates):
            indices = np.array([self._index.get(name, n_actions) for name in names], dtype=np.int64)
            available[np.ix_(places, indices[indices < n_actions])] = True
            if not names:  # nothing is said of these rows
                available[places] = True
            if given is not None and probabilities is not None:
                values = np.array([given[place] for place in places.tolist()], dtype=np.float64)
                along, wrong = self._along(candidates, places, indices, lines)
                if values.shape == along.shape and values.size:
                    probabilities[places[:, None], along] = values
                    probabilities[places[wrong | self._are_off(values, lines[places])]] = np.nan
                else:
                    self._report.add_many("probabilities off 1", lines[places] if values.size else ())
                    probabilities[places] = np.nan
        if probabilities is not None:
            probabilities = np.ascontiguousarray(probabilities[:, :n_actions])
        return (None if available.all() else available), probabilities

    def _along(
        self, candidates: Candidates, places: Integers, indices: Integers, lines: Integers
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """The indices of the actions along the probabilities of rows with the same candidates; which are wrong."""
        wrong = np.zeros(len(places), dtype=np.bool_)
        if candidates.orders is None or not len(indices):
            return np.broadcast_to(indices, (len(places), len(indices))), wrong
        orders = np.array([candidates.orders[place] for place in places.tolist()], dtype=np.int64) - candidates.first
        ordered = np.sort(orders, axis=1)
        wrong |= (ordered < 0).any(axis=1) | (ordered >= len(indices)).any(axis=1)
        wrong |= (np.diff(ordered, axis=1) == 0).any(axis=1)
        self._report.add_many("contradictory action", lines[places[wrong]])
        return indices[np.clip(orders, 0, len(indices) - 1)], wrong

    def _are_off(self, values: Floats, lines: Integers) -> NDArray[np.bool_]:
        """Which rows of probabilities are no distribution; they are reported, those with missing ones are not."""
        with np.errstate(invalid="ignore"):
            off: NDArray[np.bool_] = np.abs(values.sum(axis=1) - 1.0) > MAX_DEVIATION
            off |= (values < 0.0).any(axis=1)
        if off.any():
            self._report.add_many("probabilities off 1", lines[off], f"{values[off][0].sum():.6g}")
        off |= np.isnan(values).any(axis=1)
        return off


def _groups(candidates: Candidates) -> Iterator[tuple[Integers, tuple[Action, ...]]]:
    """Rows with the same candidates, as many places in their order and as many probabilities: rows and names."""
    groups: dict[tuple[int, int, int], list[int]] = {}
    orders, given = candidates.orders, candidates.probabilities
    sizes = [set(map(len, each)) for each in (orders, given) if each is not None]
    if candidates.names and len(set(map(id, candidates.names))) == 1 and all(len(each) == 1 for each in sizes):
        yield np.arange(len(candidates.names)), candidates.names[0]  # all rows are alike
        return
    for place, names in enumerate(candidates.names):
        n_ordered = len(names) if orders is None else len(orders[place])
        key = id(names), n_ordered, 0 if given is None else len(given[place])
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        yield np.array(places, dtype=np.int64), candidates.names[places[0]]


def _chosen(rows: RawRows, columns: Sequence[str]) -> dict[str, Values]:
    """The columns of contexts; those that the file at hand lacks are missing."""
    absent = np.full(len(rows.lines), np.nan)
    return {name: rows.columns.get(name, absent) for name in columns}
