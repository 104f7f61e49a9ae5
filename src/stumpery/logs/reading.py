"""Reading logs from files: the format is recognised, or named."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from stumpery.errors import InvalidInput
from stumpery.logs.formats.dsjson import DsjsonSource
from stumpery.logs.formats.lines import checked_encoding, checked_file, first_bytes
from stumpery.logs.formats.naming import Naming, checked_columns, checked_probabilities
from stumpery.logs.formats.own_json import FORMAT_NAME, OwnJsonSource
from stumpery.logs.formats.own_parquet import KEY, OwnParquetSource
from stumpery.logs.formats.table_files import (
    OPEN_BANDIT_NAMES,
    ParquetTable,
    TableSource,
    open_bandit_naming,
    open_table_file,
)
from stumpery.logs.formats.vw_text import TextSource
from stumpery.logs.log import Log
from stumpery.logs.report import LogReport
from stumpery.logs.rows import LogSource, RawRows
from stumpery.options import check_bool, check_known, check_one_of, shown
from stumpery.system.writing import as_path
from stumpery.types import Action

FORMATS = ("dsjson", "cb", "cb_adf", "open_bandit", "stumpery", "table")
REWARDS = ("cost", "observations")

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class _Options(NamedTuple):
    """How to read a file."""

    encoding: str | None
    action: str | None
    reward: str | None
    with_features: bool
    naming: Naming | None


def read(  # noqa: PLR0913 - a name for each column
    paths: Paths,
    *,
    format: str = "auto",  # noqa: A002 - as everybody calls it
    on_error: str = "strict",
    actions: Sequence[Action] | None = None,
    no_feedback: str | float = "skip",
    action: str | None = None,
    reward: str | None = None,
    probability: str | None = None,
    time: str | None = None,
    event_id: str | None = None,
    probabilities: Mapping[Action, str] | None = None,
    columns: Sequence[str] | None = None,
    action_features: bool = False,
    encoding: str | None = None,
) -> Log:
    r"""Read a log of decisions from files, in chunks: dsjson, Vowpal Wabbit's text, Open Bandit, our own, any table.

    Files may be compressed (gzip, zstd). The formats are "dsjson"; "cb" and "cb_adf", Vowpal Wabbit's text;
    "open_bandit", the columns of the Open Bandit Dataset, and "table", any other columns that `action` and `reward`
    name, both CSV or Parquet; "stumpery", what `write` makes.

    Args:
        paths: A file, or several of one format, read in order, or a folder of Parquet files.
        format: One of the formats; "auto" looks at the first bytes.
        on_error: "strict" raises an InvalidInput with the number of the first line with a problem; "lenient" counts it
            in `Log.report`.
        actions: The actions; by default those of the log, sorted, which takes a pass over it.
        no_feedback: The reward of rows without one; "skip" leaves them out of learning.
        action: The column of actions of a table; in dsjson and cb_adf the feature that names the actions, such as
            "action.id", which are numbered from 1 otherwise.
        reward: The column of rewards of a table; for dsjson "cost" (the default) is minus the cost of the label,
            "observations" the sum of the numbers in `o`, so that events without any have no feedback.
        probability: The column of the actions' probabilities of a table.
        time: The column of times of a table.
        event_id: The column of identifiers of a table.
        probabilities: The columns of every action's probability of a table, by action.
        columns: The columns of contexts; by default all.
        action_features: Whether chunks have the features of the candidates.
        encoding: The encoding of a text; by default what a byte order mark says, else UTF-8.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "events.cb"
    >>> _ = path.write_text("1:0:0.5 |user age:31 device=phone\n2:-1:0.5 |user age:44 device=desk\n")
    >>> log = read(path)
    >>> log.actions, log.columns
    ((1, 2), ('user.age', 'user.device'))
    >>> [chunk.rewards.tolist() for chunk in log.chunks()]
    [[0.0, 1.0]]
    """
    if format != "auto":
        check_known("format", format, FORMATS)
    check_bool("action_features", action_features)
    files = [checked_file(path) for given in _listed(paths) for path in _in_folder(given)]
    naming, columns = None, checked_columns(columns)
    if action is not None and reward not in (None, *REWARDS):
        naming = Naming(
            action=action,
            reward=reward or "",
            probability=probability,
            time=time,
            event_id=event_id,
            probabilities=checked_probabilities(probabilities),
            columns=columns,
        )
    options = _Options(checked_encoding(encoding), action, reward, action_features, naming)
    sources = [_source(file, format, options) for file in files]
    source: LogSource = sources[0] if len(sources) == 1 else _Chained(sources)
    return Log(source, on_error=on_error, actions=actions, columns=columns, no_feedback=no_feedback)


def _listed(paths: Any) -> list[Any]:
    found = [paths] if isinstance(paths, str | PathLike) else list(paths) if isinstance(paths, Sequence) else []
    if not found:
        raise InvalidInput(f"paths is {shown(paths)}; it must be a path or a list of paths")
    return found


def _in_folder(path: Any) -> list[Any]:
    """The Parquet files of a folder by name; another path alone."""
    folder = as_path(path)
    return list(sorted(folder.glob("*.parquet")) if folder.is_dir() else []) or [path]


def _source(path: Path, wanted: str, options: _Options) -> LogSource:
    kind = recognised(path, options) if wanted == "auto" else wanted
    return _OPENERS[kind](path, options)


def _open_dsjson(path: Path, options: _Options) -> LogSource:
    reward = options.reward or "cost"
    check_one_of("reward", reward, REWARDS)
    return DsjsonSource(path, options.encoding, options.action, reward, with_features=options.with_features)


def _open_text(kind: str) -> "Callable[[Path, _Options], LogSource]":
    def opener(path: Path, options: _Options) -> LogSource:
        return TextSource(path, options.encoding, kind, options.action, with_features=options.with_features)

    return opener


def _open_own(path: Path, options: _Options) -> LogSource:
    if first_bytes(path).startswith(b"PAR1"):
        return OwnParquetSource(ParquetTable(path))
    return OwnJsonSource(path, options.encoding, with_features=options.with_features)


def _open_table(path: Path, options: _Options) -> LogSource:
    if options.naming is None:
        raise InvalidInput(f"{path.name} is a table; action= and reward= must name its columns")
    return TableSource(open_table_file(path, options.encoding), options.naming)


def _open_open_bandit(path: Path, options: _Options) -> LogSource:
    table = open_table_file(path, options.encoding)
    return TableSource(table, open_bandit_naming(table.names), "open_bandit")


_OPENERS: dict[str, Callable[[Path, _Options], LogSource]] = {
    "dsjson": _open_dsjson,
    "cb": _open_text("cb"),
    "cb_adf": _open_text("cb_adf"),
    "stumpery": _open_own,
    "table": _open_table,
    "open_bandit": _open_open_bandit,
}


def recognised(path: Path, options: _Options) -> str:
    """The format of a file by its first bytes; an InvalidInput if it is none that is known."""
    start = first_bytes(path)
    if start.startswith(b"PAR1"):
        table = ParquetTable(path)
        return "stumpery" if KEY in table.metadata else _table_kind(table.names, options)
    line = start.lstrip().split(b"\n", 1)[0].decode(errors="replace").strip()
    if line.startswith("{"):
        is_dsjson = any(f'"{key}"' in line for key in ("_label_cost", "_label_Action", "_labelIndex", "EventId", "c"))
        return "stumpery" if FORMAT_NAME in line or not is_dsjson else "dsjson"
    if line.startswith("shared"):
        return "cb_adf"
    if "|" in line:
        first, blank, _ = start.replace(b"\r", b"").strip().partition(b"\n\n")
        n_labels = sum(b":" in row.split(b"|")[0] for row in first.split(b"\n"))
        return "cb_adf" if blank and n_labels < first.count(b"\n") + 1 else "cb"
    if re.search(r"[,]", line):
        return _table_kind([name.strip('"') for name in line.split(",")], options)
    if not start.strip() and path.suffix == ".parquet":
        raise InvalidInput(f"{path} is empty; a Parquet file without rows has at least its columns")
    if not start.strip():
        return {".cb": "cb", ".adf": "cb_adf", ".jsonl": "stumpery"}.get(path.suffix, "dsjson")
    raise InvalidInput(f"the format of {path.name} is not recognised; format= must name one of {', '.join(FORMATS)}")


def _table_kind(names: Sequence[str], options: _Options) -> str:
    return "open_bandit" if options.naming is None and set(names) >= OPEN_BANDIT_NAMES else "table"


class _Chained:
    """Several files, one after the other.

    Args:
        sources: the files.
    """

    def __init__(self, sources: Sequence[LogSource]) -> None:
        self.parts = sources
        first = sources[0]
        self.name = f"{first.name} and {len(sources) - 1} more"
        self.format, self.unit = first.format, first.unit
        self.has_probabilities = any(source.has_probabilities for source in sources)
        counts = [source.n_rows for source in sources]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        ranges = [source.reward_range for source in sources if source.reward_range is not None]
        is_declared = len(ranges) == len(sources)
        self.reward_range = (min(r[0] for r in ranges), max(r[1] for r in ranges)) if is_declared else None
        declared = [source.actions for source in sources]
        self.actions = declared[0] if declared.count(declared[0]) == len(declared) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts of all files."""
        return tuple(dict.fromkeys(name for source in self.parts for name in source.columns))

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """The rows of each file; problems name the file."""
        whole = report.source
        for place, source in enumerate(self.parts):
            report.source = source.name
            yield from source.rows(
                size,
                report,
                lambda share, place=place: advance((place + share) / len(self.parts)),  # type: ignore[misc]
            )
        report.source = whole
