"""What an origin would send, made from the folder of data, comes through the download as the same frame."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.streams.web_site import Site

from stumpery.streams.datasets import load, registry
from stumpery.streams.datasets.dataset import Format


def csv(frame: pl.DataFrame) -> str:
    return frame.write_csv(include_header=False, null_value="?")


def spaces(frame: pl.DataFrame) -> str:
    return frame.write_csv(include_header=False, separator="\t")


def libsvm(frame: pl.DataFrame) -> str:
    def line(label: int, *values: int) -> str:
        return " ".join([f"{label:+d}", *(f"{feature}:{v}" for feature, v in enumerate(values, 1) if v), "\n"])

    return "".join(line(*row) for row in frame.iter_rows())


def adult(frame: pl.DataFrame) -> str:
    return "|1x3 Cross validator\n" + csv(frame).replace(",", ", ").replace("50K\n", "50K.\n") + "\n"


def arff(frame: pl.DataFrame) -> str:
    head = "".join(f"@attribute {name} numeric\n" for name in frame.columns)
    return f"@relation r\n\n{head}\n@data\n{csv(frame)}"


def open_bandit(frame: pl.DataFrame) -> str:
    frame = frame.drop("behavior_policy").with_row_index("")
    return frame.write_csv(datetime_format="%Y-%m-%d %H:%M:%S%.6f+00:00")


NAMES = ["covtype", "nursery", "mushroom", "spambase", "skin", "a8a", "adult", "electricity"]
NAMES += ["obd_men", "obd_men_items"]

WRITERS: dict[Format, Callable[[pl.DataFrame], str]] = {
    "csv": csv,
    "spaces": spaces,
    "libsvm": libsvm,
    "adult": adult,
    "arff": arff,
    "open bandit": open_bandit,
}


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_the_origin_and_the_folder_give_the_same_frame(
    name: str, data_folder: Path, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, expected = registry.find(name), load.load(name)
    monkeypatch.delenv("STUMPERY_DATA")
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path))
    n_files = len(dataset.origin)
    cuts = [expected.height * file // n_files for file in range(n_files + 1)]
    parts = [WRITERS[dataset.format](expected[start:end]) for start, end in pairwise(cuts)]
    site.pages = {f"/{number}": part.encode() for number, part in enumerate(parts)}
    served = replace(dataset, origin=tuple(map(site.url, site.pages)))
    assert_frame_equal(load.load(served), expected)
    assert load.verify(served) == expected.height
