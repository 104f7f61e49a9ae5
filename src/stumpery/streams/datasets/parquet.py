"""Parquet files of datasets, and frames with uniform column types.

In a loaded frame the columns are the declared ones, names are String with "?" turned into null, whole numbers
have the smallest signed integer type that holds their column, other numbers are Float32, and times are UTC to
the microsecond.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from stumpery.errors import InvalidInput
from stumpery.streams.datasets.checksum import MISSING_NAME
from stumpery.streams.datasets.dataset import Column, Dataset
from stumpery.system.extras import need
from stumpery.system.writing import whole_file

if TYPE_CHECKING:
    import polars as pl
else:
    pl = need("polars", "study")


def read(path: Path, dataset: Dataset) -> "pl.DataFrame":
    """Read a dataset from a Parquet file; a ValueError says what is wrong with the file."""
    try:
        present = pl.read_parquet_schema(path)
        wanted = [column.name for column in dataset.columns if column.name in present]
        frame = pl.read_parquet(path, columns=wanted)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidInput(f"{path} is damaged or not a Parquet file: replace or delete it") from error
    return conform(frame, dataset)


def write(frame: "pl.DataFrame", path: Path) -> None:
    """Write a Parquet file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        frame.write_parquet(part, compression="zstd")


def conform(frame: "pl.DataFrame", dataset: Dataset) -> "pl.DataFrame":
    """Select the declared columns in order, with the types that every loaded frame has."""
    lacking = [column.name for column in dataset.columns if column.name not in frame.columns]
    if lacking:
        raise InvalidInput(f"{dataset.name} should have the columns {', '.join(lacking)}, which are not there")
    return pl.DataFrame([_conformed(frame[column.name], column, dataset) for column in dataset.columns])


def _conformed(series: "pl.Series", column: Column, dataset: Dataset) -> "pl.Series":
    match column.kind, series.dtype:
        case "name", pl.String() | pl.Categorical() | pl.Enum():
            series = series.cast(pl.String)
            return series.set(series == MISSING_NAME, None)
        case "number", dtype if dtype.is_numeric() or dtype == pl.Boolean:
            return _narrowed(series)
        case "time", pl.Datetime(time_zone=zone):
            utc = series.dt.convert_time_zone("UTC") if zone else series.dt.replace_time_zone("UTC")
            return utc.dt.cast_time_unit("us")
    raise InvalidInput(f"column {column.name} of {dataset.name} should hold {column.kind}s, not {series.dtype}")


def _narrowed(series: "pl.Series") -> "pl.Series":
    if series.dtype.is_float():
        series = series.fill_nan(None)
        whole = ((series == series.floor()) & (series.abs() < 2**53)).all()
        if not whole:
            return series.cast(pl.Float32)
    return series.cast(pl.Int64).shrink_dtype()
