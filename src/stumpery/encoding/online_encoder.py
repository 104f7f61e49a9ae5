"""Rows for trees over remembered events: names get their codes as they come, and missing values a side of their own.

Numbers are 64-bit floats with -inf for missing, names are codes with 0 for missing. A column that has only been missing
so far may still turn out to hold names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.chunks import CHUNK_ROWS, EncodedColumns, Rows
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.values import Data
from stumpery.encoding.reader import Reader
from stumpery.encoding.schema import Schema, kind_in
from stumpery.encoding.tables import open_table
from stumpery.types import Floats

LARGEST = 8e307  # of a number that is not missing; it stands for infinity, and differences of two such are finite
N_FIRST_ROWS = 1000  # of a frame, from which the columns' kinds are inferred


class Distinct(NamedTuple):
    """A column's different values, in the order of their arrival, and which of them each row has."""

    values: list[Any]
    places: NDArray[np.int64]


def distinct(data: Data) -> Data | Distinct:
    """Names as distinct values, of which there are few; other columns as they are."""
    if isinstance(data, np.ndarray) or not set(map(type, data)) <= {str, NoneType} or not len(data):
        return data
    places = {value: place for place, value in enumerate(dict.fromkeys(data))}
    return Distinct(list(places), np.fromiter(map(places.__getitem__, data), np.int64, len(data)))


