"""Snapshots in the log's PostgreSQL database, for processes on machines that have none, or older ones.

The process that leads copies its snapshots there, in a thread with a connection of its own. A snapshot is complete when
its manifest is there, which is written last; its files are checked as those in a folder are.
"""

import logging
import os
import shutil
import threading
from pathlib import Path

from stumpery.errors import StumperyError
from stumpery.service.engine.snapshots import KEPT_SNAPSHOTS, MANIFEST, Snapshots
from stumpery.service.log.event_log import EventLog
from stumpery.service.log.postgresql_log import PostgresqlLog

logger = logging.getLogger(__name__)
CREATE_SNAPSHOTS = """
CREATE TABLE IF NOT EXISTS stumpery_snapshots (
    number bigint, name text, part int, content bytea NOT NULL, PRIMARY KEY (number, name, part))
"""
SNAPSHOTS_EXIST = "SELECT to_regclass('stumpery_snapshots') IS NOT NULL AS is_there"
INSERT_SNAPSHOT = "INSERT INTO stumpery_snapshots VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
COMPLETE = f"SELECT number FROM stumpery_snapshots WHERE name = '{MANIFEST}' ORDER BY number DESC"  # noqa: S608
PART_BYTES = 1_000_000
MIN_GAIN = 20_000  # events; fewer are replayed sooner than a snapshot is fetched


class SharedSnapshots:
    """The snapshots of a site in its database.

    Args:
        address: `postgresql://user@host/database`.
        snapshots: Those in the folder of this process.
    """

    def __init__(self, address: str, snapshots: Snapshots) -> None:
        self._address, self._snapshots = address, snapshots
        self._thread: threading.Thread | None = None

    def fetch(self, log: PostgresqlLog, erased: int, *, is_needed: bool = False) -> bool:
        """Copy the latest to the folder, where it is needed or spares a replay; whether it was copied.

        `erased` is the last event of an erasure.
        """
        own = max(self._snapshots.numbers(), default=0)
        numbers = [number for number in self.numbers(log) if number >= erased]
        gain = (numbers[0] if numbers else 0) - own
        if gain <= 0 or not (is_needed or gain > MIN_GAIN or own < log.first() - 1):
            return False
        folder = self._snapshots.folder
        part = folder / f".{numbers[0]}.{os.getpid()}.part"
        try:
            _write(log, numbers[0], part)
            shutil.rmtree(folder / str(numbers[0]), ignore_errors=True)
            part.rename(folder / str(numbers[0]))
            logger.info("the snapshot at %d comes from the database", numbers[0])
            return True
        except OSError as error:
            logger.warning("the snapshot at %d was not fetched: %s", numbers[0], error)
            return False
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def numbers(self, log: EventLog) -> list[int]:
        """The events after which there are complete snapshots, the latest first."""
        assert isinstance(log, PostgresqlLog)  # noqa: S101
        if not log.query(SNAPSHOTS_EXIST)[0]["is_there"]:
            return []
        return [row["number"] for row in log.query(COMPLETE)]

    def share(self) -> None:
        """Begin to copy the latest snapshot of the folder to the database, unless the last one is still on its way."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._share, name="stumpery-snapshots", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Wait until what was begun is done."""
        if self._thread is not None:
            self._thread.join()

    def _share(self) -> None:
        log = None
        try:
            log = PostgresqlLog(self._address, is_reader=True)
            log.query(CREATE_SNAPSHOTS)
            numbers = self.numbers(log)
            number = max(self._snapshots.numbers(), default=0)
            if number > max(numbers, default=0):
                log.query("DELETE FROM stumpery_snapshots WHERE number = $1", number)  # what was not completed
                _copy(log, number, self._snapshots.folder / str(number))
                numbers = [number, *numbers]
            if len(numbers) > KEPT_SNAPSHOTS:
                log.query("DELETE FROM stumpery_snapshots WHERE number < $1", numbers[KEPT_SNAPSHOTS - 1])
        except (StumperyError, OSError) as error:  # the next one is tried again
            logger.warning("a snapshot was not copied to the database: %s", error)
        finally:
            if log is not None:
                log.close()


def clear(log: PostgresqlLog) -> None:
    """Delete all snapshots of a database."""
    if log.query(SNAPSHOTS_EXIST)[0]["is_there"]:
        log.query("TRUNCATE stumpery_snapshots")


def _copy(log: PostgresqlLog, number: int, folder: Path) -> None:
    """Insert the files of a snapshot, the manifest last."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == MANIFEST):
        with path.open("rb") as file:
            part = 0
            while content := file.read(PART_BYTES):
                log.query(INSERT_SNAPSHOT, number, path.name, part, content)
                part += 1


def _write(log: PostgresqlLog, number: int, folder: Path) -> None:
    """Write the files of a snapshot to a folder."""
    folder.mkdir(parents=True)
    parts = log.query("SELECT name, part FROM stumpery_snapshots WHERE number = $1 ORDER BY name, part", number)
    for name, part in parts:
        query = "SELECT content FROM stumpery_snapshots WHERE number = $1 AND name = $2 AND part = $3"
        found = log.query(query, number, name, part)
        if not found:
            raise FileNotFoundError(f"{name} was deleted meanwhile")
        with (folder / Path(name).name).open("ab") as file:
            file.write(found[0]["content"])
