from pathlib import Path

import polars as pl
import pytest

from stumpery.streams.datasets import load, registry
from stumpery.streams.datasets.checksum import canonical_sha256
from stumpery.streams.datasets.dataset import Dataset

NOT_HERE = {"uscensus1990"}  # not in the folder of data; its checksum speaks of rows that the fragment has
PARTIAL = {"poker": 125_008}
ALL = [pytest.param(dataset, id=dataset.name) for dataset in registry.DATASETS.values()]


@pytest.mark.parametrize("dataset", ALL)
def test_an_entry_agrees_with_itself(dataset: Dataset) -> None:
    columns = [column.name for column in dataset.columns]
    assert len(set(columns)) == len(columns)
    assert dataset.target is None or dataset.target in columns
    assert not dataset.class_counts or sum(dataset.class_counts.values()) == dataset.n_rows
    assert dataset.checked_rows <= dataset.n_rows
    assert len(bytes.fromhex(dataset.sha256)) == 32
    assert dataset.licence
    assert dataset.citation
    assert all(url.startswith("https://") for url in dataset.origin)
    assert dataset.part_of is None or dataset.part_of in registry.DATASETS


def test_a_wrong_name_is_met_with_close_ones() -> None:
    with pytest.raises(ValueError, match="no dataset 'mushrooms': did you mean mushroom"):
        registry.find("mushrooms")
    with pytest.raises(ValueError, match="there are covtype, adult"):
        registry.find("zzzz")


@pytest.mark.data
@pytest.mark.parametrize("dataset", [each for each in ALL if each.id not in NOT_HERE])
def test_the_folder_of_data_matches_the_registry(dataset: Dataset, data_folder: Path) -> None:
    frame = load.load(dataset)
    assert frame.columns == [column.name for column in dataset.columns]
    assert frame.height == PARTIAL.get(dataset.name, dataset.n_rows)
    assert load.verify(dataset) == frame.height
    if dataset.target and dataset.class_counts and dataset.name not in PARTIAL:
        counts = frame[dataset.target].cast(pl.String).value_counts()
        assert dict(counts.iter_rows()) == dataset.class_counts


@pytest.mark.data
def test_the_checksum_of_the_census_speaks_of_the_rows_that_are_known(data_folder: Path) -> None:
    census = registry.find("uscensus1990")
    known = load.load("uscensus1990_fragment").head(census.checked_rows)
    assert canonical_sha256(known, census.columns) == census.sha256


@pytest.mark.data
def test_missing_names_of_adult_are_null(data_folder: Path) -> None:
    adult = load.load("adult")
    assert adult["occupation"].null_count() == 2_809
    assert adult["occupation"].n_unique() == 14 + 1
    assert not (adult["workclass"] == "?").any()
    assert adult["age"].dtype == pl.Int8
