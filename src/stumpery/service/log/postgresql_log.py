"""The event log in a PostgreSQL table: rows are committed with `synchronous_commit=on` by one appender.

Numbers are given by the appender, not by a sequence of the database, and an advisory lock keeps a second appender away:
so the order of numbers is the order of commits, and a reader that follows them misses none.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.event_log import LogRow
from stumpery.system.extras import need

CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS stumpery_log (
    number bigint PRIMARY KEY, time bigint NOT NULL, policy text NOT NULL, event text, content bytea NOT NULL);
CREATE INDEX IF NOT EXISTS stumpery_events ON stumpery_log (event) WHERE event IS NOT NULL;
"""
INSERT = (
    "INSERT INTO stumpery_log SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[])"
)
COLUMNS = "number, time, policy, event, content"
ADVISORY_LOCK = 0x7374756D70657279  # "stumpery"
PAGE_ROWS = 1_000
TIMEOUT_S, LOCK_WAIT_S, LOCK_POLL_S = 10.0, 5.0, 0.05


class PostgresqlLog:
    """An event log in a PostgreSQL database.

    Args:
        address: `postgresql://user@host/database`.
        is_reader: Whether the log is only read, while another process may write it.
    """

    def __init__(self, address: str, *, is_reader: bool = False) -> None:
        self._asyncpg = need("asyncpg", "postgresql")
        self._address, self._is_reader = address, is_reader
        self._connection: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stumpery-postgresql", daemon=True)
        self._thread.start()
        try:
            self.last()
        except BaseException:
            self._stop()
            raise

    def append(self, rows: Sequence[LogRow]) -> None:
        """Append rows in one transaction; a ServiceUnavailable says why that was not possible."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        self._run(lambda connection: connection.execute(INSERT, *columns))

    def last(self) -> tuple[int, int]:
        """The number and the time of the last row; zeros if there is none."""
        found = self._all("SELECT number, time FROM stumpery_log ORDER BY number DESC LIMIT 1")
        return (found[0]["number"], found[0]["time"]) if found else (0, 0)

    def first(self) -> int:
        """The number of the first row that was not deleted; 1 where the log is empty."""
        number = self._all("SELECT min(number) AS number FROM stumpery_log")[0]["number"]
        return 1 if number is None else int(number)

    def rows(self, after: int = 0) -> Iterator[LogRow]:
        """All rows after a number, in order."""
        query = f"SELECT {COLUMNS} FROM stumpery_log WHERE number > $1 ORDER BY number LIMIT {PAGE_ROWS}"  # noqa: S608
        while True:
            chunk = self._all(query, after)
            yield from (LogRow(*row) for row in chunk)
            if len(chunk) < PAGE_ROWS:
                return
            after = chunk[-1]["number"]

    def rows_of(self, policy: str, event: str) -> list[LogRow]:
        """The rows of one decision, in order."""
        query = f"SELECT {COLUMNS} FROM stumpery_log WHERE event = $1 AND policy = $2 ORDER BY number"  # noqa: S608
        return [LogRow(*row) for row in self._all(query, event, policy)]

    def row(self, number: int) -> LogRow | None:
        """One row; None if there is none."""
        found = self._all(f"SELECT {COLUMNS} FROM stumpery_log WHERE number = $1", number)  # noqa: S608
        return LogRow(*found[0]) if found else None

    def number_at(self, time: int) -> int:
        """The number of the last row before a time; 0 if there is none."""
        found = self._all("SELECT max(number) AS number FROM stumpery_log WHERE time < $1", time)
        return int(found[0]["number"] or 0)

    def trim(self, before: int, limit: int) -> int:
        """Delete rows before a number, at most `limit`; how many were."""
        first = self.first()
        end = min(before, first + limit)
        self._all("DELETE FROM stumpery_log WHERE number < $1", end)
        return max(0, end - first)

    def close(self) -> None:
        """Close the connection, which releases the lock."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            asyncio.run_coroutine_threadsafe(connection.close(timeout=TIMEOUT_S), self._loop).result()
        self._stop()

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _all(self, query: str, *values: Any) -> list[Any]:
        found: list[Any] = self._run(lambda connection: connection.fetch(query, *values))
        return found

    def _run(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run work on the connection, from any thread; it is made anew after a failure."""
        try:
            return asyncio.run_coroutine_threadsafe(self._work(work), self._loop).result()
        except (OSError, TimeoutError, self._asyncpg.PostgresError, self._asyncpg.InterfaceError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ServiceUnavailable(f"the log in PostgreSQL cannot be used: {reason}") from None

    async def _work(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        if self._connection is None:
            self._connection = await self._connected()
        try:
            return await work(self._connection)
        except BaseException:
            connection, self._connection = self._connection, None
            connection.terminate()
            raise

    async def _connected(self) -> Any:
        """A connection; that of the appender holds the lock."""
        settings = {"synchronous_commit": "on"}
        connection = await self._asyncpg.connect(
            self._address, timeout=TIMEOUT_S, command_timeout=TIMEOUT_S, server_settings=settings
        )
        if self._is_reader:
            return connection
        end = time.monotonic() + LOCK_WAIT_S
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", ADVISORY_LOCK):
            if time.monotonic() < end:  # the database may not have noticed yet that an earlier process is gone
                await asyncio.sleep(LOCK_POLL_S)
                continue
            connection.terminate()
            raise ServiceUnavailable("the log in PostgreSQL is in use by another process; one process writes a log")
        await connection.execute(CREATE_TABLE)
        return connection
