"""Integrity of a site: the log's rows, its events, and snapshots that equal a rebuild bit for bit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stumpery.errors import CorruptFile, StumperyError
from stumpery.service import events
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.log.event_log import EventLog
from stumpery.service.log.opening import LOG_FILE, open_log
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import site_of
from stumpery.service.upkeep.recomputing import Recomputation

Line = dict[str, Any]


def check(folder: Path, database: str | None = None, *, decisions: bool = False) -> Iterator[Line]:
    """What is checked, and what was found: a CorruptFile says what is damaged in the log itself.

    With `decisions` each is drawn again, and its probability compared with the log.
    """
    log, snapshots = _opened(folder, database)
    try:
        yield {"checked": "file", "found": log.integrity()}
        base = _base(log, snapshots)
        replica = SiteReplica() if base is None else snapshots.load(base)
        replica.recall = lambda number: snapshots.restore(log, before=number)
        waiting = {number for number in snapshots.numbers() if number >= replica.number}
        for row in log.rows(replica.number):
            yield from _compared(replica, snapshots, waiting)
            replica.apply(row, _event(row.number, row.content))
        yield from _compared(replica, snapshots, waiting)
        for number in sorted(waiting):
            yield {"checked": f"snapshot {number}", "found": "damaged: the log ends before it"}
        yield {"checked": "log", "found": f"{replica.number:,} events, sha256 {replica.digest()}"}
        if decisions:
            yield {"checked": "decisions", "found": str(recomputed(log, snapshots))}
    finally:
        log.close()


def recomputed(log: EventLog, snapshots: Snapshots) -> Recomputation:
    """All decisions of a log, drawn again."""
    base = _base(log, snapshots)
    replica = SiteReplica() if base is None else snapshots.load(base)
    replica.recall = lambda number: snapshots.restore(log, before=number)
    again = Recomputation(replica)
    again.run(log.rows(replica.number))
    return again


def rebuild(folder: Path, database: str | None = None) -> Iterator[Line]:
    """Rebuild the policies from the whole log, compare them with the snapshot and its tail, and save a new snapshot."""
    log, snapshots = _opened(folder, database)
    try:
        base = _base(log, snapshots)
        whole = SiteReplica.of_log(log) if base is None else snapshots.load(base)
        whole.recall = lambda number: snapshots.restore(log, before=number)
        whole.replay(log.rows(whole.number))
        restored = snapshots.restore(log)
        digest = whole.digest()
        is_equal = restored.digest() == digest
        yield {"checked": "rebuild", "found": f"{whole.number:,} events, sha256 {digest}"}
        found = "equal to the rebuild" if is_equal else "differs from the rebuild; it is replaced"
        yield {"checked": "snapshot and tail", "found": found}
        if whole.number:
            snapshots.save(whole)
    finally:
        log.close()


def _opened(folder: Path, database: str | None) -> tuple[EventLog, Snapshots]:
    path = folder / LOG_FILE
    if database is None and not path.exists():
        raise CorruptFile(f"there is no log in {folder}: {LOG_FILE} is missing")
    return open_log(site_of(None, folder=folder, log=database), is_alone=True), Snapshots(folder / SNAPSHOT_FOLDER)


def _base(log: EventLog, snapshots: Snapshots) -> int | None:
    """The snapshot that a rebuild begins with where the log's beginning was deleted; None where it is whole."""
    first = log.first()
    if first <= 1:
        return None
    usable = [number for number in snapshots.numbers() if number >= first - 1]
    if not usable:
        raise CorruptFile(f"the log begins with row {first}, and no snapshot holds what was before")
    return usable[-1]


def _compared(replica: SiteReplica, snapshots: Snapshots, waiting: set[int]) -> Iterator[Line]:
    """Compare the replica with the snapshot after the same row, if there is one."""
    if replica.number not in waiting:
        return
    waiting.remove(replica.number)
    try:
        found = "equal to the log" if snapshots.load(replica.number).digest() == replica.digest() else "differs"
    except (StumperyError, ValueError, OSError) as error:
        found = f"damaged: {error}"
    yield {"checked": f"snapshot {replica.number}", "found": found}


def _event(number: int, content: bytes) -> Any:
    try:
        return events.decoded(content)
    except msgspec.DecodeError as error:
        raise CorruptFile(f"row {number} of the log is damaged: {error}") from None
