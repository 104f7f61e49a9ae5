"""Tables of logged rows by the names of their columns: which column is the action, the reward, the probability."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

import numpy as np

from stumpery.columns import Columns, Values
from stumpery.encoding.columns.values import PLAIN_NUMBERS, text_of, value_kind
from stumpery.encoding.tables import Table, open_table
from stumpery.errors import InvalidInput
from stumpery.frames import open_frame
from stumpery.logs.formats.times import seconds
from stumpery.logs.report import LogReport
from stumpery.logs.rows import Candidates, RawRows
from stumpery.options import check_known, shown
from stumpery.policies.arguments import as_number
from stumpery.types import Action, Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Naming:
    """The columns of a table of logged rows.

    Args:
        action: The column of actions.
        reward: The column of rewards.
        probability: The column of the actions' probabilities; None if there is none.
        time: The column of times: seconds since 1970, dates, or ISO texts.
        event_id: The column of identifiers.
        probabilities: From each action to the column of its probability.
        columns: The columns of contexts; None takes all others.
    """

    action: str
    reward: str
    probability: str | None = None
    time: str | None = None
    event_id: str | None = None
    probabilities: Mapping[Action, str] | None = None
    columns: tuple[str, ...] | None = None

    def checked(self, present: Sequence[str]) -> "Naming":
        """The same with the contexts' columns filled in; an InvalidInput if a column is not in the table."""
        others = tuple((self.probabilities or {}).values())
        named = [self.action, self.reward, self.probability, self.time, self.event_id, *others]
        for name in [*named, *(self.columns or ())]:
            if name is not None:
                check_known("column", name, present)
        used = [*named[:3], self.event_id, *others, *(self.columns or ())]
        if self.time is not None and self.time in used:
            raise InvalidInput(f"column {shown(self.time)} is the time; it cannot be anything else, too")
        contexts = self.columns if self.columns is not None else tuple(n for n in present if n not in set(named))
        return replace(self, columns=contexts)

    def raw_rows(self, data: Any, lines: Integers, report: LogReport) -> RawRows:
        """Rows of a frame or of `Columns`, whose names are `checked`."""
        table = open_table(_without_times(data, self.time))
        place = {name: index for index, name in enumerate(table.names)}
        chosen = {name: _context_column(table, place[name], lines, report) for name in self.columns or ()}
        event_ids = None if self.event_id is None else _texts(table.column(place[self.event_id]))
        probabilities = np.full(len(lines), np.nan)
        if self.probability is not None:
            probabilities = floats(table.column(place[self.probability]), "missing probability", lines, report)
        return RawRows(
            lines=lines,
            actions=action_names(table.column(place[self.action])),
            probabilities=probabilities,
            rewards=floats(table.column(place[self.reward]), "invalid reward", lines, report),
            columns=chosen,
            times=None if self.time is None else _times(data, self.time, lines, report),
            event_ids=event_ids,
            candidates=self._candidates(table, place, lines, report),
        )

    def _candidates(
        self, table: Table, place: Mapping[str, int], lines: Integers, report: LogReport
    ) -> Candidates | None:
        if self.probabilities is None:
            return None
        names = tuple(self.probabilities)
        columns = [
            floats(table.column(place[name]), "probabilities off 1", lines, report)
            for name in self.probabilities.values()
        ]
        return Candidates([names] * len(lines), None, np.stack(columns, axis=1).tolist())


def checked_columns(columns: Any) -> tuple[str, ...] | None:
    """The names of contexts' columns, None for all; a single text is no list of them."""
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidInput(f"columns is {shown(columns)}; it must be a list of columns")
    return tuple(columns)


def checked_probabilities(probabilities: Any) -> dict[Action, str] | None:
    """The columns of the actions' probabilities by action, or None."""
    if probabilities is None:
        return None
    if not isinstance(probabilities, Mapping) or not probabilities:
        raise InvalidInput(f"probabilities is {shown(probabilities)}; it must be a dict from actions to columns")
    return dict(probabilities)


