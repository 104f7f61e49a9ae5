"""A worker in a process of its own: what it runs, and the end of the pipe that its parent holds."""

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Lock
from time import monotonic
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.jobs.executor import REPORT_S, WorkerLost
from stumpery.options import shown

VALUES: dict[int, Any] = {}  # in a worker: values that were sent to it, by number
END_S = 5.0  # to end a process by itself

CALL, START, METHOD, VALUE = "call", "start", "method", "value"  # requests
PROGRESS, RESULT, ERROR = "progress", "result", "error"  # answers


class WorkerProcess:
    """The parent's end of a worker: requests go out, answers come back, a WorkerLost says that it is gone."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        self.pid = self._process.pid  # also when it was ended, which another thread may do
        theirs.close()
        self._known: set[int] = set()
        self._ending, self._is_ended = Lock(), False

    def send(self, *request: Any) -> None:
        """Send a request."""
        try:
            content = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInput(f"{shown(request[1])} cannot be sent to another process: {error}") from None
        try:
            self.connection.send_bytes(content)
        except OSError:
            raise WorkerLost(f"the process {self.pid} is gone") from None

    def send_values(self, values: dict[int, Any]) -> None:
        """Send those of the values that it does not have."""
        for number in values.keys() - self._known:
            self.send(VALUE, number, values[number])
            self._known.add(number)

    def receive(self) -> tuple[str, Any]:
        """The next answer: its kind, and the amount of work, result or exception."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            raise WorkerLost(f"the process {self.pid} is gone") from None
        return kind, content

    def result(self) -> Any:
        """The next result; an exception is raised."""
        while True:
            kind, content = self.receive()
            if kind == ERROR:
                raise content
            if kind == RESULT:
                return content

    def end(self, *, at_once: bool = False) -> None:
        """End the process: an idle one by itself, or at once; several threads may do it."""
        with self._ending:
            if self._is_ended:
                return
            self._is_ended = True
            self.connection.close()
            if at_once:
                self._process.kill()
            self._process.join(END_S)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process.close()


def serve(connection: Connection) -> None:
    """Answer requests until the parent closes the pipe, or is gone; runs in the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which ends its workers
    inner: list[Any] = []
    while True:
        try:
            content = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            request = pickle.loads(content)  # noqa: S301 - our parent wrote it
            if request[0] == VALUE:
                VALUES[request[1]] = request[2]
                continue
            answer = (RESULT, answered(request, connection, inner))
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            error.add_note(f"in the worker process {os.getpid()}:\n{traceback.format_exc()}")
            answer = (ERROR, error)
        send_answer(connection, answer)


def answered(request: tuple[Any, ...], connection: Connection, inner: list[Any]) -> Any:
    """The result of a request."""
    kind, *rest = request
    if kind == CALL:
        function, argument = rest
        reporter = Reporter(lambda total: connection.send((PROGRESS, total)))
        result = function(argument, reporter)
        reporter.finish()
        return result
    if kind == START:
        inner[:] = [rest[0](*rest[1])]
        return None
    return getattr(inner[0], rest[0])(*rest[1])


def send_answer(connection: Connection, answer: tuple[str, Any]) -> None:
    """Send an answer; where it cannot be pickled, an exception that says so."""
    try:
        content = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        if answer[0] == ERROR:
            pickle.loads(content)  # noqa: S301 - some exceptions can be written and not be read
    except Exception as error:
        text = f"the {type(answer[1]).__name__} of a worker cannot be sent: {error}; it is {answer[1]!r}"
        content = pickle.dumps((ERROR, InvalidInput(text)), pickle.HIGHEST_PROTOCOL)
    connection.send_bytes(content)


class Reporter:
    """Counts work that was done, and reports the total a few times a second.

    Args:
        send: what takes the total.
    """

    def __init__(self, send: Callable[[int], Any]) -> None:
        self._send = send
        self.total = 0
        self._last = 0.0

    def __call__(self, n: int) -> None:
        """Count work."""
        self.total += n
        now = monotonic()
        if now - self._last >= REPORT_S:
            self._last = now
            self._send(self.total)

    def finish(self) -> None:
        """Report the total at the end."""
        self._send(self.total)
