"""Reading rows as floats under a schema: numbers as they are, categories as codes, NaN where missing."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.values import PLAIN_NUMBERS
from stumpery.encoding.schema import Schema
from stumpery.encoding.tables import open_table
from stumpery.errors import InvalidInput
from stumpery.frames import as_row
from stumpery.options import shown
from stumpery.types import Floats

Row = Any  # a mapping from column to value, a pandas Series, a NumPy record, or a 1-D array


class Reader:
    """Reads single rows and tables under a schema.

    Args:
        schema: the columns.
    """

    def __init__(self, schema: Schema) -> None:
        self._columns = schema.columns
        self._names = schema.names
        self._pick = itemgetter(*self._names, self._names[0])  # two or more, so that it gives a tuple
        self._lookups = [
            (index, column.lookup) for index, column in enumerate(schema.columns) if isinstance(column, Categorical)
        ]

    def row(self, row: Row) -> Floats:
        """One row: a dict, in which an absent key is a missing value, or an array in the schema's order."""
        values = self._values(row)
        try:
            for index, lookup in self._lookups:
                values[index] = lookup[values[index]]
            if PLAIN_NUMBERS.issuperset(map(type, values)):
                return np.array(values, dtype=np.float64)
        except (TypeError, OverflowError):  # an unhashable value, an enormous integer
            pass
        pairs = zip(self._columns, self._values(row), strict=True)
        return np.array([column.read([value])[0] for column, value in pairs])

    def _values(self, row: Row) -> list[Any]:
        if type(row) is dict:
            try:
                return list(self._pick(row)[:-1])
            except KeyError:
                pass
        if isinstance(row, Mapping):
            return [row.get(name) for name in self._names]
        if not isinstance(row, np.ndarray):
            named = as_row(row)
            if named is not row:
                return self._values(named)
            raise InvalidInput(f"row is {shown(row)}; it must be a dict, a pandas Series or a 1-D array")
        if row.shape != (len(self._names),):
            raise InvalidInput(f"row has the shape {row.shape}; it must have the schema's {len(self._names)} columns")
        values: list[Any] = row.tolist()
        return values

    def columns(self, rows: Any) -> tuple[int, Iterator[Floats]]:
        """The number of rows, and their columns one by one."""
        table = open_table(rows, self._names)
        return table.n_rows, (column.read(table.column(index)) for index, column in enumerate(self._columns))

    def matrix(self, rows: Any) -> Floats:
        """All rows at once, (rows, columns)."""
        n_rows, columns = self.columns(rows)
        values = np.empty((n_rows, len(self._columns)))
        for index, column in enumerate(columns):
            values[:, index] = column
        return values
