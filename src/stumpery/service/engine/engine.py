"""The engine: one thread that owns the policies, and writes the log by turns with the engines of other processes.

Requests wait in a queue. The thread takes all that wait and waits for its turn to write the log. In it, it applies what
other processes have written, lets each request add its events to the journal, and commits them; only then it answers:
an answer leaves after its rows are on the disk. Rewards are learned after that, in the log's order.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from stumpery.errors import InvalidInput, StumperyError
from stumpery.service.engine.alarms import Alarms
from stumpery.service.engine.answers import Answer, send
from stumpery.service.engine.duties import Duties
from stumpery.service.engine.journal import Journal, wall_clock
from stumpery.service.engine.replication import Replication
from stumpery.service.engine.requests import Fallback, Request, RequestQueue, Task
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.errors import TooManyRequests
from stumpery.service.log.event_log import EventLog
from stumpery.service.log.opening import open_log
from stumpery.service.members.leading import Leading
from stumpery.service.members.opening import open_members
from stumpery.service.settings import SiteSettings

logger = logging.getLogger(__name__)
TICK_S, RETRY_S = 0.1, 1.0


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
        self.n_commits = self.n_committed = self.n_late = 0
        self.alarms = Alarms(settings.webhook)
        self.replication = Replication(settings, self.log, self.snapshots, clock, self.alarms.see)
        self.duties = Duties(settings, self.leading, self.snapshots, self.alarms)
        self.commit_s: deque[float] = deque(maxlen=1_000)
        self._queue = RequestQueue()
        self._thread = threading.Thread(target=self._run, name="stumpery-engine", daemon=True)
        self._reason: str | None = "the log is being read"  # why nothing can be recorded
        self._is_stopping = False
        self._retry_at = 0.0

    # From other threads.

    def start(self) -> None:
        """Restore the replica and begin to take requests; returns when it is ready."""
        self.replication.restore()
        self.replication.warm_up()
        self._reason = None
        self._tell()
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, write a snapshot, and close the log."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._queue.put(_nothing, Future())
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
        if self.leading.is_replaced:
            return f"another process runs under the name {self.leading.name!r}; give each a --name of its own"
        return self.replication.lag if self._thread.is_alive() else None

    @property
    def journal(self) -> Journal:
        """The journal; another one after a failure of the log."""
        return self.replication.journal

    @property
    def is_ready(self) -> bool:
        """Whether this process can record events, and is not far behind."""
        return self.failure is None

    def submit(
        self, task: Task, fallback: Fallback = None, decisions: Sequence[tuple[str, str]] = ()
    ) -> "asyncio.Future[Any]":
        """Queue a task from a coroutine; its result comes after its events are durable.

        `fallback` answers where the log cannot be written, `decisions` are those that the task asks for.
        """
        if len(self._queue) >= self.settings.limits.waiting_requests:
            raise TooManyRequests(f"{len(self._queue)} requests wait, which is the limit; try again later")
        reply = asyncio.get_running_loop().create_future()
        self._queue.put(task, reply, fallback, decisions)
        return reply

    def call(self, task: Task, fallback: Fallback = None) -> Any:
        """Run a task from any other thread, and wait until its events are durable."""
        reply: Future[Any] = Future()
        self._queue.put(task, reply, fallback)
        return reply.result()

    # In the engine's thread.

    def _run(self) -> None:
        wait_s = 0.0
        while len(self._queue) or not self._is_stopping:
            group = self._queue.take(wait_s)
            wait_s = TICK_S
            try:
                if self._process(group):
                    wait_s = 0.0
            except Exception:
                logger.exception("the engine failed at a group of requests")
                self._fail("an internal error; the replica is restored from the log")
                self.journal.is_sound = False
                self._send_unrecorded(group)
        self.journal.replica.learn()

    def _process(self, group: list[Request]) -> bool:
        """Answer a group of requests, and do what else is due; whether there is more to do at once."""
        if self._reason is not None and not self._recovered():
            self._send_unrecorded(group)
            return False
        replication = self.replication
        try:
            if not (group and replication.was_current()) and not replication.follow():
                self._send_unrecorded(group)
                return True
            if self.leading.is_due():
                self._tell()
            if self.leading.is_replaced:
                self._send_unrecorded(group)
                return False
            if group or self.duties.are_due(self.journal):
                self._answer_in_turn(group)
            self.journal.replica.learn()
            replication.warm_up()
            self.duties.look_after(self.journal)
            return self.duties.are_due(self.journal)
        except StumperyError as error:
            self._fail(str(error))
            self._send_unrecorded(group)
            return False

    def _answer_in_turn(self, group: list[Request]) -> None:
        start = time.perf_counter()
        done = self.replication.in_turn(partial(self._answers, group))
        if done is None:
            self._send_unrecorded(group)
            return
        answers, n = done
        if n:
            self.commit_s.append(time.perf_counter() - start)
            self.n_commits += 1
            self.n_committed += n
        send(answers)

    def _answers(self, group: list[Request]) -> list[Answer]:
        """The answers to requests; they and the duties add their events to the journal."""
        self.duties.write(self.journal)
        self.journal.look_up(chain.from_iterable(each.decisions for each in group))
        return [each.answer(self.journal) for each in group]

    def _send_unrecorded(self, group: list[Request]) -> None:
        """Answer with fallbacks where there are some, or say why nothing can be recorded."""
        send([each.unrecorded(self.journal.replica, self.failure) for each in group])

    def _tell(self) -> None:
        replica, n_behind = self.journal.replica, self.replication.n_behind
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
            self.replication.write_clock()
            if not self.journal.is_sound:
                self.replication.restore()
        except StumperyError as error:
            self._reason = str(error)
            return False
        logger.info("the log can be written again")
        self._reason = None
        return True


def _nothing(_journal: Journal) -> None:
    """A task that wakes the thread."""
