"""Frames of polars, pandas or pyarrow through Narwhals, and rows of lists, arrays and frames."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from stumpery.columns import Columns
from stumpery.errors import InvalidInput
from stumpery.options import check_one_of, shown
from stumpery.system.extras import need

BACKENDS = ("polars", "pandas", "pyarrow")


def make_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Make a frame with the first installed library of polars, pandas and pyarrow, or with `backend`."""
    import narwhals as nw

    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name)), None)
        if backend is None:
            raise ModuleNotFoundError('a frame needs polars, pandas or pyarrow: pip install "stumpery[study]"')
    check_one_of("backend", backend, BACKENDS)
    return nw.from_dict(dict(columns), backend=need(backend, "study")).to_native()


def n_rows(data: Any, name: str = "data") -> int:
    """The number of rows of a list, an array, a series or a frame."""
    try:
        if not isinstance(data, str | bytes | Mapping | np.void):
            return len(data)
    except TypeError:
        pass
    raise _refusal(name, data, "a list, an array or a frame of rows")


def first_rows(data: Any, n: int) -> Any:
    """The first `n` rows of a list, an array or a frame; what cannot be sliced, as it is."""
    try:
        return data[:n]
    except (TypeError, LookupError):
        return data


def rows(data: Any) -> Iterator[Any]:
    """Iterate over the rows of a frame as dicts, or over the elements of a sequence."""
    if isinstance(data, Sequence | np.ndarray | Columns):
        return iter(data)
    records: Iterator[Any] = open_frame("data", data, "a list, an array or a frame of rows").iter_rows(named=True)
    return records


def as_row(row: Any) -> Any:
    """A pandas Series or a NumPy record as a dict from names to values; any other row as it is."""
    if isinstance(row, np.void) and row.dtype.names:
        return dict(zip(row.dtype.names, row.item(), strict=True))
    if hasattr(getattr(row, "index", None), "is_unique") and np.ndim(row) == 1:
        if not row.index.is_unique:
            raise InvalidInput("a row has several values of the same name; their names must differ")
        return dict(zip(row.index.tolist(), row.tolist(), strict=True))
    return row


def own_row(row: Any) -> Any:
    """A copy of a row, that stays the same when the caller's changes."""
    if isinstance(row, Mapping):
        return dict(row)
    return row.copy() if isinstance(row, np.ndarray) else as_row(row)


def rows_at(data: Any, indices: Any) -> Any:
    """Select rows of a list, an array or a frame by index; returns the same type."""
    if isinstance(data, np.ndarray | Columns):
        return data[indices]
    if isinstance(data, Sequence):
        return [data[index] for index in np.asarray(indices).tolist()]
    return open_frame("data", data, "a list, an array or a frame of rows")[np.asarray(indices)].to_native()


def open_frame(name: str, data: Any, allowed: str, *, allow_series: bool = False) -> Any:
    """Wrap a frame or series of any library with Narwhals; a ValueError says that only `allowed` types are accepted."""
    import narwhals as nw

    try:
        return nw.from_native(data, eager_only=True, allow_series=allow_series, series_only=False, pass_through=False)
    except TypeError:
        raise _refusal(name, data, allowed) from None
    except nw.exceptions.DuplicateError:
        raise InvalidInput(f"{name} has several columns of the same name; their names must differ") from None


def _refusal(name: str, data: Any, allowed: str) -> InvalidInput:
    return InvalidInput(f"{name} is {shown(data)}; it must be {allowed}")
