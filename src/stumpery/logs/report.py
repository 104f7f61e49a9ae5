"""Report of a log: how many rows were read, and which lines have problems, by kind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stumpery.display import as_html, as_text
from stumpery.errors import InvalidInput
from stumpery.frames import make_frame

N_LINES_KEPT = 5  # line numbers of each kind


@dataclass(frozen=True)
class Problem:
    """A kind of problem of a line: what is wrong with it, and what lenient reading does."""

    name: str
    sentence: str  # after "events.dsjson, line 17: "
    remedy: str
    is_note: bool = False  # counted, and no error in strict reading either


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("unreadable line", "it is not a line of this format", "dropped"),
        Problem("cut last line", "the last line is cut", "dropped"),
        Problem("cut file", "the compressed file ends early or is damaged", "the rest is lost"),
        Problem("event of another kind", "it is not a decision with one action", "dropped"),
        Problem("duplicate event id", "its event id has come before", "dropped"),
        Problem("missing action", "it has no action", "action -1"),
        Problem("unknown action", "its action is not one of the log's", "action -1"),
        Problem("contradictory action", "its fields name different actions", "the labelled action"),
        Problem("missing probability", "it has no probability", "probability NaN"),
        Problem("probability of 0", "its probability is 0 or less", "probability NaN"),
        Problem("probability above 1", "its probability is above 1", "probability NaN"),
        Problem("contradictory probability", "its fields give different probabilities", "the labelled probability"),
        Problem("probabilities off 1", "the probabilities of its actions do not sum to 1", "all_probabilities NaN"),
        Problem("invalid reward", "its reward is no finite number", "reward NaN"),
        Problem("invalid time", "its time cannot be read", "time NaN"),
        Problem("invalid weight", "the number of events that it stands for is not above 0 and at most 1e9", "dropped"),
        Problem("value of another type", "a column has a value of another type than before", "value missing"),
        Problem("new column", "it has a column that the first rows had not", "column ignored"),
        Problem("action unknown to the policy", "the policy does not have its action", "not learned"),
        Problem("reward outside the range", "its reward is outside the policy's reward_range", "not learned"),
        Problem("no feedback", "it has no reward", "reward NaN", is_note=True),
        Problem("reward without decision", "it is a reward whose decision was not joined", "dropped", is_note=True),
        Problem("not to learn from", "it is marked as not to be learned from", "dropped", is_note=True),
    )
}


class LogReport:
    """Report of reading a log: the rows, and how many lines have problems, with the numbers of the first ones.

    Args:
        source: Name of the file or frame, for messages.
        on_error: "strict" raises an InvalidInput at the first line with a problem, "lenient" counts them.
        unit: What the numbers count: "line" of a file, or "row" of a table.

    >>> report = LogReport("events.dsjson", on_error="lenient")
    >>> report.add("probability of 0", 17)
    >>> report.counts
    {'probability of 0': 1}
    >>> LogReport("events.dsjson").add("cut last line", 17)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    stumpery.errors.InvalidInput: events.dsjson, line 17: the last line is cut; on_error="lenient" counts ...
    """

    def __init__(self, source: str, on_error: str = "strict", unit: str = "line") -> None:
        self.source = source
        self.unit = unit
        self.on_error = on_error
        self.rows = 0
        self.counts: dict[str, int] = {}
        self.lines: dict[str, list[int]] = {}
        self._places: dict[str, list[str]] = {}  # the same with the file, where there are several
        self._whole = source

    def add(self, name: str, line: int, detail: str = "") -> None:
        """Count a problem of a line; raise an InvalidInput if reading is strict and it is more than a note."""
        self.add_many(name, [line], detail)

    def add_many(self, name: str, lines: Iterable[int], detail: str = "") -> None:
        """Count several lines with one problem."""
        numbers = [int(line) for line in lines]
        if not numbers:
            return
        known = PROBLEMS[name]
        if self.on_error == "strict" and not known.is_note:
            raise InvalidInput(
                f"{self.source}, {self.unit} {numbers[0]}: {known.sentence}{f' ({detail})' if detail else ''}; "
                f'on_error="lenient" counts such {self.unit}s instead ({known.remedy})'
            )
        self.counts[name] = self.counts.get(name, 0) + len(numbers)
        kept = self.lines.setdefault(name, [])
        new = numbers[: N_LINES_KEPT - len(kept)]
        kept += new
        prefix = "" if self.source == self._whole else f"{self.source}:"
        self._places.setdefault(name, []).extend(f"{prefix}{number}" for number in new)

    def merge(self, other: "LogReport") -> None:
        """Add the report of a part of the log, in place; its lines are named with its source."""
        self.rows += other.rows
        prefix = "" if other.source == self._whole else f"{other.source}:"
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
            kept, places = self.lines.setdefault(name, []), self._places.setdefault(name, [])
            n_free = N_LINES_KEPT - len(kept)
            kept += other.lines[name][:n_free]
            places += [f"{prefix}{place}" for place in other._places[name][:n_free]]

    @property
    def table(self) -> list[Mapping[str, Any]]:
        """A row for each kind of problem that occurred: its count, what was done, the first lines."""
        return [
            {
                "problem": name,
                "lines": count,
                "read as": PROBLEMS[name].remedy,
                "first lines": ", ".join(self._places[name]) + (", ..." if count > N_LINES_KEPT else ""),
            }
            for name, count in self.counts.items()
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a frame of polars, pandas or pyarrow."""
        names = ("problem", "lines", "read as", "first lines")
        return make_frame({name: [row[name] for row in self.table] for name in names}, backend)

    def __str__(self) -> str:
        return "\n".join([self._heading(), *as_text(self.table)])

    def __repr__(self) -> str:
        return f"LogReport({self._heading()})"

    def _repr_html_(self) -> str:
        return as_html(self._heading(), self.table)

    def _heading(self) -> str:
        with_problems = sum(count for name, count in self.counts.items() if not PROBLEMS[name].is_note)
        return f"{self.source}: {self.rows:,} rows, {with_problems:,} problems"
