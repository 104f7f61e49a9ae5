"""Jobs in processes of this machine, which are started when they are needed and end with the executor."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import wait
from typing import Any, Generic, Self, TypeVar

from stumpery.jobs.executor import N_STARTS, Advance, ProgressCounts, Result, Shared, Task, WorkerLost
from stumpery.jobs.worker_process import CALL, ERROR, METHOD, PROGRESS, START, VALUES, WorkerProcess
from stumpery.options import check_whole

Sent = TypeVar("Sent")
NUMBERS = count()  # of values, one series for all executors of a process


@dataclass
class RunningTask:
    """A piece of work: its position, argument, worker, and how often it was begun."""

    position: int
    argument: Any
    worker: WorkerProcess
    n_starts: int = 1


class Processes:
    """Processes of this machine: the executor for work that needs the interpreter as well as kernels.

    Its processes are started when they are needed, and kept for the next `map`; `close`, or a with block, ends them. A
    script that uses it begins with `if __name__ == "__main__":`, as its processes import the script.

    Args:
        n: Processes that run at once.

    >>> import math
    >>> with Processes(2) as processes:
    ...     actor = processes.actor(list, [3, 4])
    ...     actor.call("pop")
    4
    """

    def __init__(self, n: int = 2) -> None:
        check_whole("n", n, 1)
        self._n = n
        self._idle: list[WorkerProcess] = []
        self._actors: list[ProcessActor] = []
        self._values: dict[int, Any] = {}

    @property
    def n_workers(self) -> int:
        """How many pieces of work run at once."""
        return self._n

    def map(
        self, function: Task[Result], arguments: Iterable[Any], *, progress: Advance | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with each argument; see `Executor.map`."""
        waiting, counts = enumerate(arguments), ProgressCounts(progress)
        running: dict[Any, RunningTask] = {}
        try:
            while True:
                while len(running) < self._n and (next_one := next(waiting, None)) is not None:
                    work = RunningTask(*next_one, self._idle.pop() if self._idle else WorkerProcess())
                    running[work.worker.connection] = work
                    self._begin(function, work, running)
                if not running:
                    return
                for connection in wait(list(running)):
                    work = running[connection]
                    try:
                        kind, content = work.worker.receive()
                    except WorkerLost:
                        self._begin_again(function, work, running)
                        continue
                    if kind == PROGRESS:
                        counts.update(work.position, content)
                        continue
                    self._idle.append(running.pop(connection).worker)
                    counts.forget(work.position)
                    if kind == ERROR:
                        raise content
                    yield work.position, content
        finally:
            for work in running.values():
                work.worker.end(at_once=True)

    def _begin(self, function: Task[Result], work: RunningTask, running: dict[Any, RunningTask]) -> None:
        try:
            work.worker.send_values(self._values)
            work.worker.send(CALL, function, work.argument)
        except WorkerLost:
            self._begin_again(function, work, running)

    def _begin_again(self, function: Task[Result], work: RunningTask, running: dict[Any, RunningTask]) -> None:
        """Give work to a new process, in place of one that is gone."""
        del running[work.worker.connection]
        work.worker.end(at_once=True)
        if work.n_starts == N_STARTS:
            raise WorkerLost(f"the process of argument {work.position} ended by itself {N_STARTS} times")
        work.worker, work.n_starts = WorkerProcess(), work.n_starts + 1
        running[work.worker.connection] = work
        self._begin(function, work, running)

    def actor(self, kind: Callable[..., Any], *arguments: Any) -> "ProcessActor":
        """Start `kind(*arguments)` in a process of its own."""
        made = ProcessActor(self._values, kind, arguments)
        self._actors.append(made)
        return made

    def put(self, value: Sent) -> Shared[Sent]:
        """Send a value to each process when it gets its next work; it is kept until the executor is closed."""
        number = next(NUMBERS)
        self._values[number] = value
        return SentValue(number)

    def close(self) -> None:
        """End all processes."""
        for actor in self._actors:
            actor.stop()
        for worker in self._idle:
            worker.end()
        self._actors, self._idle, self._values = [], [], {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Processes({self._n})"


class SentValue(Generic[Sent]):
    """A value that workers have under its number.

    Args:
        number: the number.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def get(self) -> Sent:
        """The value; in a worker only."""
        value: Sent = VALUES[self._number]
        return value


class ProcessActor:
    """An object in a process of this machine.

    Args:
        values: those of the executor.
        kind: what makes the object.
        arguments: of `kind`.
    """

    def __init__(self, values: dict[int, Any], kind: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._values = values
        self._worker: WorkerProcess | None = WorkerProcess()
        self._ask(START, kind, arguments)

    @property
    def pid(self) -> int | None:
        """The number of its process, None when it was stopped."""
        return None if self._worker is None else self._worker.pid

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for its result."""
        return self._ask(METHOD, method, arguments)

    def _ask(self, *request: Any) -> Any:
        worker = self._worker
        if worker is None:
            raise WorkerLost("this actor was stopped")
        worker.send_values(self._values)
        worker.send(*request)
        return worker.result()

    def stop(self) -> None:
        """End the actor's process, whatever it is doing."""
        worker, self._worker = self._worker, None  # another thread may stop it, too
        if worker is not None:
            worker.end(at_once=True)
