"""Columns as a frame of whichever library the user has."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

BACKENDS = ("polars", "pandas", "pyarrow")


def make_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """A polars, pandas or pyarrow frame, the first that is installed unless `backend` names one."""
    import narwhals as nw

    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name)), None)
        if backend is None:
            raise ModuleNotFoundError('a frame needs polars, pandas or pyarrow: pip install "stumpery[study]"')
    elif backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}; it must be one of {', '.join(BACKENDS)}")
    return nw.from_dict(dict(columns), backend=import_module(backend)).to_native()
