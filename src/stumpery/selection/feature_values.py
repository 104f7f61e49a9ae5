"""Values of selected features: of single events, of which only these are read, and of tables."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.frames import open_frame
from stumpery.options import listed, shown
from stumpery.types import Action, Floats

MAX_FEATURE_VALUE = 1e9  # products of weights and larger values could overflow


def selected_values(x: Any, names: Sequence[Action]) -> dict[Action, Any]:
    """The values of these features; `x` is asked for no others."""
    values = {}
    for name in names:
        try:
            values[name] = x[name]
        except (KeyError, IndexError, TypeError):
            raise InvalidInput(f"x has no {shown(name)}; it needs the selected features: {listed(names)}") from None
    return values


def as_feature_number(name: Action, value: Any) -> float:
    """A feature's value as a number, NaN if it is missing."""
    if value is None or value is np.ma.masked:
        return math.nan
    try:
        number = math.inf if isinstance(value, str | bytes) or np.ndim(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) > MAX_FEATURE_VALUE:
        raise InvalidInput(
            f"{shown(name)} is {shown(value)}; a feature must be a number of at most {MAX_FEATURE_VALUE:g} in size"
        )
    return number


def selected_numbers(x: Any, names: Sequence[Action]) -> Floats:
    """The values of these features as numbers."""
    return np.array(
        [as_feature_number(name, value) for name, value in selected_values(x, names).items()], dtype=np.float64
    )


def as_feature_numbers(name: Action, values: Sequence[Any]) -> Floats:
    """A column of arbitrary values as numbers."""
    return np.array([as_feature_number(name, value) for value in values], dtype=np.float64)


def frame_column(name: Action, column: Any) -> Floats:
    """A column of a frame as numbers, NaN where they are missing."""
    import narwhals as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        numbers: Floats = column.cast(nw.Float64).to_numpy()
        return numbers
    return as_feature_numbers(name, column.to_list())


def as_feature_matrix(rows: Any, names: Sequence[Action]) -> Floats:
    """A matrix or a frame as a matrix of numbers with a column for each feature."""
    if not isinstance(rows, np.ndarray):
        frame = open_frame("rows", rows, "a matrix or a frame with a column for each feature")
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise InvalidInput(f"rows have no column {listed(absent)}")
        rows = np.column_stack([frame_column(name, frame.get_column(name)) for name in names])
    if isinstance(rows, np.ma.MaskedArray):
        rows = np.where(np.ma.getmaskarray(rows), np.array(None), rows.data)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InvalidInput(f"rows have shape {rows.shape}; a column for each of {len(names)} features is needed")
    if rows.dtype.kind not in "biufO":
        raise InvalidInput(f"rows hold {rows.dtype}; features must be numbers")
    if rows.dtype.kind == "O":
        rows = np.column_stack(
            [as_feature_numbers(name, column) for name, column in zip(names, rows.T.tolist(), strict=True)]
        )
    with np.errstate(over="ignore"):  # wider floats may become infinite, which is refused below
        table: Floats = np.require(np.asarray(rows), np.float64, ["C", "W"])  # one type to the compiler
    if table.size:
        largest = max(np.fmax.reduce(table, axis=None), -np.fmin.reduce(table, axis=None))  # both pass over NaN
        if largest > MAX_FEATURE_VALUE:
            raise InvalidInput(
                f"rows hold {largest:g}; a feature must be a number of at most {MAX_FEATURE_VALUE:g} in size"
            )
    return table
