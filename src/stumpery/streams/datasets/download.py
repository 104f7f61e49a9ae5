"""Download of files, atomically: a file under its final name is complete."""

import http.client
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.system.writing import whole_file

Progress = Callable[[int, int | None], None]  # bytes done and total bytes (None: unknown) of the current file

CHUNK_BYTES = 1 << 18
TOO_MANY_REQUESTS = 429
NETWORK_ERRORS = (URLError, http.client.HTTPException, ConnectionError, TimeoutError)


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Timeout, retries with exponential backoff, and the largest file accepted."""

    timeout_s: float = 30.0
    attempts: int = 3
    pause_s: float = 1.0
    max_bytes: int = 1 << 30


DEFAULT_RETRIES = RetryPolicy()


def fetch(
    urls: Sequence[str], into: Path, *, progress: Progress | None = None, retries: RetryPolicy = DEFAULT_RETRIES
) -> list[Path]:
    """Download each URL to its own file in the folder `into`, and return the files in the same order.

    Failures of the network, answers of 500 and above and 429 are tried again; any other refusal is final.
    """
    for url in urls:
        _check_scheme(url)
    into.mkdir(parents=True, exist_ok=True)
    targets = [into / f"{n}-{PurePosixPath(urlsplit(url).path).name}" for n, url in enumerate(urls)]
    for url, target in zip(urls, targets, strict=True):
        _fetch_one(url, target, progress, retries)
    return targets


def _fetch_one(url: str, target: Path, progress: Progress | None, retries: RetryPolicy) -> None:
    reason = ""
    for attempt in range(retries.attempts):
        if attempt > 0:
            time.sleep(retries.pause_s * 2 ** (attempt - 1))
        try:
            with whole_file(target) as part:
                _download(url, part, progress, retries)
            return
        except HTTPError as error:
            error.close()
            if error.code < 500 and error.code != TOO_MANY_REQUESTS:
                raise ConnectionError(f"{url} answered {error.code} {error.reason}; {_INSTEAD}") from None
            reason = f"it answered {error.code} {error.reason}"
        except NETWORK_ERRORS as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    raise ConnectionError(f"{url} could not be fetched ({reason}); {_INSTEAD}")


_INSTEAD = "STUMPERY_DATA can name a folder of Parquet files to use instead"


def _download(url: str, part: Path, progress: Progress | None, retries: RetryPolicy) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "stumpery"})  # noqa: S310 - scheme checked
    opener = urllib.request.build_opener(_WebOnly)
    with opener.open(request, timeout=retries.timeout_s) as response, part.open("wb") as file:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        done = 0
        while chunk := response.read(CHUNK_BYTES):
            done += len(chunk)
            if done > retries.max_bytes:
                raise InvalidInput(f"{url} is larger than the {retries.max_bytes:,} bytes that are accepted")
            file.write(chunk)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise ConnectionError(f"it ended after {done:,} of {total:,} bytes")


class _WebOnly(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to http or https."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _check_scheme(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_scheme(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidInput(f"an address is {shown(url)}; it must begin with http:// or https://")
