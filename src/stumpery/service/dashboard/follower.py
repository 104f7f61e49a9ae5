"""The follower: a thread that reads what is committed to the log, and keeps the statistics of the page.

It reads only while somebody looks, so that decisions are not slowed down for nobody.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from stumpery.errors import StumperyError
from stumpery.service import events
from stumpery.service.dashboard.policy_statistics import PolicyStatistics
from stumpery.service.log.event_log import EventLog

logger = logging.getLogger(__name__)
POLL_S, WATCHED_S = 0.25, 30.0  # it reads on for so long after the last look
MAX_BEHIND = 200_000  # events of the past that are read


class LogFollower:
    """Statistics of all policies, which follow the log with a delay of about a quarter of a second while they are used.

    Args:
        open_log: Opens the log to read.
    """

    def __init__(self, open_log: Callable[[], EventLog]) -> None:
        self._open_log = open_log
        self._policies: dict[str, PolicyStatistics] = {}
        self._lock = threading.Lock()
        self._stopping, self._looked = threading.Event(), threading.Event()
        self._watched_until = 0.0
        self.is_current = False  # whether it has read to the end since somebody looks
        self._thread = threading.Thread(target=self._run, name="stumpery-dashboard", daemon=True)
        self.number = 0
        self.time = 0

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until the log is closed."""
        self._stopping.set()
        self._looked.set()
        if self._thread.is_alive():
            self._thread.join()

    def names(self) -> list[str]:
        """The policies that were seen."""
        with self._lock:
            return sorted(self._policies)

    def look(self) -> None:
        """Begin to read, or go on."""
        self._watched_until = time.monotonic() + WATCHED_S
        self._looked.set()

    def summary(self, name: str) -> dict[str, Any]:
        """The statistics of a policy; those of one without any event are empty."""
        self.look()
        with self._lock:
            policy = self._policies.get(name) or PolicyStatistics()
            return {"number": self.number, "time": self.time, **policy.summary()}

    def _run(self) -> None:
        log = None
        while self._looked.wait() and not self._stopping.wait(POLL_S if log else 0.0):
            try:
                log = log or self._open_log()
                self._catch_up(log)
                self.is_current = True
            except StumperyError as error:  # it is read again at the next turn
                logger.debug("the dashboard could not read the log: %s", error)
            if time.monotonic() > self._watched_until:
                self.is_current = False
                self._looked.clear()
        if log is not None:
            log.close()

    def _catch_up(self, log: EventLog) -> None:
        last = log.last()[0]
        if not 0 <= last - self.number <= MAX_BEHIND:  # too far behind, or what it has read is gone from the log
            with self._lock:
                self._policies.clear()
                self.number = max(last - MAX_BEHIND, 0)
        for row in log.rows(self.number):
            event = events.decoded(row.content)
            with self._lock:
                if isinstance(event, events.PolicyDeleted):
                    self._policies.pop(row.policy, None)
                elif row.policy:
                    self._policies.setdefault(row.policy, PolicyStatistics()).apply(row, event)
                self.number, self.time = row.number, row.time
            if self._stopping.is_set():
                return
