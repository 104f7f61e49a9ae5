"""Back-up of a log while it is in use, and erasure of contexts by the value of a column."""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from stumpery.errors import InvalidInput
from stumpery.service import events
from stumpery.service.engine.shared_snapshots import clear
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.events import ERASURE, ContextsErased, DecisionMade, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.log.opening import LOG_FILE, open_log
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import site_of

COPIED_ROWS = 1_000


def back_up(folder: Path, target: Path, database: str | None = None) -> int:
    """Copy the log of a site, also while it is served, to a new folder; returns the number of its last event.

    The copy is a file, also that of a database: a folder that `stumpery serve` goes on with.
    """
    if (target / LOG_FILE).exists():
        raise InvalidInput(f"{target} has a log already; a back-up needs a new folder")
    source = open_log(site_of(None, folder=folder, log=database), is_reader=True)
    try:
        last, _ = source.last()  # also says whether there is a log
        target.mkdir(parents=True, exist_ok=True)
        if source.first() > 1 and (folder / SNAPSHOT_FOLDER).exists():  # first, so that the log reaches beyond them
            shutil.copytree(folder / SNAPSHOT_FOLDER, target / SNAPSHOT_FOLDER, dirs_exist_ok=True)
        if isinstance(source, SqliteLog):
            source.copy_to(target / LOG_FILE)
            return _last_of(target / LOG_FILE)
        _copy(source, target / LOG_FILE, last)
        return last
    finally:
        source.close()


def _last_of(path: Path) -> int:
    copy = SqliteLog(path, is_reader=True)
    try:
        return copy.last()[0]
    finally:
        copy.close()


def _copy(source: EventLog, path: Path, last: int) -> None:
    """Copy the rows of a log up to one of them to a new file; rows do not change, so others may write it.

    Where the retention deletes rows faster than they are copied, the copy would lack some: it is deleted.
    """
    copy, number = SqliteLog(path), 0
    try:
        while rows := [row for row in source.next_rows(number, COPIED_ROWS) if row.number <= last]:
            if number and rows[0].number != number + 1:
                raise ServiceUnavailable("events were deleted while they were copied, by the retention; try again")
            copy.append(rows)
            number = rows[-1].number
    except BaseException:
        copy.close()
        for part in path.parent.glob(f"{path.name}*"):
            part.unlink()
        raise
    copy.close()


def erase(folder: Path, column: str, value: str, database: str | None = None) -> int:
    """Erase the contexts that have this value, and rebuild the policies without them; returns how many.

    The rows stay, without values and as decisions that are never learned; snapshots are replaced. The service must not
    run.
    """
    if database is None and not (folder / LOG_FILE).exists():
        raise InvalidInput(f"there is no log in {folder}: {LOG_FILE} is missing")
    log = open_log(site_of(None, folder=folder, log=database), is_alone=True)
    try:
        if log.first() > 1:
            raise InvalidInput(
                "the log's beginning was deleted, so the policies cannot be rebuilt without these contexts"
            )
        n = sum(1 for _ in _erased(log, column, value))
        if n:
            log.rewrite(_with_erasure(log, column, value, n))
        shutil.rmtree(folder / SNAPSHOT_FOLDER, ignore_errors=True)
        if isinstance(log, PostgresqlLog):
            clear(log)
        replica = SiteReplica.of_log(log)
        Snapshots(folder / SNAPSHOT_FOLDER).save(replica)
    finally:
        log.close()
    return n


def _with_erasure(log: EventLog, column: str, value: str, n: int) -> Iterator[LogRow]:
    """The rows without these contexts, and the event that tells other machines to forget their snapshots."""
    last, time = log.last()
    yield from islice(_erased(log, column, value), n)
    yield LogRow(last + 1, time, "", ERASURE, encoded(ContextsErased(n)))


def _erased(log: EventLog, column: str, value: str) -> Iterator[LogRow]:
    for row in log.rows():
        event = events.decoded(row.content)
        if isinstance(event, DecisionMade) and event.context and str(event.context.get(column)) == value:
            empty = dict.fromkeys(event.context)
            new = msgspec.structs.replace(event, context=empty, is_erased=True, asked=None)
            yield row._replace(content=encoded(new))
