"""A log of decisions, read in chunks again and again and never held as a whole."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from stumpery.display import as_html
from stumpery.errors import InvalidInput
from stumpery.logs.checking import RecentIds, RowChecker
from stumpery.logs.chunk import UNKNOWN, LogChunk
from stumpery.logs.report import LogReport
from stumpery.logs.rows import LogFacts, LogSource, QuickSource, RawRows, SeveralSources
from stumpery.options import check_known, check_one_of, check_whole, is_number, listed, shown
from stumpery.policies.arguments import checked_actions
from stumpery.types import Action

CHUNK_ROWS = 2048


class Log:
    """Log of decisions (logged bandit feedback): contexts, actions, probabilities, rewards, read in chunks.

    `stumpery.logs.read` and `stumpery.logs.from_frame` make logs. A log can be read again and again; each pass reads
    the file anew, so memory is bounded by the size of a chunk. `actions` and `reward_range` need a pass of their own
    unless they are given or the file declares them.

    Args:
        source: The file or frame.
        on_error: "strict" raises an InvalidInput with the number of the first line with a problem; "lenient" reads on
            and counts it in `report`.
        actions: The actions; others become unknown. By default all of the log, sorted.
        columns: The columns of contexts; by default all.
        no_feedback: "skip" leaves the reward of rows without feedback NaN, and nothing learns from them; a number is
            their reward.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21], "action": ["news", "film"], "reward": [1.0, 0.0], "probability": [0.5, 0.5]}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward", probability="probability")
    >>> log
    Log('frame', 2 rows, 1 column)
    >>> log.actions, log.reward_range
    (('film', 'news'), (0.0, 1.0))
    """

    def __init__(
        self,
        source: LogSource,
        *,
        on_error: str = "strict",
        actions: Sequence[Action] | None = None,
        columns: Sequence[str] | None = None,
        no_feedback: str | float = "skip",
    ) -> None:
        check_one_of("on_error", on_error, ("strict", "lenient"))
        if no_feedback != "skip" and not is_number(no_feedback):
            raise InvalidInput(f"no_feedback is {shown(no_feedback)}; it must be 'skip' or a number")
        self._source = source
        self._on_error = on_error
        self._given = None if actions is None else checked_actions(actions)
        for column in columns or ():
            check_known("column", column, source.columns)
        self._columns = source.columns if columns is None else tuple(columns)
        self._no_feedback = None if no_feedback == "skip" else float(no_feedback)
        self._scanned: LogFacts | None = None
        self._report = LogReport(source.name, on_error, source.unit)
        self._share = 0.0

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions, in the order of their indices; none if the log is empty."""
        declared = self._given or self._source.actions
        return self._sorted_actions() if declared is None else declared

    @property
    def reward_range(self) -> tuple[float, float]:
        """A range that holds all rewards, as policies take it: 0 to 1, or wider where the log's rewards are."""
        found = self._source.reward_range or self._facts().rewards
        low, high = (0.0, 1.0) if found is None else found
        if self._no_feedback is not None:
            low, high = min(low, self._no_feedback), max(high, self._no_feedback)
        return min(low, 0.0), max(high, 1.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts: those of the first rows."""
        return self._columns

    @property
    def name(self) -> str:
        """The name of the file, or of the first of several."""
        return self._source.name

    @property
    def unit(self) -> str:
        """What line numbers count: "line" of a text, or "row" of a table."""
        return self._source.unit

    @property
    def format(self) -> str:
        """The format, such as "dsjson"."""
        return self._source.format

    @property
    def on_error(self) -> str:
        """Whether lines with problems raise ("strict") or are counted ("lenient")."""
        return self._on_error

    @property
    def report(self) -> LogReport:
        """The report of the last pass of `chunks`, as far as it went."""
        return self._report

    @property
    def n_rows(self) -> int | None:
        """The number of rows, those with problems included; None as long as it is not known."""
        known = self._source.n_rows
        return self._scanned.n_rows if known is None and self._scanned is not None else known

    @property
    def share_read(self) -> float:
        """How much of the source the last pass has read, from 0 to 1; for progress bars."""
        return self._share

    def chunks(self, size: int = CHUNK_ROWS) -> Iterator[LogChunk]:
        """Read the log from its beginning, about `size` rows at a time."""
        check_whole("size", size, 1)
        return self._chunks(size)

    def scan(self, progress: Callable[[int], None] | None = None) -> "Log":
        """Read the whole log for its actions and range of rewards, unless both are known; returns the log.

        Args:
            progress: Called with the number of rows of each chunk.
        """
        if self._given is None and self._source.actions is None:
            self._facts(progress)
        return self

    def survey(self, index: dict[Action, int], recent: RecentIds | None = None) -> Iterator[LogChunk]:
        """Read the log without knowing its actions: they are added to `index`, in place, as they come.

        Args:
            index: From actions to indices.
            recent: The event ids of the parts before this one.
        """
        return self._chunks(CHUNK_ROWS, index, recent)

    def parts(self) -> list["Log"]:
        """The log's files as logs of the same actions and columns."""
        sources = self._source.parts if isinstance(self._source, SeveralSources) else (self._source,)
        logs = []
        for source in sources:
            part = copy(self)
            part._source, part._scanned = source, None
            part._given = self._given or (self._sorted_actions() if self._scanned is not None else None)
            logs.append(part)
        return logs

    def took(self, n_rows: int, report: LogReport) -> None:
        """Note how many rows of a pass over its parts were read, and what was found."""
        self._share = min(n_rows / self.n_rows, 1.0) if self.n_rows else 0.0
        self._report = report

    def _chunks(
        self, size: int, index: dict[Action, int] | None = None, recent: RecentIds | None = None
    ) -> Iterator[LogChunk]:
        report = self._report = LogReport(self._source.name, self._on_error, self._source.unit)
        grows = index is not None and self._given is None and self._source.actions is None
        index = {} if index is None else index
        if not grows:
            index.update((action, place) for place, action in enumerate(self.actions))
        checker = RowChecker(
            index,
            self._columns,
            report,
            self._no_feedback,
            has_probabilities=self._source.has_probabilities,
            grows=grows,
            recent=recent,
        )
        for rows in self._rows(size, report):
            chunk = checker.chunk(rows)
            if len(chunk):
                yield chunk

    def _rows(self, size: int, report: LogReport) -> Iterator[RawRows]:
        """The source's rows."""

        def advance(share: float) -> None:
            self._share = share

        advance(0.0)
        yield from self._source.rows(size, report, advance)
        advance(1.0)

    def _sorted_actions(self) -> tuple[Action, ...]:
        return tuple(sorted(self._facts().actions, key=action_order))

    def _facts(self, progress: Callable[[int], None] | None = None) -> LogFacts:
        """What a pass over the whole log finds out; lines with problems are left to later passes."""
        if self._scanned is None:

            def advance(n_rows: int, share: float) -> None:
                self._share = share
                if progress is not None:
                    progress(n_rows)

            quick = self._source.facts(advance) if isinstance(self._source, QuickSource) else None
            self._scanned = self._facts_of_rows(advance) if quick is None else quick
        return self._scanned

    def _facts_of_rows(self, advance: Callable[[int, float], None]) -> LogFacts:
        actions: set[Action] = set()
        low, high, n_rows = np.inf, -np.inf, 0
        for rows in self._rows(CHUNK_ROWS, LogReport(self._source.name, "lenient")):
            n_rows += len(rows.lines)
            actions.update(name for name in rows.actions if name is not None)
            if rows.candidates is not None:
                actions.update(*set(rows.candidates.names))
            rewards = rows.rewards[np.isfinite(rows.rewards)]
            low, high = min(low, rewards.min(initial=np.inf)), max(high, rewards.max(initial=-np.inf))
            advance(len(rows.lines), self._share)
        return LogFacts(actions, None if low > high else (float(low), float(high)), n_rows)

    def __iter__(self) -> Iterator[LogChunk]:
        return self.chunks()

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f", {_counted(self.n_rows, 'row')}"
        actions = self._given or self._source.actions or (self._sorted_actions() if self._scanned else ())
        offered = f", {_counted(len(actions), 'action')}" if actions else ""
        return f"Log({self._source.name!r}{rows}{offered}, {_counted(len(self.columns), 'column')})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), [{"column": name} for name in self.columns])

    def index_for(self, actions: Sequence[Action]) -> list[int]:
        """The place of each of the log's actions among other `actions`, such as a policy's; -1 where it is absent."""
        places = {action: place for place, action in enumerate(actions)}
        missing = [action for action in self.actions if action not in places]
        if missing and self._on_error == "strict":
            raise InvalidInput(
                f"the log has actions that are not among {listed(list(actions))}: {listed(missing)}; "
                'on_error="lenient" skips their rows'
            )
        return [places.get(action, UNKNOWN) for action in self.actions]


def action_order(action: Action) -> tuple[str, Any]:
    """The order of actions: numbers by size, before strings by text."""
    return ("", action) if isinstance(action, int | float) else ("text", action)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
