"""Duties of the process that leads: default rewards, hashes and retention of the log; snapshots and alarms."""

import time

from stumpery.service.engine.alarms import Alarms
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.rewarding import is_any_due, settle
from stumpery.service.engine.saving import SnapshotSaver
from stumpery.service.engine.shared_snapshots import SharedSnapshots
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.events import ReplicasHashed
from stumpery.service.log.event_log import number_before
from stumpery.service.members.leading import Leading
from stumpery.service.settings import SiteSettings

TRIM_S, MAX_TRIMMED = 1.0, 5_000
TRIM_ON_S = 0.1  # where there was more to delete


class Duties:
    """What one process does for all.

    Args:
        settings: The site.
        leading: Whether it is this process.
        snapshots: Where snapshots are written.
        alarms: The alarms.
    """

    def __init__(self, settings: SiteSettings, leading: Leading, snapshots: Snapshots, alarms: Alarms) -> None:
        self._settings, self._leading = settings, leading
        self._snapshots, self._alarms = snapshots, alarms
        self._saver = SnapshotSaver(snapshots, settings)
        self._shared = None if settings.database is None else SharedSnapshots(settings.database, snapshots)
        self._n_shared = 0
        self._trim_at = 0.0
        self._hash_at = time.monotonic() + settings.hash_s

    def are_due(self, journal: Journal) -> bool:
        """Whether there is something to write to the log."""
        if not self._leading.leads(journal.replica):
            return self._leading.claim(journal.replica) is not None
        return is_any_due(journal) or self._is_hash_due() or self._is_trim_due()

    def write(self, journal: Journal) -> None:
        """Write to the log what is due, in a turn that has read it to its end: nothing where another process leads."""
        chosen = self._leading.claim(journal.replica)
        if chosen is not None:
            journal.add("", None, chosen)
        if not self._leading.leads(journal.replica):
            return
        settle(journal)
        if self._is_hash_due():
            self._hash_at = time.monotonic() + self._settings.hash_s
            journal.add("", None, ReplicasHashed())
        if self._is_trim_due():
            self._trim(journal)

    def _is_hash_due(self) -> bool:
        return time.monotonic() >= self._hash_at and len(self._leading.seen) > 1

    def look_after(self, journal: Journal) -> None:
        """Save a snapshot and look for alarms, where it is time; outside of a turn.

        With a database each process may have a folder of its own, so each saves snapshots.
        """
        leads = self._leading.leads(journal.replica)
        if leads or self._settings.database is not None:
            self._saver.save_if_due(journal.replica)
        if leads and self._shared is not None and self._saver.n_saved > self._n_shared:
            self._n_shared = self._saver.n_saved
            self._shared.share()
        if leads:
            self._alarms.look_if_due(journal.replica)

    def _is_trim_due(self) -> bool:
        return self._settings.retention_s is not None and time.monotonic() >= self._trim_at

    def _trim(self, journal: Journal) -> None:
        """Delete events beyond the retention, a few at a time; what the oldest snapshot does not hold stays.

        The last event stays, too: by it a start knows where the log ends.
        """
        assert self._settings.retention_s is not None  # noqa: S101
        oldest = min(self._snapshots.numbers(), default=0)
        if self._shared is not None:  # on other machines a start begins with these
            oldest = min([oldest, *(self._shared.numbers(journal.log)[-1:] or [0])])
        old = number_before(journal.log, journal.time - round(1000 * self._settings.retention_s))
        n_deleted = journal.log.trim(min(oldest, old, journal.replica.number - 1) + 1, MAX_TRIMMED)
        self._trim_at = time.monotonic() + (TRIM_S if n_deleted < MAX_TRIMMED else TRIM_ON_S)

    def end(self, journal: Journal) -> None:
        """Save a last snapshot before the process stops."""
        if self._leading.leads(journal.replica) or self._settings.database is not None:
            self._saver.save_last(journal.replica)
        if self._leading.leads(journal.replica) and self._shared is not None:
            self._shared.share()
            self._shared.end()
