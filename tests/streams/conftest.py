"""A folder of real data where there is one, a machine with an empty cache, and a web site."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.streams.web_site import Site

from stumpery.streams.datasets.download import RetryPolicy


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield site
    site.released.set()
    site.server.shutdown()
    site.server.server_close()
    thread.join()


@pytest.fixture
def fast_retries() -> RetryPolicy:
    return RetryPolicy(timeout_s=0.3, attempts=3, pause_s=0.01, max_bytes=1 << 26)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and no folder of data."""
    monkeypatch.delenv("STUMPERY_DATA", raising=False)
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def data_folder() -> Path:
    """The folder of Parquet files that STUMPERY_DATA names."""
    named = os.environ.get("STUMPERY_DATA")
    if not named:
        pytest.skip("STUMPERY_DATA names no folder of Parquet files")
    return Path(named)
