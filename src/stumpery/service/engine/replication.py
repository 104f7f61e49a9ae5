"""Replication: the replica of this process is restored from the log, follows it, and extends it in turns.

Outside of a turn it applies what other processes have committed. In a turn it reads the rest, and so judges what it
adds by the whole log.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from stumpery.errors import CorruptFile
from stumpery.service.engine.journal import Journal, OnDecision
from stumpery.service.engine.shared_snapshots import SharedSnapshots
from stumpery.service.engine.snapshots import Snapshots, last_erasure
from stumpery.service.events import ClockRead, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.log.postgresql_log import PostgresqlLog
from stumpery.service.replica.models import warm_up
from stumpery.service.settings import SiteSettings
from stumpery.system.garbage_collection import paused_collection

READ_LATELY_S = 0.1
MAX_FOLLOWED = 1_000  # events that are read at once
MAX_IN_TURN = 5_000  # events that are read in a turn, while others wait
Result = TypeVar("Result")


class Replication:
    """The replica of this process, in step with the log.

    Args:
        settings: How far behind it may be.
        log: The event log.
        snapshots: Where a start begins.
        clock: Milliseconds since 1970.
        on_decision: Called with the policy and each decision.
    """

    def __init__(
        self,
        settings: SiteSettings,
        log: EventLog,
        snapshots: Snapshots,
        clock: Callable[[], int],
        on_decision: OnDecision,
    ) -> None:
        self.n_behind = 0
        self.turn_s = self.turn_cpu_s = 0.0  # for so long this process has had the turn, and kept others from writing
        self._settings, self._log, self._snapshots = settings, log, snapshots
        self._clock, self._on_decision = clock, on_decision
        self._current_at = 0.0
        self._warm: set[str] = set()

    def restore(self) -> None:
        """Take the state of the log: from a snapshot, and the rows after it, to the log's end."""
        self._fetch_snapshot(is_needed=False)
        with paused_collection():  # it would look at hundreds of thousands of open decisions again and again
            try:
                replica = self._snapshots.restore(self._log)
            except CorruptFile:  # what is here does not reach back far enough
                if not self._fetch_snapshot(is_needed=True):
                    raise
                replica = self._snapshots.restore(self._log)
        replica.hashes = True
        self.journal = Journal(self._log, replica, self._clock, self._on_decision)
        while self._read(MAX_FOLLOWED) == MAX_FOLLOWED:  # what came meanwhile
            replica.learn()
        self._is_current()

    def _fetch_snapshot(self, *, is_needed: bool) -> bool:
        """Take the latest snapshot of the database, if there is one; whether it was taken."""
        if not isinstance(self._log, PostgresqlLog) or self._settings.database is None:
            return False
        shared = SharedSnapshots(self._settings.database, self._snapshots)
        return shared.fetch(self._log, last_erasure(self._log), is_needed=is_needed)

    def warm_up(self) -> None:
        """Compile what new policies need, or load it: outside of a turn, since it may take seconds."""
        for name, policy in self.journal.replica.policies.items():
            if name not in self._warm:
                self._warm.add(name)
                warm_up(policy.model, policy.settings)
        self._warm &= self.journal.replica.policies.keys()

    @property
    def lag(self) -> str | None:
        """In one sentence that the replica is too far behind; None where it is not."""
        if self.n_behind > self._settings.lag_events:
            return f"this process is {self.n_behind:,} events behind; the limit is {self._settings.lag_events:,}"
        lag_s = time.monotonic() - self._current_at
        if lag_s > self._settings.lag_s:
            return f"this process has not read the log for {lag_s:.0f} s; the limit is {self._settings.lag_s:g} s"
        return None

    def was_current(self) -> bool:
        """Whether this process had read the log to its end a moment ago; the rest it reads in its turn."""
        return time.monotonic() - self._current_at < READ_LATELY_S

    def follow(self) -> bool:
        """Apply some of what other processes have written; whether this one is not far behind."""
        self.journal.read_clock()
        if self._read(MAX_FOLLOWED) < MAX_FOLLOWED:
            self._is_current()
            return True
        self.n_behind = self._log.last()[0] - self.journal.replica.number
        return self.n_behind <= self._settings.lag_events

    def in_turn(self, work: Callable[[], Result]) -> tuple[Result, int] | None:
        """The result of work in a turn, after the log was read to its end, and the number of events that it added.

        They are durable then. None where this process is too far behind.
        """
        while True:
            with self._turn():
                if self._read(MAX_IN_TURN) < MAX_IN_TURN:
                    self._is_current()
                    self.journal.read_clock()
                    done = work(), self.journal.commit()
                    break
            if not self.follow():
                return None
        self.journal.is_sound = True
        return done

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The turn to write, and how long it takes."""
        start = None
        try:
            with self._log.turn():
                start = time.perf_counter(), time.thread_time()
                yield
        finally:
            if start is not None:
                self.turn_s += time.perf_counter() - start[0]
                self.turn_cpu_s += time.thread_time() - start[1]

    def write_clock(self) -> None:
        """Append an event without effect: an error says why the log cannot be written."""
        with self._log.turn():
            number, last = self._log.last()
            self._log.append([LogRow(number + 1, max(self._clock(), last), "", None, encoded(ClockRead()))])

    def _is_current(self) -> None:
        self.n_behind, self._current_at = 0, time.monotonic()

    def _read(self, limit: int) -> int:
        """Apply the next rows of the log; how many."""
        replica = self.journal.replica
        last = replica.last
        rows = self._log.next_rows(replica.number - (last is not None), limit + (last is not None))
        try:
            if last is not None and rows[:1] != [last]:
                raise CorruptFile(f"the log is not the one that was read: its row {last.number} is another, or gone")
            rows = rows[last is not None :]
            self.journal.follow(rows)
        except BaseException:
            self.journal.is_sound = False
            raise
        return len(rows)
