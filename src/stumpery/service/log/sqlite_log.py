"""The event log in an SQLite file: a commit is on the disk before `append` returns.

The file is in write-ahead mode with `synchronous=FULL`, which no option weakens: with NORMAL a power cut loses
acknowledged commits. Processes of one machine write it by turns: they wait at a lock on a file beside it, which is
fairer and faster than SQLite's own waiting. Maintenance has the log for itself, by another lock.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.file_lock import FileLock
from stumpery.system.extras import need

LOG_FORMAT = 1
SAFE_SQLITE = 3_051_003  # earlier ones may corrupt a log that several processes write
CREATE_LOG = """
CREATE TABLE IF NOT EXISTS log (
    number INTEGER PRIMARY KEY, time INTEGER NOT NULL, policy TEXT NOT NULL, event TEXT, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS events ON log (event) WHERE event IS NOT NULL;
"""
CHUNK_ROWS = 1_000


class SqliteLog:
    """An event log in one SQLite file.

    Args:
        path: The file; it is created if there is none.
        vfs: Name of SQLite's layer of the file system; tests name one that simulates power cuts.
        synchronous: For tests of the tests only: anything but FULL loses acknowledged events in power cuts.
        is_reader: Whether the log is only read, while other processes may write it.
        is_alone: Whether no other process may have the log open to write it, as maintenance needs.
    """

    def __init__(
        self,
        path: Path,
        *,
        vfs: str | None = None,
        synchronous: str = "FULL",
        is_reader: bool = False,
        is_alone: bool = False,
    ) -> None:
        self._apsw = need("apsw", "service")
        self._is_simulated = vfs is not None
        if is_reader and not path.exists():
            raise InvalidInput(f"there is no log {path}")
        self._use = self._turns = None
        if not (self._is_simulated or is_reader):
            is_alone = is_alone or self._apsw.SQLITE_VERSION_NUMBER < SAFE_SQLITE
            self._use = _used(path, is_alone)
            self._turns = FileLock(path.with_name(f"{path.name}.turns"))
        try:
            self._connection = self._apsw.Connection(str(path), vfs=vfs)
            self._connection.set_busy_timeout(1_000)
            if is_reader:
                self._connection.execute("PRAGMA query_only=ON").fetchall()
            else:
                self._prepare(synchronous)
        except self._apsw.Error as error:
            self._release()
            raise _error(path, error) from None
        except BaseException:
            self._release()
            raise
        self._path = path

    def _prepare(self, synchronous: str) -> None:
        if self._turns is not None:
            self._turns.wait()
        try:
            self._set_up(synchronous)
        finally:
            if self._turns is not None:
                self._turns.release()

    def _set_up(self, synchronous: str) -> None:
        if self._is_simulated:
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()  # such a layer shares no memory
        for setting in (
            "journal_mode=WAL",
            f"synchronous={synchronous}",
            "wal_autocheckpoint=4000",
            "cache_size=-32768",
        ):
            self._connection.execute(f"PRAGMA {setting}").fetchall()
        (format_,) = self._connection.execute("PRAGMA user_version").fetchall()[0]
        if format_ not in (0, LOG_FORMAT):
            raise CorruptFile(f"the log has format {format_}: this version reads format {LOG_FORMAT}, please upgrade")
        if format_ == 0:
            self._connection.execute(f"BEGIN; {CREATE_LOG} PRAGMA user_version={LOG_FORMAT}; COMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One transaction to write, after those of other processes; a ServiceUnavailable says why there was none."""
        if self._turns is not None:
            self._turns.wait()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except self._apsw.Error as error:
            raise _error(self._path, error) from None
        finally:
            try:
                self._roll_back()
            finally:
                if self._turns is not None:
                    self._turns.release()

    def take_time(self) -> None:
        """Nothing: a turn takes what it takes."""

    def append(self, rows: Sequence[LogRow]) -> None:
        """Append rows in one transaction; a ServiceUnavailable says why that was not possible."""
        if not self._connection.in_transaction:
            with self.turn():
                self.append(rows)
            return
        try:
            self._connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
        except self._apsw.Error as error:
            raise _error(self._path, error) from None

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def last(self) -> tuple[int, int]:
        """The number and the time of the last row; zeros if there is none."""
        found = self._all("SELECT number, time FROM log ORDER BY number DESC LIMIT 1")
        return found[0] if found else (0, 0)

    def rows(self, after: int = 0) -> Iterator[LogRow]:
        """All rows after a number, in order."""
        while True:
            chunk = self.next_rows(after, CHUNK_ROWS)
            yield from chunk
            if len(chunk) < CHUNK_ROWS:
                return
            after = chunk[-1].number

    def next_rows(self, after: int, limit: int) -> list[LogRow]:
        """The first rows after a number, in order."""
        found = self._all("SELECT * FROM log WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        return [LogRow._make(row) for row in found]

    def rows_of(self, policy: str, event: str) -> list[LogRow]:
        """The rows of one decision, in order."""
        found = self._all("SELECT * FROM log WHERE event = ? AND policy = ? ORDER BY number", event, policy)
        return [LogRow._make(row) for row in found]

    def rows_of_all(self, events: Sequence[str]) -> list[LogRow]:
        """The rows of several decisions by their ids, in order, of all policies."""
        ids = json.dumps(list(events))
        found = self._all("SELECT * FROM log WHERE event IN (SELECT value FROM json_each(?)) ORDER BY number", ids)
        return [LogRow._make(row) for row in found]

    def row(self, number: int) -> LogRow | None:
        """One row; None if there is none."""
        found = self._all("SELECT * FROM log WHERE number = ?", number)
        return LogRow._make(found[0]) if found else None

    def first(self) -> int:
        """The number of the first row that was not deleted; 1 where the log is empty."""
        (number,) = self._all("SELECT min(number) FROM log")[0]
        return 1 if number is None else int(number)

    def trim(self, before: int, limit: int) -> int:
        """Delete rows before a number, at most `limit`; how many were."""
        first = self.first()
        end = min(before, first + limit)
        self._all("DELETE FROM log WHERE number < ?", end)
        return max(0, end - first)

    def rewrite(self, rows: Iterable[LogRow]) -> int:
        """Replace rows for good, and append new ones: nothing of the old contents stays in the file."""
        changed = list(rows)
        try:
            self._connection.execute("PRAGMA secure_delete=ON").fetchall()
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?)", changed)
            self._connection.execute("COMMIT")
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except self._apsw.Error as error:
            self._roll_back()
            raise _error(self._path, error) from None
        return len(changed)

    def integrity(self) -> str:
        """What SQLite finds in the file: "ok", or a CorruptFile says what is damaged."""
        found = "; ".join(text for (text,) in self._all("PRAGMA integrity_check(3)"))
        if found != "ok":
            raise CorruptFile(f"{self._path} is damaged: {found}")
        return found

    def copy_to(self, path: Path) -> None:
        """Copy the log as it is now to a new file, while others may write it."""
        try:
            target = self._apsw.Connection(str(path))
            with target.backup("main", self._connection, "main") as backup:
                backup.step()
            target.execute("PRAGMA journal_mode=DELETE").fetchall()
            target.close()
        except self._apsw.Error as error:
            raise _error(path, error) from None

    def close(self) -> None:
        """Close the file and release its lock."""
        self._connection.close()
        self._release()

    def _all(self, query: str, *values: Any) -> list[Any]:
        try:
            found: list[Any] = self._connection.execute(query, values).fetchall()
        except self._apsw.Error as error:
            raise _error(self._path, error) from None
        return found

    def _release(self) -> None:
        for lock in (self._use, self._turns):
            if lock is not None:
                lock.close()


def _used(path: Path, is_alone: bool) -> FileLock:
    """Lock a file beside the log for as long as this process has it open: with others, or alone."""
    use = FileLock(path.with_name(f"{path.name}.lock"))
    if use.take(is_shared=not is_alone):
        return use
    use.close()
    why = "this needs the log for itself" if is_alone else "that one needs the log for itself"
    raise ServiceUnavailable(f"{path} is in use by another process; {why}")


def _error(path: Path, error: Exception) -> Exception:
    """One sentence for an error of SQLite."""
    name = type(error).__name__.removesuffix("Error")
    if name in {"Corrupt", "NotADB"}:
        return CorruptFile(f"{path} is damaged or no log: {error}")
    reasons = {"Full": "the disk is full", "Busy": "another process has locked it", "ReadOnly": "it is read-only"}
    return ServiceUnavailable(f"the log {path} cannot be used: {reasons.get(name, error)}")
