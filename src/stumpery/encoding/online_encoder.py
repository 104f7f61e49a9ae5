"""Online encoder of rows for trees: learns new categories, and has codes for missing values.

Numbers are 64-bit floats with -inf for missing, categories are codes with 0 for missing. A column without a value so
far becomes categorical if its first value is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.chunks import CHUNK_ROWS, EncodedColumns, Rows
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.hashed_categories import HashedCategorical
from stumpery.encoding.columns.values import Data
from stumpery.encoding.plain_rows import MAX_NUMBER, PlainRowWriter
from stumpery.encoding.reader import Reader
from stumpery.encoding.schema import Schema, kind_in
from stumpery.encoding.tables import open_table
from stumpery.errors import InvalidInput
from stumpery.frames import first_rows
from stumpery.types import Floats

N_FIRST_ROWS = 1000  # of a frame, from which the columns' kinds are inferred


class DistinctValues(NamedTuple):
    """A column's distinct values in the order of their arrival, and the index of the value of each row."""

    values: list[Any]
    indexes: NDArray[np.int64]


def distinct(data: Data) -> Data | DistinctValues:
    """Strings as distinct values, of which there are few; other columns as they are."""
    if isinstance(data, np.ndarray) or not set(map(type, data)) <= {str, NoneType} or not len(data):
        return data
    index_of = {value: index for index, value in enumerate(dict.fromkeys(data))}
    return DistinctValues(list(index_of), np.fromiter(map(index_of.__getitem__, data), np.int64, len(data)))


