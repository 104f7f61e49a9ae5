"""The engine: one thread that owns the policies, and writes the log by turns with the engines of other processes.

Requests wait in a queue. The thread takes all that wait and waits for its turn to write the log. In it, it applies what
other processes have written, lets each request add its events to the journal, and commits them; only then it answers:
an answer leaves after its rows are on the disk. Rewards are learned after that, in the log's order.
"""

import asyncio
import gc
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from stumpery.errors import InvalidInput, StumperyError
from stumpery.service.engine.alarms import Alarms
from stumpery.service.engine.answers import Answer, Reply, send
from stumpery.service.engine.duties import Duties
from stumpery.service.engine.journal import Journal, wall_clock
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.errors import ServiceUnavailable, TooManyRequests
from stumpery.service.events import ClockRead, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.log.opening import open_log
from stumpery.service.members.leading import Leading
from stumpery.service.members.opening import open_members
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import SiteSettings

logger = logging.getLogger(__name__)
SNAPSHOT_FOLDER = "snapshots"
TICK_S, RETRY_S = 0.1, 1.0
MAX_GROUP = 256  # requests in one commit
MAX_FOLLOWED = 1_000  # events that are read at once
MAX_TRIES = 5  # to find a turn with fewer than these to read

Task = Callable[[Journal], Any]
Fallback = Callable[[SiteReplica], Any] | None
Request = tuple[Task, Reply, Fallback]


