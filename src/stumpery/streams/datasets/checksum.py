"""Checksum of a table's content, independent of file format, width of numbers and library.

It is the SHA-256 of a canonical form: for each declared column in turn,

- the name and the kind, each as UTF-8 after its length in bytes, and the number of rows;
- one byte per row: 1 where the value is missing (null, NaN or the name "?"), otherwise 0;
- numbers as float64: a whole number exactly (below 2**53), any other rounded to float32 first, so that the
  text 0.64 and a stored float32 agree; minus zero is zero and a missing number is zero;
- names as all lengths in bytes, then all bytes as UTF-8; a missing name is empty;
- times as microseconds since 1970 in UTC, in int64; a missing time is zero.

Lengths and counts are uint64, and everything is little-endian.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.streams.datasets.dataset import Column, Dataset
from stumpery.system.extras import need

if TYPE_CHECKING:
    import polars as pl
else:
    pl = need("polars", "study")

MISSING_NAME = "?"


def canonical_sha256(frame: "pl.DataFrame", columns: Sequence[Column]) -> str:
    """The SHA-256, in hexadecimal, of the canonical form of these columns.

    >>> narrow = pl.DataFrame({"x": [1, 2]}, schema={"x": pl.Int8})
    >>> wide = pl.DataFrame({"x": [1.0, 2.0]})
    >>> canonical_sha256(narrow, [Column("x", "number")]) == canonical_sha256(wide, [Column("x", "number")])
    True
    """
    digest = hashlib.sha256()
    for column in columns:
        for part in _canonical(frame[column.name], column):
            digest.update(part)
    return digest.hexdigest()


def check(frame: "pl.DataFrame", dataset: Dataset) -> None:
    """Raise a ValueError unless the checksum of the leading rows is that of the registry."""
    digest = canonical_sha256(frame.head(dataset.checked_rows), dataset.columns)
    if digest != dataset.sha256:
        raise InvalidInput(
            f"the content of {dataset.name} does not match the registry: the SHA-256 of its first "
            f"{dataset.checked_rows:,} rows is {digest[:12]}... instead of {dataset.sha256[:12]}..."
        )


def _canonical(series: "pl.Series", column: Column) -> Iterator[bytes]:
    yield _prefixed(column.name)
    yield _prefixed(column.kind)
    yield _count(len(series))
    if column.kind == "number":
        yield from _numbers(series)
    elif column.kind == "name":
        yield from _names(series)
    else:
        yield _marks(series)
        yield series.dt.epoch("us").fill_null(0).to_numpy().astype("<i8").tobytes()


def _numbers(series: "pl.Series") -> Iterator[bytes]:
    series = series.cast(pl.Float64).fill_nan(None)
    yield _marks(series)
    exact = series.fill_null(0.0).to_numpy()
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32).astype(np.float64)
    yield (np.where(exact == np.floor(exact), exact, rounded) + 0.0).astype("<f8").tobytes()


def _names(series: "pl.Series") -> Iterator[bytes]:
    series = series.cast(pl.String)
    series = series.set(series == MISSING_NAME, None)
    yield _marks(series)
    series = series.fill_null("")
    yield series.str.len_bytes().to_numpy().astype("<u8").tobytes()
    yield "".join(series).encode()


def _marks(series: "pl.Series") -> bytes:
    return series.is_null().to_numpy().tobytes()


def _prefixed(text: str) -> bytes:
    return _count(len(text.encode())) + text.encode()


def _count(number: int) -> bytes:
    return number.to_bytes(8, "little")
