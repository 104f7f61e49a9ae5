"""The event log in a PostgreSQL table: rows are committed with `synchronous_commit=on`, by one process at a time.

Numbers are given by the process whose turn it is, not by a sequence of the database, and a turn is a transaction that
holds an advisory lock: so the order of numbers is the order of commits, and a reader that follows them misses none.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from stumpery.errors import CorruptFile
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.postgresql_connection import PostgresqlConnection

CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS stumpery_log (
    number bigint PRIMARY KEY, time bigint NOT NULL, policy text NOT NULL, event text, content bytea NOT NULL);
CREATE INDEX IF NOT EXISTS stumpery_events ON stumpery_log (event) WHERE event IS NOT NULL;
"""
LOG_EXISTS = "SELECT to_regclass('stumpery_log') IS NOT NULL"
INSERT_ENTRIES = (
    "INSERT INTO stumpery_log SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[])"
)
LOG_COLUMNS = "number, time, policy, event, content"
PAGE_ROWS = 1_000
MAINTENANCE_S = 86_400.0
LONG_TURN = "10min"


class PostgresqlLog:
    """An event log in a PostgreSQL database.

    Args:
        address: `postgresql://user@host/database`.
        is_reader: Whether the log is only read, while other processes may write it.
        is_alone: Whether no other process may have the log open to write it, as maintenance needs.
    """

    def __init__(self, address: str, *, is_reader: bool = False, is_alone: bool = False) -> None:
        self._database = PostgresqlConnection(
            address, is_reader=is_reader, is_alone=is_alone, exists=LOG_EXISTS, create=CREATE_TABLE
        )
        try:
            self.last()
        except BaseException:
            self.close()
            raise

    def turn(self) -> AbstractContextManager[None]:
        """One transaction to write, after those of other processes; a ServiceUnavailable says why there was none."""
        return self._database.turn()

    def take_time(self) -> None:
        """Let the database wait longer for this turn before it ends it."""
        self.query(f"SET LOCAL idle_in_transaction_session_timeout = '{LONG_TURN}'")

    def append(self, rows: Sequence[LogRow]) -> None:
        """Append rows in one transaction; a ServiceUnavailable says why that was not possible."""
        if not self._database.is_in_turn:
            with self.turn():
                self.append(rows)
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        self._database.run(lambda connection: connection.execute(INSERT_ENTRIES, *columns))

    def last(self) -> tuple[int, int]:
        """The number and the time of the last row; zeros if there is none."""
        found = self.query("SELECT number, time FROM stumpery_log ORDER BY number DESC LIMIT 1")
        return (found[0]["number"], found[0]["time"]) if found else (0, 0)

    def first(self) -> int:
        """The number of the first row that was not deleted; 1 where the log is empty."""
        number = self.query("SELECT min(number) AS number FROM stumpery_log")[0]["number"]
        return 1 if number is None else int(number)

    def rows(self, after: int = 0) -> Iterator[LogRow]:
        """All rows after a number, in order."""
        while True:
            chunk = self.next_rows(after, PAGE_ROWS)
            yield from chunk
            if len(chunk) < PAGE_ROWS:
                return
            after = chunk[-1].number

    def next_rows(self, after: int, limit: int) -> list[LogRow]:
        """The first rows after a number, in order."""
        query = f"SELECT {LOG_COLUMNS} FROM stumpery_log WHERE number > $1 ORDER BY number LIMIT $2"  # noqa: S608
        return [LogRow(*row) for row in self.query(query, after, limit)]

    def rows_of(self, policy: str, event: str) -> list[LogRow]:
        """The rows of one decision, in order."""
        query = f"SELECT {LOG_COLUMNS} FROM stumpery_log WHERE event = $1 AND policy = $2 ORDER BY number"  # noqa: S608
        return [LogRow(*row) for row in self.query(query, event, policy)]

    def rows_of_all(self, events: Sequence[str]) -> list[LogRow]:
        """The rows of several decisions by their ids, in order, of all policies."""
        query = f"SELECT {LOG_COLUMNS} FROM stumpery_log WHERE event = ANY($1) ORDER BY number"  # noqa: S608
        return [LogRow(*row) for row in self.query(query, list(events))]

    def row(self, number: int) -> LogRow | None:
        """One row; None if there is none."""
        found = self.query(f"SELECT {LOG_COLUMNS} FROM stumpery_log WHERE number = $1", number)  # noqa: S608
        return LogRow(*found[0]) if found else None

    def trim(self, before: int, limit: int) -> int:
        """Delete rows before a number, at most `limit`; how many were."""
        first = self.first()
        end = min(before, first + limit)
        self.query("DELETE FROM stumpery_log WHERE number < $1", end)
        return max(0, end - first)

    def integrity(self) -> str:
        """Whether the table has all rows from its first to its last: "ok", or a CorruptFile says that it has not."""
        first, (last, _) = self.first(), self.last()
        count = "SELECT count(*) FROM stumpery_log"
        n = self._database.run(lambda connection: connection.fetchval(count, timeout=MAINTENANCE_S))
        if last and n != last - first + 1:
            raise CorruptFile(f"the log in PostgreSQL has {n} rows from {first} to {last}: some are missing")
        return "ok"

    def rewrite(self, rows: Iterable[LogRow]) -> int:
        """Replace rows for good, and append new ones; the table is written anew, without what was in it."""
        n = 0
        with self.turn():
            rest = iter(rows)
            while chunk := list(islice(rest, PAGE_ROWS)):
                self.query("DELETE FROM stumpery_log WHERE number = ANY($1)", [row.number for row in chunk])
                self.append(chunk)
                n += len(chunk)
        if n:
            self._database.run(lambda connection: connection.execute("VACUUM FULL stumpery_log", timeout=MAINTENANCE_S))
        return n

    def query(self, query: str, *values: Any) -> list[Any]:
        """The rows that a statement finds."""
        return self._database.query(query, *values)

    def close(self) -> None:
        """Close the connection, which releases its locks."""
        self._database.close()
