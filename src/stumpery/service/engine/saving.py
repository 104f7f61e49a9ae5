"""Saving snapshots while the service runs: from a forked child, so that decisions do not wait for the disk."""

import logging
import os
import signal
import time
import warnings

from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import SiteSettings

logger = logging.getLogger(__name__)
FIRST_FREE_DESCRIPTOR = 3
LOW_PRIORITY = 10


class SnapshotSaver:
    """Writes snapshots when enough events or time have passed since the last.

    Args:
        snapshots: Where they are written.
        settings: How often.
    """

    def __init__(self, snapshots: Snapshots, settings: SiteSettings) -> None:
        self._snapshots, self._settings = snapshots, settings
        self._saved = max([0, *snapshots.numbers()])
        self._saved_at = time.monotonic()
        self._child: int | None = None
        self.n_saved = 0  # that were complete

    def save_if_due(self, replica: SiteReplica) -> None:
        """Begin a snapshot if one is due and the last one is done."""
        is_saving = self._is_saving()
        n_new = replica.number - self._saved
        is_due = n_new >= self._settings.snapshot_events or (
            n_new > 0 and time.monotonic() - self._saved_at >= self._settings.snapshot_s
        )
        if not is_due or is_saving:
            return
        self._saved, self._saved_at = replica.number, time.monotonic()
        if hasattr(os, "fork"):
            self._child = self._fork(replica)
        else:
            self._save(replica)

    def save_last(self, replica: SiteReplica) -> None:
        """Write a snapshot before the service stops."""
        while self._is_saving():
            time.sleep(0.01)
        if replica.number > self._saved:
            self._save(replica)

    def _is_saving(self) -> bool:
        if self._child is None:
            return False
        done, status = os.waitpid(self._child, os.WNOHANG)
        if not done:
            return True
        self._child = None
        if status:
            logger.warning("a snapshot was not written: its process ended with %d", status)
        self.n_saved += not status
        return False

    def _fork(self, replica: SiteReplica) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child uses no lock that another thread may hold
            child = os.fork()
        if child:
            return child
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.closerange(FIRST_FREE_DESCRIPTOR, os.sysconf("SC_OPEN_MAX"))  # the port and the locks of the parent
            os.nice(LOW_PRIORITY)
            self._snapshots.save(replica)
            status = 0
        finally:
            os._exit(status)

    def _save(self, replica: SiteReplica) -> None:
        try:
            self._snapshots.save(replica)
            self.n_saved += 1
        except OSError as error:
            logger.warning("a snapshot was not written: %s", error)
