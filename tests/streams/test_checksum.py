import hashlib
import struct
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stumpery.streams.datasets.checksum import canonical_sha256
from stumpery.streams.datasets.dataset import Column, names, numbers

COLUMNS = (*numbers("share count"), *names("colour"), Column("at", "time"))
MOMENT = datetime(2019, 11, 24, 0, 0, 34, 762830, tzinfo=UTC)


def table(**changed: object) -> pl.DataFrame:
    content = {
        "share": [0.64, None, 1.0, -0.1],
        "count": [1, 2, 16_777_217, 4],
        "colour": ["red", "?", "grün", None],
        "at": [MOMENT, MOMENT, None, MOMENT],
    }
    return pl.DataFrame(content | changed)


def sha(frame: pl.DataFrame) -> str:
    return canonical_sha256(frame, COLUMNS)


def plain(name: str, kind: str, missing: list[bool], *values: bytes) -> bytes:
    """The canonical form of a column as the documentation says it, without a library."""
    words = [len(text.encode()).to_bytes(8, "little") + text.encode() for text in (name, kind)]
    return b"".join([*words, len(missing).to_bytes(8, "little"), bytes(missing), *values])


def test_the_canonical_form_is_the_documented_one() -> None:
    (single,) = struct.unpack("<f", struct.pack("<f", 0.64))
    (tenth,) = struct.unpack("<f", struct.pack("<f", -0.1))
    at = (MOMENT - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    expected = b"".join(
        [
            plain("share", "number", [False, True, False, False], struct.pack("<4d", single, 0.0, 1.0, tenth)),
            plain("count", "number", [False] * 4, struct.pack("<4d", 1, 2, 16_777_217, 4)),
            plain(
                "colour",
                "name",
                [False, True, False, True],
                struct.pack("<4Q", 3, 0, 5, 0),
                "redgrün".encode(),
            ),
            plain("at", "time", [False, False, True, False], struct.pack("<4q", at, at, 0, at)),
        ]
    )
    assert sha(table()) == hashlib.sha256(expected).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        pl.col("share").cast(pl.Float32),
        pl.col("share").fill_null(float("nan")),
        pl.col("count").cast(pl.Int32),
        pl.col("count").cast(pl.UInt64),
        pl.col("count").cast(pl.Float64),
        pl.col("colour").cast(pl.Categorical),
        pl.col("colour").cast(pl.Enum(["grün", "red", "?"])),
        pl.col("colour").fill_null("?"),
        pl.col("at").dt.cast_time_unit("ns"),
        pl.col("at").dt.convert_time_zone("Asia/Tokyo"),
    ],
)
def test_it_does_not_depend_on_how_a_value_is_stored(change: pl.Expr) -> None:
    assert sha(table().with_columns(change)) == sha(table())


def test_it_does_not_depend_on_other_columns_nor_on_their_order() -> None:
    other = table().with_columns(split=pl.lit("train")).select("split", "at", "colour", "count", "share")
    assert sha(other) == sha(table())


def test_pandas_and_polars_write_the_same_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    written = pandas.DataFrame(
        {
            "share": np.array([0.64, np.nan, 1.0, -0.1], dtype=np.float32),
            "count": np.array([1, 2, 16_777_217, 4], dtype=np.int64),
            "colour": pandas.Categorical(["red", "?", "grün", None]),
            "at": pandas.to_datetime([MOMENT, MOMENT, None, MOMENT], utc=True),
        }
    )
    written.to_parquet(tmp_path / "table.parquet")
    assert sha(pl.read_parquet(tmp_path / "table.parquet")) == sha(table())


@pytest.mark.parametrize(
    "changed",
    [
        {"share": [0.65, None, 1.0, -0.1]},
        {"share": [0.64, 0.0, 1.0, -0.1]},
        {"count": [1, 2, 16_777_216, 4]},
        {"colour": ["red", "?", "grun", None]},
        {"colour": ["red", "", "grün", None]},
        {"colour": ["re", "?", "dgrün", None]},
        {"at": [MOMENT, MOMENT + timedelta(microseconds=1), None, MOMENT]},
        {"at": [moment.replace(tzinfo=timezone(timedelta(hours=1))) for moment in [MOMENT] * 4]},
    ],
)
def test_one_changed_cell_shows(changed: dict[str, object]) -> None:
    assert sha(table(**changed)) != sha(table())


def test_swapped_rows_and_missing_rows_show() -> None:
    assert sha(table().reverse()) != sha(table())
    assert sha(table().head(3)) != sha(table())


def test_a_renamed_column_and_another_kind_show() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2]})
    assert canonical_sha256(frame, numbers("a")) != canonical_sha256(frame, numbers("b"))
    assert canonical_sha256(frame, numbers("a")) != canonical_sha256(frame, names("a"))
