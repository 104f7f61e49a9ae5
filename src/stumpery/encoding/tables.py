"""Tables: rows of dicts, matrices and data frames, read column by column."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.columns import Columns
from stumpery.encoding.columns.values import Data
from stumpery.errors import InvalidInput
from stumpery.frames import as_row, open_frame
from stumpery.options import listed, shown

if TYPE_CHECKING:
    import narwhals as nw


class Table(NamedTuple):
    """Rows with access by column."""

    names: Sequence[str]
    n_rows: int
    column: Callable[[int], Data]  # from an index of `names` to the values
    categorical: frozenset[str] = frozenset()  # columns that a frame declares as categorical, whatever their values are


def open_table(rows: Any, names: Sequence[str] | None = None) -> Table:
    """The columns called `names`, or all, of a list of dicts, a 2-D array or a data frame."""
    if isinstance(rows, np.ndarray):
        return _matrix(rows, names)
    if isinstance(rows, list | tuple):
        return _records(rows, names)
    if isinstance(rows, Columns):
        chosen = list(rows.names if names is None else names)
        return Table(chosen, len(rows), lambda index: rows.column(chosen[index]))
    allowed = "a list of dicts, a 2-D array or a pandas, polars or pyarrow frame"
    return _frame(open_frame("rows", rows, allowed), names)


def _records(rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None) -> Table:
    """A list of dicts, or of what counts as one, in which an absent key is a missing value."""
    if not all(issubclass(kind, Mapping) for kind in set(map(type, rows))):
        rows = [as_row(row) for row in rows]
    for wrong in {kind for kind in set(map(type, rows)) if not issubclass(kind, Mapping)}:
        raise InvalidInput(f"a row is {shown(next(row for row in rows if type(row) is wrong))}; it must be a dict")
    chosen = list(dict.fromkeys(name for row in rows for name in row)) if names is None else names
    return Table(chosen, len(rows), lambda index: [row.get(chosen[index]) for row in rows])


def _matrix(rows: NDArray[Any], names: Sequence[str] | None) -> Table:
    """A 2-D array, whose columns come in the order of `names` or are called x0, x1, ..."""
    # Masked values are missing; a subclass of arrays may have methods of its own.
    rows = np.array(rows.tolist(), dtype=object) if np.ma.is_masked(rows) else np.asarray(rows)
    if rows.ndim != 2:
        raise InvalidInput(f"rows has {rows.ndim} dimensions; it must have 2")
    if names is not None and rows.shape[1] != len(names):
        raise InvalidInput(f"rows has {rows.shape[1]} columns; it must have the schema's {len(names)}")

    def column(index: int) -> Data:
        values = rows[:, index]
        return values if values.dtype.kind in "biuf" else values.tolist()

    return Table(names or [f"x{index}" for index in range(rows.shape[1])], len(rows), column)


def _frame(rows: "nw.DataFrame[Any]", names: Sequence[str] | None) -> Table:
    """A data frame, whose columns are taken by name; others are ignored."""
    import narwhals as nw

    schema = rows.schema
    chosen = list(schema) if names is None else names
    absent = [name for name in chosen if name not in schema]
    if absent:
        raise InvalidInput(f"rows lacks {listed(absent)}; it must have every column of the schema")
    categorical = frozenset(name for name in chosen if isinstance(schema[name], nw.Categorical | nw.Enum))
    return Table(chosen, len(rows), lambda index: _values(rows.get_column(chosen[index])), categorical)


def _values(series: "nw.Series[Any]") -> Data:
    import narwhals as nw

    kind = series.dtype
    if kind.is_temporal() or kind.is_nested():
        raise InvalidInput(f"column {series.name!r} holds {kind}; it must hold numbers, bools, strings or categoricals")
    is_wide = isinstance(kind, nw.Int128 | nw.UInt128)  # NumPy has no such integers
    is_whole = (kind.is_integer() and not is_wide) or kind.is_boolean()
    if kind.is_float() or (is_whole and not series.null_count()):
        return series.to_numpy()
    return series.to_list()