class Engine:
    """The thread that decides, learns and writes the log.

    Args:
        settings: The site.
        log: The event log; by default the SQLite file in the site's folder, or its database.
        clock: Milliseconds since 1970.
    """

    def __init__(
        self, settings: SiteSettings, log: EventLog | None = None, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.settings = settings
        self.folder = Path(settings.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"the folder {self.folder} cannot be used: {error.strerror}") from None
        self.log: EventLog = open_log(settings) if log is None else log
        self.snapshots = Snapshots(self.folder / SNAPSHOT_FOLDER)
        self.leading = Leading(settings, open_members(settings, self.log))
        self.n_commits = self.n_committed = self.n_late = self.n_behind = 0
        self.alarms = Alarms(settings.webhook)
        self.duties = Duties(settings, self.leading, self.snapshots, self.alarms)
        self.commit_s: deque[float] = deque(maxlen=1_000)
        self._clock = clock
        self._queue: SimpleQueue[Request] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="stumpery-engine", daemon=True)
        self._reason: str | None = "the log is being read"  # why nothing can be recorded
        self._is_stopping = False
        self._retry_at = self._current_at = 0.0

    # From other threads.

    def start(self) -> None:
        """Restore the replica and begin to take requests; returns when it is ready."""
        self._restore()
        self._reason = None
        self._tell()
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, write a snapshot, and close the log."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._queue.put((_nothing, Future(), None))
            self._thread.join()
            if self._reason is None:
                self.duties.end(self.journal)
            self.leading.leave()
        self.log.close()

    @property
    def failure(self) -> str | None:
        """Why this process is not ready, in one sentence; None where it is."""
        if self._reason is not None:
            return self._reason
        if self.n_behind > self.settings.lag_events:
            return f"this process is {self.n_behind:,} events behind; the limit is {self.settings.lag_events:,}"
        lag_s = time.monotonic() - self._current_at
        if lag_s > self.settings.lag_s and self._thread.is_alive():
            return f"this process has not read the log for {lag_s:.0f} s; the limit is {self.settings.lag_s:g} s"
        return None

    @property
    def is_ready(self) -> bool:
        """Whether this process can record events, and is not far behind."""
        return self.failure is None

    def submit(self, task: Task, fallback: Fallback = None) -> "asyncio.Future[Any]":
        """Queue a task from a coroutine; its result comes after its events are durable.

        `fallback` answers where the log cannot be written.
        """
        if self._queue.qsize() >= self.settings.limits.waiting_requests:
            raise TooManyRequests(f"{self._queue.qsize()} requests wait, which is the limit; try again later")
        reply = asyncio.get_running_loop().create_future()
        self._queue.put((task, reply, fallback))
        return reply

    def call(self, task: Task, fallback: Fallback = None) -> Any:
        """Run a task from any other thread, and wait until its events are durable."""
        reply: Future[Any] = Future()
        self._queue.put((task, reply, fallback))
        return reply.result()

    # In the engine's thread.

    def _run(self) -> None:
        wait_s = 0.0
        while not (self._is_stopping and self._queue.empty()):
            group = self._take(wait_s)
            wait_s = TICK_S
            try:
                if self._process(group):
                    wait_s = 0.0
            except Exception:
                logger.exception("the engine failed at a group of requests")
                self._fail("an internal error; the replica is restored from the log")
                self.journal.is_sound = False
                send(self._unavailable(group))
        self.journal.replica.learn()

    def _take(self, wait_s: float) -> list[Request]:
        """All requests that wait, after waiting for one."""
        try:
            group = [self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait()]
        except Empty:
            return []
        while len(group) < MAX_GROUP:
            try:
                group.append(self._queue.get_nowait())
            except Empty:
                break
        return group

    def _process(self, group: list[Request]) -> bool:
        """Answer a group of requests, and do what else is due; whether there is more to do at once."""
        if self._reason is not None and not self._recovered():
            send(self._unavailable(group))
            return False
        try:
            if not (group and self._was_current()) and not self._followed():
                send(self._unavailable(group))
                return True
            if self.leading.is_due():
                self._tell()
            if group or self.duties.are_due(self.journal):
                self._answer_in_turn(group)
            self.journal.replica.learn()
            self.duties.look_after(self.journal)
            return self.duties.are_due(self.journal)
        except StumperyError as error:
            self._fail(str(error))
            send(self._unavailable(group))
            return False

    def _was_current(self) -> bool:
        """Whether this process had read the log to its end a moment ago; the rest it reads in its turn."""
        return time.monotonic() - self._current_at < TICK_S

    def _followed(self) -> bool:
        """Apply some of what other processes have written, outside of a turn; whether this one is not far behind."""
        journal = self.journal
        journal.read_clock()
        rows = self.log.next_rows(journal.replica.number, MAX_FOLLOWED)
        journal.follow(rows)
        if len(rows) < MAX_FOLLOWED:
            self.n_behind, self._current_at = 0, time.monotonic()
            return True
        self.n_behind = self.log.last()[0] - journal.replica.number
        return self.n_behind <= self.settings.lag_events

    def _answer_in_turn(self, group: list[Request]) -> None:
        start = time.perf_counter()
        answers, n = self._turn(group)
        self.journal.is_sound = True
        if n:
            self.commit_s.append(time.perf_counter() - start)
            self.n_commits += 1
            self.n_committed += n
        send(answers)

    def _turn(self, group: list[Request]) -> tuple[list[Answer], int]:
        """The answers to requests, and the number of events that they and duties added to the log, in one turn."""
        for _ in range(MAX_TRIES):
            with self.log.turn():
                if self._read_to_the_end():
                    self.journal.read_clock()
                    self.duties.write(self.journal)
                    answers = [(reply, *self._result_of(task)) for task, reply, _ in group]
                    return answers, self._commit()
            while not self._followed():
                pass
        raise ServiceUnavailable("other processes write the log faster than this one reads it")

    def _read_to_the_end(self) -> bool:
        """Read to the end of the log in a turn, if it is not far, since others wait."""
        rows = self.log.next_rows(self.journal.replica.number, MAX_FOLLOWED)
        self.journal.follow(rows)
        self._current_at = time.monotonic()
        return len(rows) < MAX_FOLLOWED

    def _commit(self) -> int:
        return self.journal.commit()

    def _result_of(self, task: Task) -> tuple[Any, Exception | None]:
        try:
            return task(self.journal), None
        except StumperyError as error:
            return None, error
        except Exception as error:
            logger.exception("a request failed")
            return None, error

    def _unavailable(self, group: list[Request]) -> list[Answer]:
        """Fallbacks where there are some, or why nothing can be recorded."""
        return [(reply, *self._fallback_result(fallback)) for _, reply, fallback in group]

    def _fallback_result(self, fallback: Fallback) -> tuple[Any, Exception | None]:
        if fallback is None:
            return None, ServiceUnavailable(f"nothing can be recorded now: {self.failure}")
        try:
            return fallback(self.journal.replica), None
        except StumperyError as refusal:
            return None, refusal

    def _tell(self) -> None:
        replica, n_behind = self.journal.replica, self.n_behind
        self.leading.tell(replica, n_behind=n_behind, n_committed=self.n_committed, is_ready=self.is_ready)

    # Failures of the log.

    def _fail(self, reason: str) -> None:
        """Stop recording, until the log can be written again."""
        logger.error("nothing can be recorded: %s", reason)
        self._reason = reason
        self._retry_at = time.monotonic() + RETRY_S

    def _recovered(self) -> bool:
        """Try, once a second, whether the log can be written again."""
        if time.monotonic() < self._retry_at:
            return False
        self._retry_at = time.monotonic() + RETRY_S
        try:
            with self.log.turn():
                number, last = self.log.last()
                self.log.append([LogRow(number + 1, max(self._clock(), last), "", None, encoded(ClockRead()))])
            if not self.journal.is_sound:
                self._restore()
        except StumperyError as error:
            self._reason = str(error)
            return False
        logger.info("the log can be written again")
        self._reason = None
        return True

    def _restore(self) -> None:
        gc.disable()  # it would look at hundreds of thousands of open decisions again and again
        try:
            replica = self.snapshots.restore(self.log)
        finally:
            gc.enable()
        replica.hashes = True
        self._current_at = time.monotonic()
        self.journal = Journal(self.log, replica, self._clock, self.alarms.see)


def _nothing(_journal: Journal) -> None:
    """A task that wakes the thread."""
