"""Summary of a log: rows, actions, rewards, probabilities, times, columns, lines with problems."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stumpery.display import as_html, as_text
from stumpery.errors import InvalidInput
from stumpery.jobs.executor import Advance, Executor, check_executor, in_order
from stumpery.logs.checking import RecentIds
from stumpery.logs.log import Log
from stumpery.logs.report import LogReport
from stumpery.logs.tallies import LogTally, Row
from stumpery.options import shown
from stumpery.system.extras import need
from stumpery.types import Floats


@dataclass(frozen=True, eq=False, repr=False)
class LogSummary:
    """Summary of a log as tables: actions with shares and mean rewards, rewards, probabilities, columns, problems.

    Args:
        log: What was read.
        rows: Number of rows.
        actions: A row per action: rows, share, mean reward, mean probability.
        figures: A row each for rewards, probabilities and weights: missing, least, mean, greatest.
        times: The first and the last time, those that go back, and the longest gap; empty if there are no times.
        columns: A row per column of the contexts: missing values, distinct values or range.
        report: The problems of lines.
        curve: Mean reward along the log: "rows" so far at the end of each block, "mean reward", "half width" of its
            95 % normal interval; at most 60 blocks.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, None], "p": [0.5, 0.25]}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward", probability="p")
    >>> summary = st.logs.inspect(log)
    >>> summary.rows, summary.actions[1]["mean reward"]
    (2, 1.0)
    """

    log: Log
    rows: int
    actions: Sequence[Row]
    figures: Sequence[Row]
    times: Sequence[Row]
    columns: Sequence[Row]
    report: LogReport
    curve: Mapping[str, Floats]

    def plot(self, ax: Any = None) -> Any:
        """Plot the mean reward along the log, in blocks of rows, with 95 % normal intervals."""
        pyplot = need("matplotlib.pyplot", "study")
        ax = pyplot.subplots()[1] if ax is None else ax
        ends, mean, half = self.curve["rows"], self.curve["mean reward"], self.curve["half width"]
        ax.fill_between(ends, mean - half, mean + half, alpha=0.25, linewidth=0)
        ax.plot(ends, mean)
        ax.set(xlabel="rows", ylabel="mean reward of a block", title=self.report.source)
        return ax

    @property
    def tables(self) -> dict[str, Sequence[Row]]:
        """The tables by title."""
        return {
            "Actions": self.actions,
            "Rewards and probabilities": self.figures,
            "Times": self.times,
            "Columns": self.columns,
            "Lines with problems": self.report.table,
        }

    def __str__(self) -> str:
        parts = [[self._heading()]]
        parts += [[title, *as_text(_without_none(table))] for title, table in self.tables.items() if table]
        return "\n\n".join("\n".join(part) for part in parts)

    def __repr__(self) -> str:
        return f"LogSummary({self._heading()})"

    def _repr_html_(self) -> str:
        return "".join(as_html(title, _without_none(table)) for title, table in self.tables.items() if table)

    def _heading(self) -> str:
        return f"{self.report.source} ({self.log.format}): {self.rows:,} rows, {len(self.actions)} actions"


def inspect(log: Log, *, executor: Executor | None = None, progress: Callable[[int], None] | None = None) -> LogSummary:
    """Summarise a log in one pass: actions, rewards, probabilities, times, columns, lines with problems.

    Each file is summarised for itself, and the summaries are merged in order. Sums are exact, so the figures are those
    of the same rows in one file, bit for bit, and with any executor; but a block of the curve ends with its file, and
    with an executor event ids are compared within each file only.

    Args:
        log: The log; one that is read strictly raises at its first line with a problem.
        executor: Where files are read, such as `stumpery.jobs.Processes(4)`; by default here, one after the other.
        progress: Called with the number of rows of each chunk.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, 0.0]}
    >>> inspect(st.logs.from_frame(frame, action="action", reward="reward"))
    LogSummary(frame (frame): 2 rows, 2 actions)
    """
    if not isinstance(log, Log):
        raise InvalidInput(f"log is {shown(log)}; it must come from stumpery.logs.read or stumpery.logs.from_frame")
    tally, report = LogTally(), LogReport(log.name, log.on_error, log.unit)
    n_read = 0

    def advance(n_rows: int) -> None:
        nonlocal n_read
        n_read += n_rows
        log.took(n_read, report)
        if progress is not None:
            progress(n_rows)

    if executor is None:
        recent = RecentIds()
        parts: Iterable[tuple[LogTally, LogReport]] = (tally_part(part, advance, recent) for part in log.parts())
    else:
        check_executor(executor)
        parts = in_order(executor.map(tally_part, log.parts(), progress=advance))
    for part_tally, part_report in parts:
        tally.merge(part_tally)
        report.merge(part_report)
    log.took(n_read, report)
    figures = tally.actions(), tally.figures(), tally.times(), tally.columns()
    return LogSummary(log, tally.rows, *figures, report, tally.curve.columns())


def tally_part(part: Log, advance: Advance, recent: RecentIds | None = None) -> tuple[LogTally, LogReport]:
    """The tally of a part of a log, and its report; `recent` are the event ids of the parts before it."""
    tally = LogTally()
    for chunk in part.survey(tally.names, recent):
        tally.add(chunk)
        advance(len(chunk))
    return tally, part.report


def _without_none(table: Sequence[Row]) -> list[Row]:
    """A table with empty texts for what is not known."""
    return [{name: "" if value is None else value for name, value in row.items()} for row in table]
