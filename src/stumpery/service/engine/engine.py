"""The engine: one thread that owns the policies and the log, and commits requests in groups.

Requests wait in a queue. The thread takes all that wait, lets each add its events to the journal, commits them in one
transaction, and only then answers: an answer leaves after its rows are on the disk. Rewards are learned after that,
in the log's order.
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
from stumpery.service.engine.journal import Journal, wall_clock
from stumpery.service.engine.rewarding import settle
from stumpery.service.engine.saving import SnapshotSaver
from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.errors import ServiceUnavailable, TooManyRequests
from stumpery.service.events import ClockRead, encoded
from stumpery.service.log.event_log import EventLog, LogRow
from stumpery.service.log.opening import open_log
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import SiteSettings

logger = logging.getLogger(__name__)
SNAPSHOT_FOLDER = "snapshots"
TICK_S, RETRY_S = 0.1, 1.0
TRIM_S, MAX_TRIMMED = 1.0, 10_000
MAX_GROUP = 256  # requests in one commit

Task = Callable[[Journal], Any]
Fallback = Callable[[SiteReplica], Any] | None
Reply = Any  # an asyncio or a concurrent future


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
        self.is_ready = False
        self.failure = "the log is being read"
        self.n_commits = self.n_committed = self.n_late = 0
        self.alarms = Alarms(settings.webhook)
        self.commit_s: deque[float] = deque(maxlen=1_000)
        self._clock = clock
        self._queue: SimpleQueue[tuple[Task, Reply, Fallback]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="stumpery-engine", daemon=True)
        self._is_stopping = False
        self._retry_at = self._trim_at = 0.0

    # From other threads.

    def start(self) -> None:
        """Restore the replica and begin to take requests; returns when it is ready."""
        self._restore()
        self._saver = SnapshotSaver(self.snapshots, self.settings, self.journal.replica.number)
        self.is_ready = True
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, write a snapshot, and close the log."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._queue.put((_nothing, Future(), None))
            self._thread.join()
            if self.is_ready:
                self._saver.save_last(self.journal.replica)
        self.log.close()

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
        while not (self._is_stopping and self._queue.empty()):
            group = self._take()
            try:
                self._process(group)
            except Exception:
                logger.exception("the engine failed at a group of requests")
                self._fail("an internal error; the replica is restored from the log")
                self._answer([self._unavailable(reply, fallback) for _, reply, fallback in group])
        self.journal.replica.learn()

    def _take(self) -> list[tuple[Task, Reply, Fallback]]:
        """All requests that wait, after waiting for one."""
        try:
            group = [self._queue.get(timeout=TICK_S)]
        except Empty:
            return []
        while len(group) < MAX_GROUP:
            try:
                group.append(self._queue.get_nowait())
            except Empty:
                break
        return group

    def _process(self, group: list[tuple[Task, Reply, Fallback]]) -> None:
        if not self.is_ready and not self._recovered():
            self._answer([self._unavailable(reply, fallback) for _, reply, fallback in group])
            return
        journal = self.journal
        journal.read_clock()
        settle(journal)
        answers = [(reply, *self._result_of(task)) for task, reply, _ in group]
        try:
            self._commit()
        except StumperyError as error:
            self._fail(str(error))
            answers = [self._unavailable(reply, fallback) for _, reply, fallback in group]
        self._answer(answers)
        if self.is_ready:
            journal.replica.learn()
            self._saver.save_if_due(journal.replica)
            self._trim()
            self.alarms.look_if_due(journal.replica)

    def _trim(self) -> None:
        """Delete events beyond the retention, a few each second; what the oldest snapshot does not hold stays."""
        retention_s = self.settings.retention_s
        if retention_s is None or time.monotonic() < self._trim_at:
            return
        self._trim_at = time.monotonic() + TRIM_S
        oldest = min(self.snapshots.numbers(), default=0)
        old = self.log.number_at(self.journal.time - round(1000 * retention_s))
        self.log.trim(min(oldest, old) + 1, MAX_TRIMMED)

    def _commit(self) -> None:
        start = time.perf_counter()
        n = self.journal.commit()
        if n:
            self.commit_s.append(time.perf_counter() - start)
            self.n_commits += 1
            self.n_committed += n

    def _result_of(self, task: Task) -> tuple[Any, Exception | None]:
        try:
            return task(self.journal), None
        except StumperyError as error:
            return None, error
        except Exception as error:
            logger.exception("a request failed")
            return None, error

    def _unavailable(self, reply: Reply, fallback: Fallback) -> tuple[Reply, Any, Exception | None]:
        error = ServiceUnavailable(f"nothing can be recorded now: {self.failure}")
        if fallback is None:
            return reply, None, error
        try:
            return reply, fallback(self.journal.replica), None
        except StumperyError as refusal:
            return reply, None, refusal

    def _answer(self, answers: list[tuple[Reply, Any, Exception | None]]) -> None:
        """Resolve futures, those of an event loop in one call."""
        loops: dict[Any, list[tuple[Reply, Any, Exception | None]]] = {}
        for answer in answers:
            if isinstance(answer[0], Future):
                _resolve(*answer)
            else:
                loops.setdefault(answer[0].get_loop(), []).append(answer)
        for loop, own in loops.items():
            try:
                loop.call_soon_threadsafe(_resolve_all, own)
            except RuntimeError:  # the loop is closed: nobody waits
                logger.debug("answers came after the event loop was closed")

    # Failures of the log.

    def _fail(self, reason: str) -> None:
        """Stop recording, and go back to what is in the log."""
        logger.error("nothing can be recorded: %s", reason)
        self.is_ready, self.failure = False, reason
        self._retry_at = time.monotonic() + RETRY_S

    def _recovered(self) -> bool:
        """Try, once a second, whether the log can be written again."""
        if time.monotonic() < self._retry_at:
            return False
        self._retry_at = time.monotonic() + RETRY_S
        try:
            number, last = self.log.last()
            self.log.append([LogRow(number + 1, max(self._clock(), last), "", None, encoded(ClockRead()))])
            self._restore()
        except StumperyError as error:
            self.failure = str(error)
            return False
        logger.info("the log can be written again")
        self.is_ready = True
        return True

    def _restore(self) -> None:
        gc.disable()  # it would look at hundreds of thousands of open decisions again and again
        try:
            replica = self.snapshots.restore(self.log)
        finally:
            gc.enable()
        self.journal = Journal(self.log, replica, self._clock, self.alarms.see)


def _nothing(_journal: Journal) -> None:
    """A task that wakes the thread."""


def _resolve(reply: Reply, result: Any, error: Exception | None) -> None:
    if reply.cancelled() or reply.done():
        return
    if error is None:
        reply.set_result(result)
    else:
        reply.set_exception(error)


def _resolve_all(answers: list[tuple[Reply, Any, Exception | None]]) -> None:
    for answer in answers:
        _resolve(*answer)
