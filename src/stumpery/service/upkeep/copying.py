"""Back-up of a log while it is in use, and erasure of contexts by the value of a column."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from stumpery.errors import InvalidInput
from stumpery.service import events
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.events import DecisionMade, encoded
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.opening import LOG_FILE
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.replica.site_replica import SiteReplica


def back_up(folder: Path, target: Path) -> int:
    """Copy the log of a site, also while it is served, to a new folder; returns the number of its last event."""
    if (target / LOG_FILE).exists():
        raise InvalidInput(f"{target} has a log already; a back-up needs a new folder")
    source = SqliteLog(folder / LOG_FILE, is_reader=True)
    try:
        target.mkdir(parents=True, exist_ok=True)
        source.copy_to(target / LOG_FILE)
        if source.first() > 1 and (folder / SNAPSHOT_FOLDER).exists():
            shutil.copytree(folder / SNAPSHOT_FOLDER, target / SNAPSHOT_FOLDER, dirs_exist_ok=True)
        return source.last()[0]
    finally:
        source.close()


def erase(folder: Path, column: str, value: str) -> int:
    """Erase the contexts that have this value, and rebuild the policies without them; returns how many.

    The rows stay, without values and as decisions that are never learned; snapshots are replaced. The service must not
    run.
    """
    if not (folder / LOG_FILE).exists():
        raise InvalidInput(f"there is no log in {folder}: {LOG_FILE} is missing")
    log = SqliteLog(folder / LOG_FILE, is_alone=True)
    try:
        if log.first() > 1:
            raise InvalidInput(
                "the log's beginning was deleted, so the policies cannot be rebuilt without these contexts"
            )
        n = log.rewrite(_erased(log, column, value))
        shutil.rmtree(folder / SNAPSHOT_FOLDER, ignore_errors=True)
        replica = SiteReplica.of_log(log)
        Snapshots(folder / SNAPSHOT_FOLDER).save(replica)
    finally:
        log.close()
    return n


def _erased(log: SqliteLog, column: str, value: str) -> Iterator[LogRow]:
    for row in log.rows():
        event = events.decoded(row.content)
        if isinstance(event, DecisionMade) and event.context and str(event.context.get(column)) == value:
            empty = dict.fromkeys(event.context)
            new = msgspec.structs.replace(event, context=empty, is_erased=True, asked=None)
            yield row._replace(content=encoded(new))