@dataclass(frozen=True, eq=False)
class OnlineEncoder:
    """A schema that learns names, and which of its columns have had a value. It never changes: `extend` gives another.

    >>> encoder = OnlineEncoder.from_rows([{"age": 31, "device": "phone"}], max_categories=62)
    >>> encoder.extend([{"device": "watch"}])[0].encode_one({"device": "watch"}).tolist()
    [-inf, 1.0]
    """

    schema: Schema
    seen: NDArray[np.bool_]
    max_categories: int

    @classmethod
    def from_rows(cls, rows: Any, max_categories: int) -> Self:
        """The columns of the first rows, their kinds alone: names get their codes as they come."""
        first = rows[:N_FIRST_ROWS] if hasattr(rows, "__getitem__") else rows
        table = open_table(as_table(first))
        kinds = {
            name: kind_in(table.column(place), name in table.categorical) for place, name in enumerate(table.names)
        }
        return cls.from_schema(Schema.of(kinds, max_categories=max_categories), max_categories)

    @classmethod
    def from_schema(cls, schema: Schema, max_categories: int) -> Self:
        """Under a given schema, whose columns of names hold at most `max_categories`."""
        columns = list(schema.columns)
        for place, column in enumerate(columns):
            if not isinstance(column, Categorical) or column.max_categories <= max_categories:
                continue
            if len(column.categories) > max_categories:
                raise ValueError(
                    f"column {column.name!r} has {len(column.categories)} names; {max_categories} is the most: "
                    f"give max_categories={max_categories} to Schema.infer, or declare fewer"
                )
            columns[place] = replace(column, max_categories=max_categories)
        schema = replace(schema, columns=tuple(columns))
        return cls(schema, _names(schema), max_categories)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which columns hold names."""
        return _names(self.schema)

    @property
    def width(self) -> int:
        """The length of an encoded row."""
        return len(self.seen)

    def encode_one(self, row: Any) -> Floats:
        """One dict or array; new names count as others."""
        if self._all_seen or isinstance(row, np.ndarray):
            return self._plain(self._reader.row(row))
        found: Floats = self.encode_many([row])[:][0]
        return found

    def encode_many(self, rows: Any) -> Rows:
        """A frame, a list of dicts or a matrix; new names count as others, the first of a column as missing."""
        if self._is_plain(rows):
            return self._plain(rows)
        rows = as_table(rows)
        table = open_table(rows, self.schema.names)
        data = [distinct(table.column(place)) for place in range(len(self.seen))]
        settled = self if isinstance(rows, np.ndarray) else self._settled(data, table.categorical)
        columns = settled._read(data)
        for place in np.flatnonzero(settled.is_categorical & ~self.is_categorical).tolist():
            columns[place] = np.full(table.n_rows, np.nan)
        return self._filled(table.n_rows, columns)

    def extend_one(self, row: Any) -> tuple[Self, Floats]:
        """What knows this row's names and kinds, and the row."""
        if self._all_seen or isinstance(row, np.ndarray):
            values = self._reader.row(row)
            if not (self._may_learn and (values == self._others).any()):
                return (self if self._all_seen else self._noticing(values.reshape(-1, 1))), self._plain(values)
        following = self.extend([row])[0]
        return following, following.encode_one(row)

    def extend(self, rows: Any) -> tuple[Self, Rows]:
        """What knows these rows' names and kinds, and the rows; a ValueError says that a value does not fit."""
        rows = as_table(rows)
        if self._all_seen and self._is_plain(rows):
            return self, self._plain(rows)
        table = open_table(rows, self.schema.names)
        data = [distinct(table.column(place)) for place in range(len(self.seen))]
        following = self if isinstance(rows, np.ndarray) else self._settled(data, table.categorical)
        following = following._learned(data)
        columns = following._read(data)
        matrix = following._filled(table.n_rows, columns)
        return following if following._all_seen else following._noticing(columns), matrix

    def _is_plain(self, rows: Any) -> bool:
        """Whether rows are a matrix of numbers, for columns of numbers."""
        is_matrix = isinstance(rows, np.ndarray) and rows.ndim == 2 and not np.ma.isMaskedArray(rows)
        return (
            is_matrix
            and rows.dtype.kind in "biuf"
            and rows.shape[1] == len(self.seen)
            and not self.is_categorical.any()
        )

    def _read(self, data: Sequence["Data | Distinct"]) -> list[NDArray[Any]]:
        """Numbers as they are, names as their codes, NaN where missing."""
        found: list[NDArray[Any]] = []
        for column, values in zip(self.schema.columns, data, strict=True):
            if isinstance(values, Distinct):
                found.append(column.read(values.values)[values.places])
            elif isinstance(values, np.ndarray) and not isinstance(column, Categorical):
                found.append(values)
            else:
                found.append(column.read(values))
        return found

    def _learned(self, data: Sequence["Data | Distinct"]) -> Self:
        """With the new names of these columns, as long as there is room."""
        columns = list(self.schema.columns)
        for place in self._open:
            values = data[place]
            columns[place] = columns[place].learn(values.values if isinstance(values, Distinct) else values)
        schema = Schema(columns=tuple(columns))
        return self if schema == self.schema else replace(self, schema=schema)

    def _filled(self, n: int, columns: list[NDArray[Any]]) -> Rows:
        """Columns as a matrix; many rows are written later."""
        plain = [
            values if values.dtype.kind in "biu" else self._plain(values, place) for place, values in enumerate(columns)
        ]
        rows = EncodedColumns(n, plain)
        return rows if n > CHUNK_ROWS else rows[:]

    def _settled(self, data: Sequence["Data | Distinct"], categorical: frozenset[str]) -> Self:
        """With columns that have only been missing so far and turn out to hold names."""
        if self._all_seen:
            return self
        columns = list(self.schema.columns)
        for place in np.flatnonzero(~self.seen).tolist():
            name, values = columns[place].name, data[place]
            kind = kind_in(values.values if isinstance(values, Distinct) else values, name in categorical)
            if kind != "numerical":
                columns[place] = Categorical(
                    name=name, max_categories=self.max_categories, takes_numbers=kind == "categorical number"
                )
        schema = Schema(columns=tuple(columns))
        return self if schema == self.schema else replace(self, schema=schema, seen=self.seen | _names(schema))

    def _noticing(self, columns: Iterable[NDArray[Any]]) -> Self:
        seen = self.seen | [not np.isnan(values).all() for values in columns]
        return self if (seen == self.seen).all() else replace(self, seen=seen)

    def _plain(self, values: NDArray[Any], place: int | None = None) -> Floats:
        """A row, or the column at a place, with missing values on their side."""
        is_whole = values.dtype.kind in "biu"
        values = values.astype(np.float64, copy=False)
        if is_whole or (values.min(initial=0) >= -LARGEST and values.max(initial=0) <= LARGEST):  # no, if one is NaN
            found = np.ascontiguousarray(values)
            return found if found.flags.behaved else found.copy()  # one kind of array, one machine code
        bounded = np.minimum(np.maximum(values, -LARGEST), LARGEST)
        missing = self._missing if place is None else self._missing[place]
        return np.where(np.isnan(bounded), missing, bounded)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.schema)

    @cached_property
    def _open(self) -> list[int]:
        """The columns of names that have room for more."""
        return np.flatnonzero(~np.isnan(self._others)).tolist()

    @cached_property
    def _others(self) -> Floats:
        """The code of new names where there is room for them, else NaN."""
        return np.array(
            [
                column.other
                if isinstance(column, Categorical) and len(column.categories) < column.max_categories
                else np.nan
                for column in self.schema.columns
            ]
        )

    @cached_property
    def _may_learn(self) -> bool:
        return bool(~np.isnan(self._others).all())

    @cached_property
    def _all_seen(self) -> bool:
        return bool(self.seen.all())

    @cached_property
    def _missing(self) -> Floats:
        return np.where(self.is_categorical, 0.0, -np.inf)


def as_table(rows: Any) -> Any:
    """Rows in a form that encoders take: a list of arrays becomes a matrix."""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        return rows
    shapes = {row.shape if isinstance(row, np.ndarray) else None for row in rows}
    if shapes == {None} or not shapes:
        return list(rows)
    if len(shapes) > 1:
        raise ValueError("rows are a list of arrays and others; they must be dicts, or arrays of one length")
    return np.stack(rows)


def _names(schema: Schema) -> NDArray[np.bool_]:
    return np.array([isinstance(column, Categorical) for column in schema.columns])
