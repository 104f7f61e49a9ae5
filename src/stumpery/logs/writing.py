"""Writing logs: our own format as JSON lines or Parquet, and Vowpal Wabbit's dsjson and text."""

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from stumpery.columns import Columns
from stumpery.encoding.online_encoder import as_table
from stumpery.encoding.tables import open_table
from stumpery.errors import InvalidInput
from stumpery.frames import n_rows
from stumpery.logs.chunk import LogChunk
from stumpery.logs.formats.own_parquet import ParquetLogWriter
from stumpery.logs.formats.text_writers import CbWriter, DsjsonWriter, JsonLogWriter
from stumpery.logs.log import Log
from stumpery.options import check_known, shown
from stumpery.system.extras import need
from stumpery.system.writing import as_path, whole_file
from stumpery.types import Action, Decision, Decisions, Floats

SUFFIXES = {".parquet": "stumpery", ".jsonl": "stumpery", ".json": "stumpery", ".dsjson": "dsjson", ".cb": "cb"}
WRITTEN_FORMATS = ("stumpery", "dsjson", "cb")


class Written(NamedTuple):
    """What was written: how many rows, and how many the format has no place for.

    Args:
        rows: Rows written.
        left_out: Rows without an action, or for `cb` without a reward, of which these formats cannot tell.

    >>> Written(rows=2, left_out=0)
    Written(rows=2, left_out=0)
    """

    rows: int
    left_out: int


class LogWriter(Protocol):
    """Writes chunks in one format."""

    def write(self, chunk: LogChunk) -> int:
        """Write a chunk's rows; returns how many."""


def write(
    log: Log | Decisions | Iterable[Decision],
    path: str | PathLike[str],
    *,
    rewards: Sequence[float | None] | None = None,
    format: str = "auto",  # noqa: A002 - as `read` calls it
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write a log, or decisions and their rewards, to a file, whole or not at all.

    "stumpery" is our own format: Parquet where the name ends so, else JSON lines with a first line that names the
    actions and the range of rewards. "dsjson" and "cb" are Vowpal Wabbit's. A name that ends with .gz or .zst is
    compressed.

    Args:
        log: The log, or the decisions.
        path: The file.
        rewards: Reward of each decision, None or NaN where there was no feedback; not for a log, which has its own.
        format: "stumpery", "dsjson" or "cb"; "auto" goes by the name: .parquet and .jsonl, .dsjson, .cb.
        progress: Called with the number of rows of each chunk.

    >>> import tempfile, pathlib
    >>> import stumpery as st
    >>> policy = st.UCB(actions=["news", "film"], seed=7)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "decisions.jsonl.gz"
    >>> write(policy.decide_many(3), path, rewards=[1.0, None, 0.0])
    Written(rows=3, left_out=0)
    >>> st.logs.read(path).reward_range
    (0.0, 1.0)
    """
    file = as_path(path)
    kind = _kind(file, format)
    actions, reward_range, chunks = _opened(log, rewards)
    n_written = n_left_out = 0
    with whole_file(file) as part, _writer(kind, file, part, actions, reward_range) as writer:
        for chunk in chunks:
            n_rows_written = writer.write(chunk)
            n_written += n_rows_written
            n_left_out += len(chunk) - n_rows_written
            if progress is not None:
                progress(len(chunk))
    return Written(n_written, n_left_out)


def _kind(path: Path, wanted: str) -> str:
    if wanted != "auto":
        check_known("format to write", wanted, WRITTEN_FORMATS)
        return wanted
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".zst")]
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise InvalidInput(f"{path} does not end with {', '.join(SUFFIXES)}; format= must name the format")
    return kind


@contextmanager
def _writer(
    kind: str, path: Path, part: Path, actions: tuple[Action, ...], reward_range: tuple[float, float]
) -> Iterator[LogWriter]:
    if ".parquet" in path.suffixes:
        if kind != "stumpery":
            raise InvalidInput(f"{kind} is a text; {path.name} must not end with .parquet")
        with ParquetLogWriter(part, actions, reward_range) as parquet:
            yield parquet
        return
    with _stream(path, part) as stream:
        if kind == "stumpery":
            yield JsonLogWriter(stream, actions, reward_range)
        else:
            yield DsjsonWriter(stream, actions) if kind == "dsjson" else CbWriter(stream)


@contextmanager
def _stream(path: Path, part: Path) -> Iterator[BinaryIO]:
    """A file to write bytes to, compressed as the name of `path` says."""
    with part.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        elif path.suffix == ".zst":
            with need("zstandard", "logs").ZstdCompressor().stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


def _opened(log: Any, rewards: Any) -> tuple[tuple[Action, ...], tuple[float, float], Iterable[LogChunk]]:
    """Actions, the range of rewards, and chunks."""
    if isinstance(log, Log):
        if rewards is not None:
            raise InvalidInput("rewards are those of the log; give none")
        return log.actions, log.reward_range, log.chunks()
    decisions = log if isinstance(log, Decisions) else _as_decisions(log)
    actions: tuple[Action, ...] = tuple(sorted(set(decisions.actions), key=lambda name: (str(type(name)), name)))
    given = np.full(len(decisions), np.nan) if rewards is None else _numbers(rewards)
    if given.shape != (len(decisions),):
        raise InvalidInput(f"there are {len(decisions)} decisions and {given.size} rewards: one of each is needed")
    index = {action: place for place, action in enumerate(actions)}
    chunk = LogChunk(
        contexts=_columns(decisions),
        actions=np.array([index[action] for action in decisions.actions], dtype=np.int64),
        probabilities=np.asarray(decisions.probabilities, dtype=np.float64),
        rewards=given,
        times=np.full(len(decisions), np.nan),
        event_ids=None,
        lines=np.arange(len(decisions)),
    )
    known = given[~np.isnan(given)]
    return actions, (float(known.min(initial=0.0)), float(known.max(initial=1.0))), [chunk]


def _numbers(rewards: Any) -> Floats:
    """Rewards as floats, NaN where there is none."""
    try:
        given = np.array([np.nan if reward is None else reward for reward in rewards], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"rewards is {shown(rewards)}; it must be a list of numbers") from None
    if np.isinf(given).any():
        raise InvalidInput("rewards has an infinite one; they must be finite, or NaN where there is none")
    return given


def _as_decisions(decisions: Any) -> Decisions:
    try:
        rows = [Decision(*decision) for decision in decisions]
    except TypeError:
        raise InvalidInput(f"log is {shown(decisions)}; it must be a Log, Decisions, or a list of Decision") from None
    contexts = [row.context for row in rows]
    has_context = any(context is not None for context in contexts)
    probabilities = np.array([row.probability for row in rows], dtype=np.float64)
    return Decisions([row.action for row in rows], probabilities, contexts if has_context else None)


def _columns(decisions: Decisions) -> Columns:
    if decisions.contexts is None or isinstance(decisions.contexts, Columns):
        return Columns({}, len(decisions)) if decisions.contexts is None else decisions.contexts
    table = open_table(as_table(decisions.contexts))
    if n_rows(decisions.contexts, "contexts") != len(decisions):
        raise InvalidInput(f"there are {len(decisions)} decisions and {table.n_rows} contexts: one of each is needed")
    return Columns({str(name): table.column(place) for place, name in enumerate(table.names)}, len(decisions))
