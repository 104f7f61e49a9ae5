import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.streams.web_site import DROP, HANG, Site
from tests.support import names_in

from stumpery.streams.datasets.download import RetryPolicy, fetch

PAGE = bytes(range(256)) * 4000


def test_files_come_whole_and_progress_is_told(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    site.pages = {"/random/log.csv": PAGE, "/bts/log.csv": b"short"}
    told: list[tuple[int, int | None]] = []
    urls = [site.url("/random/log.csv"), site.url("/bts/log.csv")]
    first, second = fetch(urls, tmp_path / "new", progress=lambda *both: told.append(both), retries=fast_retries)
    assert (first.read_bytes(), second.read_bytes()) == (PAGE, b"short")
    assert (len(PAGE), len(PAGE)) in told
    assert told[-1] == (5, 5)
    assert names_in(tmp_path / "new") == ["0-log.csv", "1-log.csv"]


@pytest.mark.parametrize("trouble", [429, 500, 503, DROP, HANG])
def test_a_passing_trouble_is_survived(
    trouble: int | str, site: Site, tmp_path: Path, fast_retries: RetryPolicy
) -> None:
    site.pages = {"/a": PAGE}
    site.troubles = {"/a": [trouble, trouble]}
    (got,) = fetch([site.url("/a")], tmp_path, retries=fast_retries)
    assert got.read_bytes() == PAGE
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (429, "answered 429"),
        (500, "answered 500"),
        (DROP, "ended after 512,000 of 1,024,000 bytes"),
        (HANG, "timed out"),
    ],
)
def test_a_lasting_trouble_leaves_nothing(
    trouble: int | str, reason: str, site: Site, tmp_path: Path, fast_retries: RetryPolicy
) -> None:
    site.pages = {"/a": PAGE}
    site.troubles = {"/a": [trouble] * 3}
    with pytest.raises(ConnectionError, match=f"{reason}.*STUMPERY_DATA can name a folder"):
        fetch([site.url("/a")], tmp_path, retries=fast_retries)
    assert names_in(tmp_path) == []


def test_a_page_that_is_not_there_is_asked_for_once(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    with pytest.raises(ConnectionError, match="/a answered 404 Not Found"):
        fetch([site.url("/a")], tmp_path, retries=fast_retries)
    assert site.requests == ["/a"]
    assert names_in(tmp_path) == []


def test_without_a_network_the_sentence_says_what_to_do(tmp_path: Path, fast_retries: RetryPolicy) -> None:
    with pytest.raises(ConnectionError, match=r"http://127.0.0.1:1/a could not be fetched.*STUMPERY_DATA"):
        fetch(["http://127.0.0.1:1/a"], tmp_path, retries=fast_retries)


def test_a_file_that_is_too_large_is_refused(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    site.pages = {"/a": PAGE}
    with pytest.raises(ValueError, match="larger than the 1,000 bytes"):
        fetch([site.url("/a")], tmp_path, retries=replace(fast_retries, max_bytes=1000))
    assert names_in(tmp_path) == []


def test_only_the_web_is_asked(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    with pytest.raises(ValueError, match=r"^an address is 'file://.*; it must begin with http:// or https://$"):
        fetch([(tmp_path / "secret").as_uri()], tmp_path, retries=fast_retries)
    site.redirects = {"/a": "ftp://127.0.0.1/a"}
    with pytest.raises(ValueError, match=r"^an address is 'ftp://127.0.0.1/a'; it must begin with"):
        fetch([site.url("/a")], tmp_path, retries=fast_retries)


def test_a_redirect_within_the_web_is_followed(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    site.pages = {"/b": PAGE}
    site.redirects = {"/a": site.url("/b")}
    (got,) = fetch([site.url("/a")], tmp_path, retries=fast_retries)
    assert got.read_bytes() == PAGE


def test_an_interrupt_half_way_leaves_nothing(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    site.pages = {"/a": PAGE}
    with pytest.raises(KeyboardInterrupt):
        fetch([site.url("/a")], tmp_path, progress=interrupt, retries=fast_retries)
    assert names_in(tmp_path) == []


def test_many_may_fetch_the_same_file_at_once(site: Site, tmp_path: Path, fast_retries: RetryPolicy) -> None:
    site.pages = {"/a": PAGE}
    barrier = threading.Barrier(8)

    def one(_: int) -> bytes:
        barrier.wait()
        return fetch([site.url("/a")], tmp_path, retries=replace(fast_retries, timeout_s=10))[0].read_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [PAGE] * 8
    assert names_in(tmp_path) == ["0-a"]


def test_a_folder_that_cannot_be_written_is_not_called_a_network_error(site: Site, tmp_path: Path) -> None:
    site.pages = {"/a": PAGE}
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=os.strerror(17)):
        fetch([site.url("/a")], tmp_path / "file")
