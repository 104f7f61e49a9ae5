"""Interface of executors: map a function over arguments, start actors, send a value to all workers once.

Everything that runs on several cores or machines goes through these three functions. Arguments and results travel
between processes as pickles, as in every pool of processes; nothing of it is written to a file.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from stumpery.errors import InvalidInput, StumperyError
from stumpery.options import shown

Result = TypeVar("Result")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)

Advance = Callable[[int], None]  # called with an amount of work that was just done
Task = Callable[[Any, Advance], Result]  # called with an argument; can be imported, or is a partial of such
N_STARTS = 4  # of one piece of work whose process dies each time
REPORT_S = 0.2  # between two reports of progress of one worker


class WorkerLost(StumperyError):  # noqa: N818 - the name says what happened
    """The process or machine of a worker or an actor is gone, with all that it held in memory.

    >>> issubclass(WorkerLost, StumperyError)
    True
    """


class Shared(Protocol[Value_co]):
    """A value that every worker receives at most once, however many arguments refer to it."""

    def get(self) -> Value_co:
        """The value, in whichever process this is called."""


class Actor(Protocol):
    """An object in a process of its own."""

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for its result; a WorkerLost says that the object is gone."""

    def stop(self) -> None:
        """End the actor's process, whatever it is doing."""


class Executor(Protocol):
    """Where jobs run: `Threads`, `Processes` or `RayCluster`; the results are the same, bit for bit."""

    @property
    def n_workers(self) -> int:
        """How many pieces of work run at once."""

    def map(
        self, function: Task[Result], arguments: Iterable[Any], *, progress: Advance | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with each argument; gives positions and results as they are finished, in any order.

        Work whose process is lost is done again, at most three times. An exception of the function is raised here, and
        ends the rest.

        Args:
            function: `function(argument, advance)`; a function of a module, or a partial of one.
            arguments: What it is called with; read as workers become free, so there may be very many.
            progress: Called with amounts of work: what the function gave to `advance`, each amount once.
        """

    def actor(self, kind: Callable[..., Any], *arguments: Any) -> Actor:
        """Start `kind(*arguments)` in a process of its own."""

    def put(self, value: Value) -> Shared[Value]:
        """Send a value to all workers."""


class ProgressCounts:
    """Counts of work by position, each amount reported once, also where work is begun again.

    Args:
        progress: what takes the amounts.
    """

    def __init__(self, progress: Advance | None) -> None:
        self._progress = progress
        self._reported: dict[int, int] = {}

    def update(self, position: int, total: int) -> None:
        """Take how much of a piece of work was done since its last beginning."""
        new = total - self._reported.get(position, 0)
        if new > 0:
            self._reported[position] = total
            if self._progress is not None:
                self._progress(new)

    def forget(self, position: int) -> None:
        """A piece of work is finished."""
        self._reported.pop(position, None)


def in_order(results: Iterable[tuple[int, Value]]) -> list[Value]:
    """The results of a map in the order of its arguments."""
    return [result for _, result in sorted(results, key=lambda pair: pair[0])]


def check_executor(executor: Any) -> None:
    """Validate that a value has the three functions of an executor."""
    if isinstance(executor, type) or not all(hasattr(executor, name) for name in ("map", "actor", "put")):
        raise InvalidInput(f"executor is {shown(executor)}; it must be one, such as stumpery.jobs.Processes(4)")
