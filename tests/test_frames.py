"""A frame of whichever library there is."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stumpery import frames
from stumpery.frames import make_frame, n_rows, rows

COLUMNS = {"step": np.arange(1, 4), "action": ["a", "b", "a"], "reward": np.array([0.5, np.nan, 1.0])}


@pytest.mark.parametrize(
    ("backend", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_every_backend_gives_its_own_frame_with_the_same_content(backend, kind):
    frame = make_frame(COLUMNS, backend)
    assert type(frame) is kind
    as_polars = (
        pl.DataFrame(frame)
        if backend == "polars"
        else pl.from_pandas(frame)
        if backend == "pandas"
        else pl.from_arrow(frame)
    )
    assert as_polars.columns == list(COLUMNS)
    assert as_polars["step"].to_list() == [1, 2, 3]
    assert as_polars["action"].to_list() == ["a", "b", "a"]
    assert as_polars["reward"].to_list()[::2] == [0.5, 1.0]


def test_the_first_installed_library_is_taken(monkeypatch):
    assert type(make_frame(COLUMNS)) is pl.DataFrame
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "polars" else object())
    assert type(make_frame(COLUMNS)) is pd.DataFrame


def test_without_any_library_the_install_command_is_given(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "stumpery\[study\]"'):
        make_frame(COLUMNS)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match=r"^backend is 'dask'; it must be one of 'polars', 'pandas', 'pyarrow'$"):
        make_frame(COLUMNS, "dask")


TABLE = {"hour": [3, 21], "device": ["phone", "desktop"]}
AS_DICTS = [{"hour": 3, "device": "phone"}, {"hour": 21, "device": "desktop"}]


@pytest.mark.parametrize("data", [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE), AS_DICTS])
def test_every_container_has_the_same_rows(data):
    assert n_rows(data) == 2
    assert list(rows(data)) == AS_DICTS


def test_rows_of_an_array_are_its_rows():
    assert [row.tolist() for row in rows(np.eye(2))] == [[1.0, 0.0], [0.0, 1.0]]
    assert (n_rows(np.eye(2)), n_rows(pl.Series([1, 2, 3])), n_rows(())) == (2, 3, 0)


@pytest.mark.parametrize("data", [5, None, "ab", b"ab", {"hour": [3]}, np.array(5), pl.LazyFrame(TABLE), iter([1])])
def test_what_has_no_rows_is_refused(data):
    with pytest.raises(ValueError, match=r"^contexts is .*; it must be a list, an array or a frame of rows$"):
        n_rows(data, "contexts")


def test_rows_of_what_is_no_frame_are_refused():
    with pytest.raises(ValueError, match=r"^data is 5; it must be a list, an array or a frame of rows$"):
        rows(5)
    with pytest.raises(ValueError, match=r"^data has several columns of the same name; their names must differ$"):
        rows(pd.DataFrame([[1, 2]], columns=["a", "a"]))
