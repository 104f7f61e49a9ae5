import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.streams.web_site import DROP, HANG, Site
from tests.support import command_of, names_in

from stumpery.streams.datasets import load, registry
from stumpery.streams.datasets.checksum import canonical_sha256
from stumpery.streams.datasets.dataset import Dataset, names, numbers
from stumpery.streams.datasets.download import RetryPolicy

FRAME = pl.DataFrame({"x": list(range(5000)), "class": ["a", "?"] * 2500})
CSV = FRAME.write_csv(include_header=False).encode()


def toy(site: Site) -> Dataset:
    columns = (*numbers("x"), *names("class"))
    return replace(
        registry.find("nursery"),
        name="toy",
        columns=columns,
        n_rows=5000,
        origin=(site.url("/toy.data"),),
        sha256=canonical_sha256(FRAME, columns),
    )


def test_digits_load_without_a_network(cache: Path) -> None:
    frame = load.load("digits")
    assert frame.shape == (1797, 65)
    assert load.verify("digits") == 1797
    assert names_in(cache) == []
    with pytest.raises(ValueError, match="digits comes from scikit-learn and has no file"):
        load.path("digits")


def test_a_dataset_is_downloaded_once_and_then_taken_from_the_cache(site: Site, cache: Path) -> None:
    site.pages = {"/toy.data": CSV}
    with pytest.raises(FileNotFoundError, match="toy is not on this machine: stumpery data fetch toy"):
        load.path(toy(site))
    told: list[int] = []
    assert load.fetch(toy(site), lambda done, total: told.append(done)) == cache / "toy.parquet"
    assert told[-1] == len(CSV)
    first = load.load(toy(site))
    assert first["class"].null_count() == 2500
    assert_frame_equal(load.load(toy(site)), first)
    assert load.verify(toy(site)) == 5000
    assert load.path(toy(site)) == cache / "toy.parquet"
    assert site.requests == ["/toy.data"]
    assert names_in(cache) == ["toy.parquet"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (CSV.replace(b"\n4711,", b"\n4712,"), "the content of toy does not match the registry"),
        (CSV[:-7], "the origin of toy sent 4,999 rows instead of 5,000"),
        (b"<html>moved</html>", "the files of toy do not read as csv"),
    ],
)
def test_content_that_is_not_the_known_one_is_never_kept(page: bytes, reason: str, site: Site, cache: Path) -> None:
    site.pages = {"/toy.data": page}
    with pytest.raises(ValueError, match=reason):
        load.load(toy(site))
    assert names_in(cache) == []


@pytest.mark.parametrize("trouble", [404, DROP])
def test_a_failed_download_leaves_the_cache_empty_and_can_be_repeated(
    trouble: int | str, site: Site, cache: Path, fast_retries: RetryPolicy
) -> None:
    site.pages = {"/toy.data": CSV}
    site.troubles = {"/toy.data": [trouble] * 3}
    with pytest.raises(ConnectionError, match="STUMPERY_DATA can name a folder"):
        load.fetch(toy(site), retries=fast_retries)
    assert names_in(cache) == []
    site.troubles = {}
    assert load.load(toy(site)).height == 5000


def test_a_process_killed_half_way_leaves_nothing_that_is_ever_used(site: Site, cache: Path) -> None:
    site.pages = {"/toy.data": CSV}
    site.troubles = {"/toy.data": [HANG]}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command_of("fetch_dataset.py", site.url("/toy.data")), env=environment) as process:
        assert site.half_sent.wait(60)
        process.send_signal(signal.SIGKILL)
    assert not any(name.endswith(".parquet") for name in names_in(cache))
    assert load.load(toy(site)).height == 5000


def test_the_folder_comes_before_the_cache(
    site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages = {"/toy.data": CSV}
    load.fetch(toy(site))
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    assert load.path(toy(site)) == cache / "toy.parquet"
    FRAME.reverse().with_columns(split=pl.lit("train")).write_parquet(tmp_path / "toy.parquet")
    assert load.path(toy(site)) == tmp_path / "toy.parquet"
    assert load.load(toy(site))["x"][0] == 4999
    with pytest.raises(ValueError, match="the content of toy does not match the registry"):
        load.verify(toy(site))
    FRAME.head(7).write_parquet(tmp_path / "toy.parquet")
    with pytest.raises(ValueError, match="toy should have 5,000 rows, not 7"):
        load.verify(toy(site))


def test_a_folder_or_a_file_that_will_not_do_is_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"STUMPERY_DATA names .*nowhere, which is not a folder"):
        load.load("nursery")
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    whole = io.BytesIO()
    FRAME.write_parquet(whole)
    for content in (b"", b"PAR1", whole.getvalue()[:-30], whole.getvalue()[: len(whole.getvalue()) // 2]):
        (tmp_path / "nursery.parquet").write_bytes(content)
        with pytest.raises(ValueError, match=r"nursery\.parquet is damaged or not a Parquet file"):
            load.load("nursery")
    (tmp_path / "nursery.parquet").write_bytes(whole.getvalue())
    with pytest.raises(ValueError, match="nursery should have the columns parents, has_nurs"):
        load.load("nursery")


def test_a_fragment_is_not_the_dataset(
    site: Site, cache: Path, tmp_path: Path, fast_retries: RetryPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    (tmp_path / "uscensus1990_fragment.parquet").touch()
    census = replace(registry.find("uscensus1990"), origin=(site.url("/none"),))
    with pytest.raises(ConnectionError, match=r"uscensus1990_fragment.* only parts of it"):
        load.fetch(census, retries=fast_retries)
    with pytest.raises(FileNotFoundError, match="uscensus1990_iclass20k has no public file"):
        load.load("uscensus1990_iclass20k")


def test_the_list_says_where_each_would_come_from(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    cache.mkdir(parents=True)
    (tmp_path / "adult.parquet").touch()
    (cache / "nursery.parquet").touch()
    listed = {row.name: row for row in load.available()}
    assert list(listed) == list(registry.DATASETS)
    assert listed["adult"] == ("adult", 48_842, 15, 2, "income", "folder")
    assert listed["nursery"].source == "cache"
    assert listed["digits"].source == "library"
    assert listed["covtype"].source == "web"
    assert listed["uscensus1990_fragment"].source == "nowhere"
