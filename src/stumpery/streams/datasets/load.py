"""Datasets by name: from the folder that STUMPERY_DATA names, from the cache, or from their public origin.

A download is parsed, its number of rows and SHA-256 are compared with the registry, and only then it is cached as
Parquet. Frames are Polars frames with the rows in their original order and the types that `parquet`
describes.
"""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from stumpery.errors import InvalidInput
from stumpery.streams.datasets import download, registry
from stumpery.streams.datasets.dataset import Dataset
from stumpery.system.folders import cache_root, make_own

if TYPE_CHECKING:
    import polars as pl

Source = Literal["folder", "cache", "library", "web", "nowhere"]


class Listing(NamedTuple):
    """A row of the table of datasets."""

    name: str
    n_rows: int
    n_columns: int
    n_classes: int | None  # None where there is no target or its classes are not documented
    target: str | None
    source: Source


def load(dataset: str | Dataset) -> "pl.DataFrame":
    """Load a dataset as a Polars frame, downloading it if needed.

    Args:
        dataset: Its name, or its entry of the registry.

    >>> load("digits").shape
    (1797, 65)
    """
    dataset = _entry(dataset)
    from stumpery.streams.datasets import parquet, parsers

    if dataset.format == "scikit-learn":
        return parquet.conform(parsers.digits(dataset.columns), dataset)
    return parquet.read(fetch(dataset), dataset)


def path(dataset: str | Dataset) -> Path:
    """The Parquet file of a local dataset; a FileNotFoundError says how to download it.

    Args:
        dataset: Its name, or its entry of the registry.
    """
    dataset = _entry(dataset)
    if dataset.format == "scikit-learn":
        raise InvalidInput(f"{dataset.name} comes from scikit-learn and has no file")
    local = _find(dataset)
    if local is None:
        raise FileNotFoundError(f"{dataset.name} is not on this machine: stumpery data fetch {dataset.name}")
    return local


def fetch(
    dataset: str | Dataset,
    progress: download.Progress | None = None,
    *,
    retries: download.RetryPolicy = download.DEFAULT_RETRIES,
) -> Path:
    """The Parquet file of a dataset, downloaded from its origin unless it is on this machine.

    Args:
        dataset: Its name, or its entry of the registry.
        progress: Called with the bytes of the present file that came so far, and with their total or None.
        retries: How often, and after which waits, an interrupted download is tried again.
    """
    dataset = _entry(dataset)
    if dataset.format == "scikit-learn":
        return path(dataset)
    local = _find(dataset)
    if local is not None:
        return local
    if not dataset.origin:
        raise FileNotFoundError(f"{dataset.name} has no public file: let STUMPERY_DATA name a folder that has it")
    target = cache_folder() / f"{dataset.name}.parquet"
    make_own(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{dataset.name}.") as folder:
        try:
            files = download.fetch(dataset.origin, Path(folder), progress=progress, retries=retries)
        except ConnectionError as error:
            raise ConnectionError(f"{error}{_about_parts(dataset)}") from error
        _cache(dataset, files, target)
    return target


def verify(dataset: str | Dataset) -> int:
    """Compare a dataset with the registry; returns the number of leading rows that its checksum covers.

    Args:
        dataset: Its name, or its entry of the registry.
    """
    dataset = _entry(dataset)
    frame = load(dataset)
    from stumpery.streams.datasets import checksum

    if frame.height not in (dataset.n_rows, dataset.checked_rows):
        raise InvalidInput(f"{dataset.name} should have {dataset.n_rows:,} rows, not {frame.height:,}")
    checksum.check(frame, dataset)
    return dataset.checked_rows


def available() -> list[Listing]:
    """All datasets of the registry, and where each would be loaded from."""
    return [
        Listing(
            name=dataset.name,
            n_rows=dataset.n_rows,
            n_columns=len(dataset.columns),
            n_classes=len(dataset.class_counts) or None,
            target=dataset.target,
            source=_source(dataset),
        )
        for dataset in registry.DATASETS.values()
    ]


def data_folder() -> Path | None:
    """The folder that STUMPERY_DATA names, or None."""
    named = os.environ.get("STUMPERY_DATA")
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise FileNotFoundError(f"STUMPERY_DATA names {named}, which is not a folder")
    return folder


def cache_folder() -> Path:
    """The folder of downloaded datasets."""
    return cache_root() / "data"


def _entry(dataset: str | Dataset) -> Dataset:
    return registry.find(dataset) if isinstance(dataset, str) else dataset


def _find(dataset: Dataset) -> Path | None:
    for folder in (data_folder(), cache_folder()):
        if folder is not None and (folder / f"{dataset.name}.parquet").is_file():
            return folder / f"{dataset.name}.parquet"
    return None


def _source(dataset: Dataset) -> Source:
    if dataset.format == "scikit-learn":
        return "library"
    local = _find(dataset)
    if local is not None:
        return "cache" if local.parent == cache_folder() else "folder"
    return "web" if dataset.origin else "nowhere"


def _cache(dataset: Dataset, files: list[Path], target: Path) -> None:
    """Parse and check downloaded files, and write them as Parquet."""
    from stumpery.streams.datasets import checksum, parquet, parsers

    frame = parquet.conform(parsers.parse(dataset, [file.read_bytes() for file in files]), dataset)
    if frame.height != dataset.n_rows:
        raise InvalidInput(f"the origin of {dataset.name} sent {frame.height:,} rows instead of {dataset.n_rows:,}")
    checksum.check(frame, dataset)
    parquet.write(frame, target)


def _about_parts(dataset: Dataset) -> str:
    parts = [other.name for other in registry.DATASETS.values() if other.part_of == dataset.name and _find(other)]
    return f" ({' and '.join(parts)}, which are there, are only parts of it)" if parts else ""
