"""A connection to PostgreSQL that is made anew after a failure, and turns in which one process at a time writes.

A turn is a transaction that holds an advisory lock; the database ends that of a process which has fallen silent in it.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from stumpery.service.errors import ServiceUnavailable
from stumpery.system.extras import need

USE_LOCK = 0x7374756D70657279  # "stumpery": shared by those who serve, exclusive for maintenance
TURN_LOCK = USE_LOCK + 1
# Each statement of the turn must see what was committed while the lock was waited for.
BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({TURN_LOCK})"
TIMEOUT_S, LOCK_WAIT_S, LOCK_POLL_S = 10.0, 5.0, 0.05
SETTINGS = {
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": "5s",  # ends the turn of a process that was stopped in it
    "lock_timeout": "8s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}


class PostgresqlConnection:
    """A connection to the database of a log, for all threads of a process.

    Args:
        address: `postgresql://user@host/database`.
        is_reader: Whether it only reads, while other processes may write.
        is_alone: Whether no other process may have a connection to write, as maintenance needs.
        exists: A query that says whether the tables are there.
        create: Statements that create them.
    """

    def __init__(self, address: str, *, is_reader: bool, is_alone: bool, exists: str, create: str) -> None:
        self._asyncpg = need("asyncpg", "postgresql")
        self._address, self._is_reader, self._is_alone = address, is_reader, is_alone
        self._exists, self._create = exists, create
        self._connection: Any = None
        self.is_in_turn = False
        self._loop = asyncio.new_event_loop()
        self._lock = threading.RLock()  # the loop runs in whichever thread asks

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One transaction to write, after those of other processes; a ServiceUnavailable says why there was none."""
        self.run(lambda connection: connection.execute(BEGIN))
        self.is_in_turn = True
        try:
            yield
            self.run(lambda connection: connection.execute("COMMIT"))
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.is_in_turn = False

    def _roll_back(self) -> None:
        if self._connection is not None:
            try:
                self.run(lambda connection: connection.execute("ROLLBACK"))
            except ServiceUnavailable:  # the connection is gone, and with it the transaction
                self._connection = None

    def query(self, query: str, *values: Any) -> list[Any]:
        """The rows that a statement finds."""
        found: list[Any] = self.run(lambda connection: connection.fetch(query, *values))
        return found

    def run(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run work on the connection, from any thread; it is made anew after a failure."""
        try:
            with self._lock:
                return self._loop.run_until_complete(self._work(work))
        except (OSError, TimeoutError, self._asyncpg.PostgresError, self._asyncpg.InterfaceError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ServiceUnavailable(f"the log in PostgreSQL cannot be used: {reason}") from None

    async def _work(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        if self._connection is None:
            if self.is_in_turn:
                raise ServiceUnavailable("the log in PostgreSQL cannot be used: the connection was lost in a turn")
            self._connection = await self._connected()
        try:
            return await work(self._connection)
        except BaseException:
            connection, self._connection = self._connection, None
            connection.terminate()
            raise

    async def _connected(self) -> Any:
        """A connection; that of a process which writes holds the lock of use."""
        connection = await self._asyncpg.connect(
            self._address, timeout=TIMEOUT_S, command_timeout=TIMEOUT_S, server_settings=SETTINGS
        )
        if self._is_reader:
            return connection
        take = "SELECT pg_try_advisory_lock($1)" if self._is_alone else "SELECT pg_try_advisory_lock_shared($1)"
        end = time.monotonic() + LOCK_WAIT_S
        while not await connection.fetchval(take, USE_LOCK):
            if time.monotonic() < end:  # the database may not have noticed yet that an earlier process is gone
                await asyncio.sleep(LOCK_POLL_S)
                continue
            connection.terminate()
            why = "this needs the log for itself" if self._is_alone else "that one needs the log for itself"
            raise ServiceUnavailable(f"the log in PostgreSQL is in use by another process; {why}")
        if not (
            self._is_alone or await connection.fetchval(self._exists)
        ):  # to create an index that exists locks it, too
            await connection.execute(f"{BEGIN}; {self._create}; COMMIT")
        return connection

    def close(self) -> None:
        """Close the connection, which releases its locks."""
        with self._lock:
            if self._connection is not None:
                connection, self._connection = self._connection, None
                try:
                    self._loop.run_until_complete(connection.close(timeout=TIMEOUT_S))
                except (OSError, TimeoutError, self._asyncpg.PostgresError, self._asyncpg.InterfaceError):
                    connection.terminate()
            self._loop.close()