@dataclass(frozen=True, eq=False)
class OnlineEncoder:
    """An online encoder: a schema to which new categories are added, and flags of the columns that have had a value.

    An encoder never changes: `extend` gives another.

    Args:
        schema: the columns and their categories so far.
        seen: which columns have had a value, or are categorical, (columns,).
        max_categories: how many categories of a column the model has codes for.
        hashes_others: whether the categories of a column that has used them all up are encoded as hashes.

    >>> encoder = OnlineEncoder.from_rows([{"age": 31, "device": "phone"}], max_categories=62)
    >>> encoder.extend([{"device": "watch"}])[0].encode_one({"device": "watch"}).tolist()
    [-inf, 1.0]
    """

    schema: Schema
    seen: NDArray[np.bool_]
    max_categories: int
    hashes_others: bool = False

    @classmethod
    def from_rows(cls, rows: Any, max_categories: int, *, hashes_others: bool = False) -> Self:
        """An encoder with the kinds of the first rows' columns; categories get codes in order of appearance."""
        table = open_table(as_table(first_rows(rows, N_FIRST_ROWS)))
        kinds = {
            name: kind_in(table.column(index), name in table.categorical) for index, name in enumerate(table.names)
        }
        schema = Schema.of(kinds, max_categories=max_categories)
        return cls.from_schema(schema, max_categories, hashes_others=hashes_others)

    @classmethod
    def from_schema(cls, schema: Schema, max_categories: int, *, hashes_others: bool = False) -> Self:
        """An encoder with the columns of a schema; of more than `max_categories` categories, the first have codes.

        More are refused if those without a code would not be told apart.
        """
        columns = list(schema.columns)
        for index, column in enumerate(columns):
            if not isinstance(column, Categorical) or column.max_categories <= max_categories:
                continue
            if len(column.categories) > max_categories and not hashes_others:
                raise InvalidInput(
                    f"column {column.name!r} has {len(column.categories)} categories; this model takes at most "
                    f"{max_categories}: give max_categories={max_categories} to Schema.infer, or declare fewer"
                )
            coded = column.categories[:max_categories]
            columns[index] = replace(column, categories=coded, max_categories=max_categories)
        schema = replace(schema, columns=tuple(columns))
        return cls(schema, _is_categorical(schema), max_categories, hashes_others)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which columns are categorical."""
        return _is_categorical(self.schema)

    @property
    def width(self) -> int:
        """The length of an encoded row."""
        return len(self.seen)

    def encode_one(self, row: Any) -> Floats:
        """Encode one dict or array; new categories are encoded as "other"."""
        encoded: Floats = np.empty(len(self.seen))
        return encoded if self.write_plain(row, encoded) else self._encode_checked(row)

    def encode_into(self, row: Any, target: Floats) -> None:
        """Write one row, encoded by `encode_one`, into an array, in place."""
        if not self.write_plain(row, target):
            target[...] = self._encode_checked(row)

    @cached_property
    def write_plain(self) -> Callable[[Any, Any], bool]:
        """Write an ordinary row into a buffer of 64-bit floats, in place; False if it needs a check or an extension."""
        return PlainRowWriter(self._read_as.columns).write if self._all_seen else _refuse

    def _encode_checked(self, row: Any) -> Floats:
        """Encode one row of any kind."""
        if self._all_seen or isinstance(row, np.ndarray):
            return self._bounded(self._reader.row(row))
        only: Floats = self.encode_many([row])[:][0]
        return only

    def encode_many(self, rows: Any) -> Rows:
        """Encode a frame, a list of dicts or a matrix; new categories are "other", the first of a column missing."""
        if self._is_matrix(rows):
            return self._bounded(rows)
        rows = as_table(rows)
        known, n_rows, data = self._opened(rows)
        columns = known._read(data)
        for index in np.flatnonzero(known.is_categorical & ~self.is_categorical).tolist():
            columns[index] = np.full(n_rows, np.nan)
        return self._encoded(n_rows, columns)

    def extend_one(self, row: Any) -> tuple[Self, Floats]:
        """The encoder extended with this row's categories and kinds, and the encoded row."""
        encoded: Floats = np.empty(len(self.seen))
        if self.write_plain(row, encoded):
            return self, encoded
        if self._all_seen or isinstance(row, np.ndarray):
            values = self._reader.row(row)
            if not (self._is_open and (values == self._open_others).any()):
                return (self if self._all_seen else self._with_seen(values.reshape(-1, 1))), self._bounded(values)
        extended = self.extend([row])[0]
        return extended, extended._encode_checked(row)

    def extend(self, rows: Any) -> tuple[Self, Rows]:
        """The encoder extended with these rows' categories and kinds, and the encoded rows."""
        rows = as_table(rows)
        if self._all_seen and self._is_matrix(rows):
            return self, self._bounded(rows)
        known, n_rows, data = self._opened(rows)
        extended = known._with_categories(data)
        columns = extended._read(data)
        matrix = extended._encoded(n_rows, columns)
        return extended if extended._all_seen else extended._with_seen(columns), matrix

    def _opened(self, rows: Any) -> tuple[Self, int, list[Data | DistinctValues]]:
        """The encoder with the kinds of the rows' columns, the number of rows, and the values of each column."""
        table = open_table(rows, self.schema.names)
        data = [distinct(table.column(index)) for index in range(len(self.seen))]
        return self if isinstance(rows, np.ndarray) else self._with_kinds(data, table.categorical), table.n_rows, data

    def _is_matrix(self, rows: Any) -> bool:
        """Whether rows are a matrix of numbers for numerical columns."""
        is_matrix = isinstance(rows, np.ndarray) and rows.ndim == 2 and not np.ma.isMaskedArray(rows)
        return (
            is_matrix
            and rows.dtype.kind in "biuf"
            and rows.shape[1] == len(self.seen)
            and not self.is_categorical.any()
        )

    def _read(self, data: Sequence[Data | DistinctValues]) -> list[NDArray[Any]]:
        """Numbers as they are, categories as codes, NaN where missing."""
        columns: list[NDArray[Any]] = []
        for column, values in zip(self._read_as.columns, data, strict=True):
            if isinstance(values, DistinctValues):
                columns.append(column.read(values.values)[values.indexes])
            elif isinstance(values, np.ndarray) and not isinstance(column, Categorical):
                columns.append(values)
            else:
                columns.append(column.read(values))
        return columns

    def _with_categories(self, data: Sequence[Data | DistinctValues]) -> Self:
        """With the new categories of these columns, up to `max_categories`."""
        columns = list(self.schema.columns)
        for index in self._open_columns:
            values = data[index]
            columns[index] = columns[index].learn(values.values if isinstance(values, DistinctValues) else values)
        schema = Schema(columns=tuple(columns))
        return self if schema == self.schema else replace(self, schema=schema)

    def _encoded(self, n: int, columns: list[NDArray[Any]]) -> Rows:
        """Columns as a matrix, which is built in chunks where there are many rows."""
        bounded = [
            values if values.dtype.kind in "biu" else self._bounded(values, index)
            for index, values in enumerate(columns)
        ]
        rows = EncodedColumns(n, bounded)
        return rows if n > CHUNK_ROWS else rows[:]

    def _with_kinds(self, data: Sequence[Data | DistinctValues], categorical: frozenset[str]) -> Self:
        """With columns categorical whose first value here is."""
        if self._all_seen:
            return self
        columns = list(self.schema.columns)
        for index in np.flatnonzero(~self.seen).tolist():
            name, values = columns[index].name, data[index]
            kind = kind_in(values.values if isinstance(values, DistinctValues) else values, name in categorical)
            if kind != "numerical":
                columns[index] = Categorical(
                    name=name, max_categories=self.max_categories, takes_numbers=kind == "categorical number"
                )
        schema = Schema(columns=tuple(columns))
        return self if schema == self.schema else replace(self, schema=schema, seen=self.seen | _is_categorical(schema))

    def _with_seen(self, columns: Iterable[NDArray[Any]]) -> Self:
        """With the columns seen that have a value here."""
        seen = self.seen | [not np.isnan(values).all() for values in columns]
        return self if (seen == self.seen).all() else replace(self, seen=seen)

    def _bounded(self, values: NDArray[Any], column: int | None = None) -> Floats:
        """Rows, or one column, without infinities and with the codes of missing values."""
        is_whole = values.dtype.kind in "biu"
        values = values.astype(np.float64, copy=False)
        if is_whole or (
            values.min(initial=0) >= -MAX_NUMBER and values.max(initial=0) <= MAX_NUMBER
        ):  # no, if one is NaN
            contiguous = np.ascontiguousarray(values)
            return contiguous if contiguous.flags.behaved else contiguous.copy()  # kernels are compiled for one kind
        bounded = np.minimum(np.maximum(values, -MAX_NUMBER), MAX_NUMBER)
        missing = self._missing if column is None else self._missing[column]
        return np.where(np.isnan(bounded), missing, bounded)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._read_as)

    @cached_property
    def _read_as(self) -> Schema:
        """The schema by which rows are read: columns without free codes give hashes, if they are wanted."""
        if not self.hashes_others:
            return self.schema
        columns = list(self.schema.columns)
        for index, column in enumerate(columns):
            if isinstance(column, Categorical) and len(column.categories) == self.max_categories:
                columns[index] = HashedCategorical.of(column)
        return Schema(columns=tuple(columns))

    @cached_property
    def _open_columns(self) -> list[int]:
        """The categorical columns that take further categories."""
        return np.flatnonzero(~np.isnan(self._open_others)).tolist()

    @cached_property
    def _open_others(self) -> Floats:
        """The code "other" of each column that takes further categories, else NaN."""
        return np.array(
            [
                column.other
                if isinstance(column, Categorical) and len(column.categories) < column.max_categories
                else np.nan
                for column in self.schema.columns
            ]
        )

    @cached_property
    def _is_open(self) -> bool:
        return bool(~np.isnan(self._open_others).all())

    @cached_property
    def _all_seen(self) -> bool:
        return bool(self.seen.all())

    @cached_property
    def _missing(self) -> Floats:
        return np.where(self.is_categorical, 0.0, -np.inf)


def _refuse(_row: Any, _target: Any) -> bool:
    """Write no row: a column without a value so far takes its kind from the first that comes."""
    return False


def as_table(rows: Any) -> Any:
    """Rows as encoders take them: a list of arrays becomes a matrix."""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        return rows
    shapes = {row.shape if isinstance(row, np.ndarray) else None for row in rows}
    if shapes == {None} or not shapes:
        return list(rows)
    if len(shapes) > 1:
        raise InvalidInput("rows mix arrays with others; they must be dicts, or arrays of one length")
    return np.stack(rows)


def _is_categorical(schema: Schema) -> NDArray[np.bool_]:
    return np.array([isinstance(column, Categorical) for column in schema.columns])
