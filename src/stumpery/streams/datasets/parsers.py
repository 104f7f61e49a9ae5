"""Parsers of downloaded files: bytes to a frame with the declared columns.

Every reader takes one file and returns numbers as Float64 and names as String; "?" is a missing value.
"""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.streams.datasets.checksum import MISSING_NAME
from stumpery.streams.datasets.dataset import Column, Dataset, Format
from stumpery.system.extras import need

if TYPE_CHECKING:
    import polars as pl
else:
    pl = need("polars", "study")

Columns = Sequence[Column]

MAX_UNPACKED_BYTES = 1 << 32
BEHAVIOR_POLICIES = ("random", "bts")  # the order of the files of an Open Bandit campaign


def parse(dataset: Dataset, files: Sequence[bytes]) -> "pl.DataFrame":
    """Unpack, parse and concatenate the files of a dataset; a ValueError says what is wrong."""
    try:
        frames = [READERS[dataset.format](_unpacked(raw), dataset.columns) for raw in files]
    except (ValueError, EOFError, OSError, zlib.error, pl.exceptions.PolarsError) as error:
        cause = " ".join(str(error).split())[:200]
        raise InvalidInput(f"the files of {dataset.name} do not read as {dataset.format}: {cause}") from error
    if dataset.format == "open bandit":
        labels = [pl.lit(policy).alias("behavior_policy") for policy in BEHAVIOR_POLICIES]
        frames = [frame.with_columns(label) for frame, label in zip(frames, labels, strict=True)]
    return pl.concat(frames)


def read_csv(raw: bytes, columns: Columns, *, quote: str = '"', comment: str | None = None) -> "pl.DataFrame":
    """Comma-separated values without a header, in the order of `columns`; empty lines are skipped."""
    frame = pl.read_csv(
        raw,
        has_header=False,
        schema=_types(columns),
        quote_char=quote,
        comment_prefix=comment,
        null_values=MISSING_NAME,
    )
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def read_csv_with_header(raw: bytes, columns: Columns) -> "pl.DataFrame":
    """Comma-separated values under a header, of which the columns that are asked for are kept."""
    header = pl.read_csv(raw, n_rows=0).columns
    wanted = [column for column in columns if column.name in header]
    frame = pl.read_csv(
        raw,
        columns=[column.name for column in wanted],
        schema_overrides=_types(wanted),
        null_values=MISSING_NAME,
    )
    moments = [column.name for column in wanted if column.kind == "time"]
    return frame.with_columns(
        pl.col(moments).str.to_datetime("%Y-%m-%d %H:%M:%S%.f%:z", time_unit="us", time_zone="UTC")
    )


def read_adult(raw: bytes, columns: Columns) -> "pl.DataFrame":
    """adult.data and adult.test: a space after each comma, remarks after "|", a full stop after the label."""
    lines = (line.strip().rstrip(b".").replace(b", ", b",") for line in raw.splitlines())
    return read_csv(b"\n".join(line for line in lines if line and not line.startswith(b"|")), columns)


def read_spaces(raw: bytes, columns: Columns) -> "pl.DataFrame":
    """Numbers with any white space between them."""
    table = np.loadtxt(io.BytesIO(raw), dtype=np.float64, ndmin=2)
    return _frame(table, columns)


def read_libsvm(raw: bytes, columns: Columns) -> "pl.DataFrame":
    """A label, then `feature:value` for what is not zero; features count from 1."""
    lines = [line.split() for line in raw.splitlines() if line.strip()]
    table = np.zeros((len(lines), len(columns)))
    for row, (label, *cells) in zip(table, lines, strict=True):
        row[0] = float(label)
        for cell in cells:
            feature, _, value = cell.partition(b":")
            if not 0 < int(feature) < len(columns):
                raise InvalidInput(f"feature {int(feature)} is not among the {len(columns) - 1} declared ones")
            row[int(feature)] = float(value)
    return _frame(table, columns)


def read_arff(raw: bytes, columns: Columns) -> "pl.DataFrame":
    """Weka's format: `@attribute` lines that name the columns, and values without a header after `@data`."""
    mark = _DATA.search(raw)
    if mark is None:
        raise InvalidInput("there is no @data line")
    declared = {column.name: column for column in columns}
    attributes = [quoted.strip(b"'\"").decode() for quoted in _ATTRIBUTE.findall(raw[: mark.start()])]
    present = [declared.get(name, Column(name, "name")) for name in attributes]
    return read_csv(raw[mark.end() :], present, quote="'", comment="%")


def digits(columns: Columns) -> "pl.DataFrame":
    """The digits that come with scikit-learn: the pixels, then the digit."""
    pixels, digit = need("sklearn.datasets", "study").load_digits(return_X_y=True)
    return _frame(np.column_stack([pixels, digit]), columns)


_DATA = re.compile(rb"(?im)^[ \t]*@data[ \t]*\r?\n")
_ATTRIBUTE = re.compile(rb"""(?im)^[ \t]*@attribute[ \t]+('[^']*'|"[^"]*"|[^\s{]+)""")

READERS: Mapping[Format, Callable[[bytes, Columns], "pl.DataFrame"]] = {
    "csv": read_csv,
    "csv with header": read_csv_with_header,
    "adult": read_adult,
    "spaces": read_spaces,
    "libsvm": read_libsvm,
    "arff": read_arff,
    "open bandit": read_csv_with_header,
}


def _frame(table: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", columns: Columns) -> "pl.DataFrame":
    if table.shape[1] != len(columns):
        raise InvalidInput(f"a row has {table.shape[1]} values instead of {len(columns)}")
    return pl.DataFrame(table, schema=[column.name for column in columns], orient="row")


def _types(columns: Columns) -> dict[str, "type[pl.Float64] | type[pl.String]"]:
    return {column.name: pl.Float64 if column.kind == "number" else pl.String for column in columns}


def _unpacked(raw: bytes) -> bytes:
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
        content = packed.read(MAX_UNPACKED_BYTES + 1)
    if len(content) > MAX_UNPACKED_BYTES:
        raise InvalidInput(f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    return content
