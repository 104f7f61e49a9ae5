"""The interface of event logs, and the rows they hold."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol


class LogRow(NamedTuple):
    """A row of the log: its number, the log's time in milliseconds, the policy, the id of a decision, and the event."""

    number: int
    time: int
    policy: str
    event: str | None
    content: bytes


class EventLog(Protocol):
    """A durable list of rows in one total order, which several processes write by turns."""

    def turn(self) -> AbstractContextManager[None]:
        """Wait for the one turn to write, a transaction: no other process appends rows before it ends.

        What was appended is durable when it ends, all or none; after an error in it, none.
        """

    def take_time(self) -> None:
        """Say that this turn may take long, in which nothing is asked of the log; others wait for it."""

    def append(self, rows: Sequence[LogRow]) -> None:
        """Append rows, whose numbers follow the last one, in the turn that is open or in one of their own."""

    def last(self) -> tuple[int, int]:
        """The number and the time of the last row; zeros if there is none."""

    def rows(self, after: int = 0) -> Iterator[LogRow]:
        """All rows after a number, in order."""

    def next_rows(self, after: int, limit: int) -> list[LogRow]:
        """The first rows after a number, in order."""

    def rows_of(self, policy: str, event: str) -> list[LogRow]:
        """The rows of one decision, in order."""

    def rows_of_all(self, events: Sequence[str]) -> list[LogRow]:
        """The rows of several decisions by their ids, in order, of all policies."""

    def row(self, number: int) -> LogRow | None:
        """One row; None if there is none."""

    def first(self) -> int:
        """The number of the first row that was not deleted; 1 where the log is empty."""

    def trim(self, before: int, limit: int) -> int:
        """Delete rows before a number, at most `limit`; how many were."""

    def integrity(self) -> str:
        """What is found in the store: "ok", or a CorruptFile says what is damaged."""

    def rewrite(self, rows: Iterable[LogRow]) -> int:
        """Replace the contents of rows for good, and append the last one if it is new; how many there were."""

    def close(self) -> None:
        """Release the log."""


def number_before(log: EventLog, time: int) -> int:
    """The number of the last row before a time; 0 if there is none: rows are in the order of time."""
    first, last = log.first(), log.last()[0]
    low, high = first - 1, last
    while low < high:
        middle = (low + high + 1) // 2
        row = log.row(middle)
        low, high = (middle, high) if row is not None and row.time < time else (low, middle - 1)
    return low if low >= first else 0
