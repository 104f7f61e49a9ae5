"""What a selector is given to look at: single events of which nothing else is touched, and tables of them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stumpery.frames import open_frame
from stumpery.options import listed, shown
from stumpery.types import Action, Floats

LARGEST = 1e9  # beyond it, products of weights and values could overflow


def looked_at(x: Any, names: Sequence[Action]) -> dict[Action, Any]:
    """The values of these features and no others."""
    values = {}
    for name in names:
        try:
            values[name] = x[name]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"x has no {shown(name)}; what was asked is needed: {listed(names)}") from None
    return values


def number_of(name: Action, value: Any) -> float:
    """A number, or NaN where it is missing."""
    if value is None or value is np.ma.masked:
        return math.nan
    try:
        number = math.inf if isinstance(value, str | bytes) or np.ndim(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) > LARGEST:
        raise ValueError(f"{shown(name)} is {shown(value)}; a feature must be a number of at most {LARGEST:g} in size")
    return number


def numbers_looked_at(x: Any, names: Sequence[Action]) -> Floats:
    """The values of these features as numbers."""
    return np.array([number_of(name, value) for name, value in looked_at(x, names).items()], dtype=np.float64)


def numbers_of(name: Action, values: Sequence[Any]) -> Floats:
    """A column that may hold anything, value by value."""
    return np.array([number_of(name, value) for value in values], dtype=np.float64)


def column_of(name: Action, column: Any) -> Floats:
    """A frame's column as numbers, NaN where it has none."""
    import narwhals as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        numbers: Floats = column.cast(nw.Float64).to_numpy()
        return numbers
    return numbers_of(name, column.to_list())


def checked_rows(rows: Any, names: Sequence[Action]) -> Floats:
    """A table of numbers with a column for each feature, from a matrix or from a frame that has all of them."""
    if not isinstance(rows, np.ndarray):
        frame = open_frame("rows", rows, "a matrix or a frame with a column for each feature")
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ValueError(f"rows have no column {listed(absent)}")
        rows = np.column_stack([column_of(name, frame.get_column(name)) for name in names])
    if isinstance(rows, np.ma.MaskedArray):
        rows = np.where(np.ma.getmaskarray(rows), np.array(None), rows.data)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(f"rows have shape {rows.shape}; a column for each of {len(names)} features is needed")
    if rows.dtype.kind not in "biufO":
        raise ValueError(f"rows hold {rows.dtype}; features must be numbers")
    if rows.dtype.kind == "O":
        rows = np.column_stack([numbers_of(name, column) for name, column in zip(names, rows.T.tolist(), strict=True)])
    with np.errstate(over="ignore"):  # what is too wide becomes infinite, and is refused
        table: Floats = np.require(np.asarray(rows), np.float64, ["C", "W"])  # one type to the compiler
    if table.size:
        worst = max(np.fmax.reduce(table, axis=None), -np.fmin.reduce(table, axis=None))  # both pass over NaN
        if worst > LARGEST:
            raise ValueError(f"rows hold {worst:g}; a feature must be a number of at most {LARGEST:g} in size")
    return table
