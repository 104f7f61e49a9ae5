"""Rows by column: named columns of equal length, as readers of files make them and encoders take them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.options import shown

Values = Sequence[Any] | NDArray[Any]


class Columns:
    """Rows as columns: from each name to an array of numbers (NaN where missing) or a list of strings and Nones.

    Policies take it as they take a frame; a column that they know and that is not here is missing in all rows.
    Iterating gives each row as a dict.

    Args:
        columns: From names to values, all of one length.
        n_rows: The number of rows, where there is no column.

    >>> rows = Columns({"age": np.array([31.0, 44.0]), "device": ["phone", None]})
    >>> len(rows), rows[1:]["age"].tolist(), next(iter(rows))
    (2, [44.0], {'age': 31.0, 'device': 'phone'})
    """

    def __init__(self, columns: Mapping[str, Values], n_rows: int = 0) -> None:
        self._columns = dict(columns)
        lengths = {len(values) for values in self._columns.values()} or {n_rows}
        if len(lengths) > 1:
            raise InvalidInput(f"columns have {shown(sorted(lengths))} values; they must have as many each")
        (self._n_rows,) = lengths

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return f"Columns({self._n_rows:,} rows: {shown(list(self._columns))})"

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, or the rows of a slice, a mask or an array of indices."""
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            n_rows = len(range(*key.indices(self._n_rows)))
            return Columns({name: values[key] for name, values in self._columns.items()}, n_rows)
        indices = np.asarray(key)
        if indices.dtype == np.bool_:
            indices = np.flatnonzero(indices)
        if indices.ndim != 1:
            raise InvalidInput(f"rows are {shown(key)}; they must be a slice, a mask or a list of indices")
        places = indices.tolist()
        return Columns({name: _taken(values, places) for name, values in self._columns.items()}, len(places))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = list(self._columns)
        if not names:
            yield from ({} for _ in range(self._n_rows))
            return
        lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in self._columns.values()]
        for row in zip(*lists, strict=True):
            yield dict(zip(names, row, strict=True))

    def column(self, name: str) -> Values:
        """The values of a column, all missing if there is no such column."""
        values = self._columns.get(name)
        return [None] * self._n_rows if values is None else values


def _taken(values: Values, places: list[int]) -> Values:
    return values[places] if isinstance(values, np.ndarray) else [values[place] for place in places]
