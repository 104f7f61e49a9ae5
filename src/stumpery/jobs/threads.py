"""Jobs in threads of this process: kernels release the interpreter's lock, and nothing is copied."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Generic, TypeVar

from stumpery.errors import StumperyError
from stumpery.jobs.executor import Advance, Result, Shared, Task, WorkerLost
from stumpery.options import check_whole

Held = TypeVar("Held")


class Stopped(StumperyError):  # noqa: N818 - the name says what happened
    """Work that was given up, because other work has failed."""


class Threads:
    """Threads of this process: the executor for work that is mostly in kernels.

    Args:
        n: Pieces of work that run at once.

    >>> def double(number, advance):
    ...     advance(1)
    ...     return 2 * number
    >>> sorted(Threads(2).map(double, [3, 4]))
    [(0, 6), (1, 8)]
    """

    def __init__(self, n: int = 2) -> None:
        check_whole("n", n, 1)
        self._n = n

    @property
    def n_workers(self) -> int:
        """How many pieces of work run at once."""
        return self._n

    def map(
        self, function: Task[Result], arguments: Iterable[Any], *, progress: Advance | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with each argument; see `Executor.map`."""
        stop = Event()

        def advance(n: int) -> None:
            if stop.is_set():
                raise Stopped("other work has failed")
            if progress is not None:
                progress(n)

        waiting = enumerate(arguments)
        running: dict[Future[Result], int] = {}
        pool = ThreadPoolExecutor(self._n)
        try:
            while True:
                while len(running) < self._n and (next_one := next(waiting, None)) is not None:
                    running[pool.submit(function, next_one[1], advance)] = next_one[0]
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=has_failed):
                    yield running.pop(future), future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)

    def actor(self, kind: Callable[..., Any], *arguments: Any) -> "ThreadActor":
        """Make `kind(*arguments)` in this process."""
        return ThreadActor(kind(*arguments))

    def put(self, value: Held) -> Shared[Held]:
        """The value itself."""
        return HeldValue(value)

    def __repr__(self) -> str:
        return f"Threads({self._n})"


def has_failed(future: Future[Any]) -> bool:
    """Whether work ended with an exception."""
    return future.exception() is not None


class HeldValue(Generic[Held]):
    """A value of this process.

    Args:
        value: the value.
    """

    def __init__(self, value: Held) -> None:
        self._value = value

    def get(self) -> Held:
        """The value."""
        return self._value


class ThreadActor:
    """An object of this process as an actor.

    Args:
        inner: the object.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method."""
        if self._inner is None:
            raise WorkerLost("this actor was stopped")
        return getattr(self._inner, method)(*arguments)

    def stop(self) -> None:
        """Let the object go."""
        self._inner = None