def as_columns(columns: Mapping[str, Any]) -> Columns:
    """A dict of arrays, lists or series as `Columns`."""
    return Columns({str(name): _plain(values) for name, values in columns.items()})


def action_names(values: Values) -> list[Action | None]:
    """Actions as plain values; NaN and missing ones as None, whole floats as integers if all are whole."""
    names = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = set(map(type, names))
    if float in kinds or any(value_kind(kind) == "missing" for kind in kinds):
        names = [None if value_kind(type(name)) == "missing" or name != name else name for name in names]  # noqa: PLR0124
        if all(isinstance(name, float) and name.is_integer() for name in names if name is not None):
            names = [None if name is None else int(name) for name in names]
    for kind in kinds - {str, int, float, bool}:
        if value_kind(kind) != "missing":
            names = [name.item() if isinstance(name, np.generic) else name for name in names]
            for name in names:
                if name is not None and not isinstance(name, Action):
                    raise InvalidInput(f"an action is {shown(name)}; it must be a string, a number or a boolean")
            break
    return names


def floats(values: Values, problem: str, lines: Integers, report: LogReport) -> Floats:
    """A column as floats, NaN where missing; values that are no numbers are problems, and NaN."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    try:
        if not any(issubclass(kind, str) for kind in set(map(type, values))):
            return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    found = np.array([as_number(value) for value in values])
    wrong = [value_kind(type(value)) != "missing" and np.isnan(each) for value, each in zip(values, found, strict=True)]
    truly = np.array([not isinstance(value, float) for value in values]) & np.array(wrong, dtype=np.bool_)
    report.add_many(problem, lines[truly], "not a number")
    return found


def _plain(values: Any) -> Values:
    if np.ma.isMaskedArray(values):
        return list(values.tolist())
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InvalidInput(f"a column has {values.ndim} dimensions; it must have one")
        return values if values.dtype.kind in "biufM" else list(values.tolist())
    if hasattr(values, "to_numpy"):  # a series of any library
        return _plain(values.to_numpy())
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"a column is {shown(values)}; it must be an array or a list")
    return list(values)


def _context_column(table: Table, index: int, lines: Integers, report: LogReport) -> Values:
    values = table.column(index)
    if table.names[index] in table.categorical:  # numbers that a frame declares as categories
        return [None if value_kind(type(value)) == "missing" else text_of(value) for value in values]
    if isinstance(values, np.ndarray):
        return values
    kinds = set(map(type, values))
    is_missing = {kind for kind in kinds if value_kind(kind) == "missing"}
    if is_missing - {NoneType}:  # pandas.NA
        values = [None if type(value) in is_missing else value for value in values]
        kinds = kinds - is_missing | {NoneType}
    if PLAIN_NUMBERS.issuperset(kinds):
        with suppress(OverflowError):
            whole = np.array(values, dtype=np.float64 if NoneType in kinds else None)
            if whole.dtype != np.object_:
                return whole
        numbers = np.array([as_number(value) for value in values])
        huge = np.isnan(numbers) & np.array([isinstance(value, int) for value in values])
        report.add_many("value of another type", lines[huge], table.names[index])
        return numbers
    return values


def _texts(values: Values) -> list[str | None]:
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return [None if value_kind(type(value)) == "missing" else str(value) for value in listed]


def _without_times(data: Any, time: str | None) -> Any:
    """A table without its column of times, which may hold dates."""
    if time is None:
        return data
    if isinstance(data, Columns):
        return Columns({name: data[name] for name in data.names if name != time}, len(data))
    return open_frame("frame", data, "a frame").drop(time).to_native()


def _times(data: Any, name: str, lines: Integers, report: LogReport) -> Floats:
    if isinstance(data, Columns):
        values: Any = data[name]
    else:
        series = open_frame("frame", data, "a frame").get_column(name)
        values = series.to_numpy() if series.dtype.is_temporal() else series.to_list()
    times, wrong = seconds(values)
    report.add_many("invalid time", lines[wrong], shown(values[int(np.flatnonzero(wrong)[0])]) if wrong.any() else "")
    return times
