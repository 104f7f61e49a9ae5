"""Requests that wait for the engine: what each asks for, and what is answered where nothing can be recorded."""

import logging
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from stumpery.errors import StumperyError
from stumpery.service.engine.answers import Answer, Reply
from stumpery.service.engine.journal import Journal
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.replica.site_replica import SiteReplica

logger = logging.getLogger(__name__)
MAX_GROUP = 256  # requests in one commit

Task = Callable[[Journal], Any]
Fallback = Callable[[SiteReplica], Any] | None


class Request(NamedTuple):
    """A task for the engine, the future of its answer, and what answers where the log cannot be written.

    `decisions` are those that it names, by policy and id.
    """

    task: Task
    reply: Reply
    fallback: Fallback
    decisions: Sequence[tuple[str, str]]

    def answer(self, journal: Journal) -> Answer:
        """The answer of the task, which adds its events to the journal."""
        try:
            return self.reply, self.task(journal), None
        except StumperyError as error:
            return self.reply, None, error
        except Exception as error:
            logger.exception("a request failed")
            return self.reply, None, error

    def unrecorded(self, replica: SiteReplica, reason: str | None) -> Answer:
        """The fallback where there is one, or why nothing can be recorded."""
        if self.fallback is None:
            return self.reply, None, ServiceUnavailable(f"nothing can be recorded now: {reason}")
        try:
            return self.reply, self.fallback(replica), None
        except StumperyError as refusal:
            return self.reply, None, refusal


class RequestQueue:
    """Requests of all threads, in the order in which they came."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Request] = SimpleQueue()

    def __len__(self) -> int:
        return self._queue.qsize()

    def put(
        self, task: Task, reply: Reply, fallback: Fallback = None, decisions: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Add a request."""
        self._queue.put(Request(task, reply, fallback, decisions))

    def take(self, wait_s: float) -> list[Request]:
        """All requests that wait, up to MAX_GROUP, after waiting for one."""
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
