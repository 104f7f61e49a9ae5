"""Jobs on a Ray cluster. No other file knows Ray.

A piece of work whose process or node is lost is done again by Ray; an actor is lost with its process, and whoever
started it begins another. Ray's dashboard and its usage statistics stay off.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from stumpery.jobs.executor import N_STARTS, REPORT_S, Advance, ProgressCounts, Result, Shared, Task, WorkerLost
from stumpery.jobs.worker_process import Reporter
from stumpery.options import check_whole, shown
from stumpery.system.extras import need

Placed = TypeVar("Placed")
CONNECT_S = 10.0  # for an answer of a cluster
LOCAL = "local"  # an address: a cluster of its own on this machine, which ends with the process


class RayCluster:
    """A Ray cluster: the executor for several machines; needs the extra `cluster`.

    Every machine has Stumpery of the same version, and sees the same files under the same paths where work reads or
    writes files. A cluster is started with `ray start`; without an address one is started on this machine. A process
    that is connected to Ray already stays so, whatever the address.

    Args:
        address: "local" starts a cluster on this machine, "auto" takes the one that runs here, HOST:PORT another.
        n: Pieces of work that are given to the cluster at once; by default as many as it has cores.

    >>> RayCluster(n=0)
    Traceback (most recent call last):
    stumpery.errors.InvalidInput: n is 0; it must be a whole number of 1 or more
    """

    def __init__(self, address: str = LOCAL, *, n: int | None = None) -> None:
        if n is not None:
            check_whole("n", n, 1)
        ray: Any = need("ray", "cluster")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's next default; it warns otherwise
        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            started_here = {"include_dashboard": False, "num_cpus": n} if address == LOCAL else {}
            check_answers(address)
            try:
                ray.init(address, log_to_driver=False, logging_level="error", **started_here)
            except (ConnectionError, RuntimeError, ValueError) as error:
                reason = " ".join(str(error).split())
                raise ConnectionError(f"there is no Ray cluster at {shown(address)}: {reason}") from None
        self._address = address
        self._n = n or max(int(ray.cluster_resources().get("CPU", 1)), 1)

    @property
    def n_workers(self) -> int:
        """How many pieces of work run at once."""
        return self._n

    def map(
        self, function: Task[Result], arguments: Iterable[Any], *, progress: Advance | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with each argument; see `Executor.map`."""
        ray = self._ray
        totals = ray.remote(num_cpus=0)(Totals).remote() if progress is not None else None
        call = ray.remote(num_cpus=1, max_retries=N_STARTS - 1)(called)
        task = ray.put(function)
        waiting, counts = enumerate(arguments), ProgressCounts(progress)
        running: dict[Any, int] = {}
        try:
            while True:
                while len(running) < self._n and (next_one := next(waiting, None)) is not None:
                    position, argument = next_one
                    running[call.remote(task, position, argument, totals)] = position
                if not running:
                    return
                finished, _ = ray.wait(list(running), timeout=None if totals is None else REPORT_S)
                if totals is not None:
                    for position, total in self._result(totals.take.remote()).items():
                        if position in running.values():  # what comes late was counted with the result
                            counts.update(position, total)
                for reference in finished:
                    position = running.pop(reference)
                    result, total = self._result(reference)
                    counts.update(position, total)
                    counts.forget(position)
                    yield position, result
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            if totals is not None:
                ray.kill(totals)

    def actor(self, kind: Callable[..., Any], *arguments: Any) -> "RayActor":
        """Start `kind(*arguments)` in a process of its own."""
        return RayActor(self, self._ray.remote(num_cpus=1, max_restarts=0)(Holder).remote(kind, arguments))

    def put(self, value: Placed) -> Shared[Placed]:
        """Put a value into the cluster's memory; a machine receives it once."""
        return PlacedValue(self._ray.put(value))

    def _result(self, reference: Any) -> Any:
        """A result; the exception of the function, or a WorkerLost."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.cause from None
        except (exceptions.RayActorError, exceptions.WorkerCrashedError, exceptions.ObjectLostError) as error:
            raise WorkerLost(" ".join(str(error).split("\n")[0].split())) from None
        except exceptions.NodeDiedError as error:
            raise WorkerLost(f"a node of the cluster is gone: {error}") from None

    def close(self) -> None:
        """Disconnect; a cluster that was started here ends."""
        if self._is_ours:
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RayCluster({self._address!r})"


def check_answers(address: str) -> None:
    """Refuse HOST:PORT where nothing answers: Ray itself tries for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"there is no Ray cluster at {shown(address)}: {error}") from None


class RayActor:
    """An object in a process of the cluster.

    Args:
        cluster: the cluster.
        handle: Ray's.
    """

    def __init__(self, cluster: RayCluster, handle: Any) -> None:
        self._cluster = cluster
        self._handle = handle

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for its result."""
        return self._cluster._result(self._handle.call.remote(method, arguments))

    def stop(self) -> None:
        """End the actor's process, whatever it is doing."""
        self._cluster._ray.kill(self._handle)


class PlacedValue(Generic[Placed]):
    """A value in the memory of the cluster.

    Args:
        reference: Ray's.
    """

    def __init__(self, reference: Any) -> None:
        self._reference = reference

    def get(self) -> Placed:
        """The value; read-only arrays."""
        import ray

        value: Placed = ray.get(self._reference)
        return value


class Holder:
    """The actor's side of a `RayActor`."""

    def __init__(self, kind: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._inner = kind(*arguments)

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method."""
        return getattr(self._inner, method)(*arguments)


class Totals:
    """Actor that holds how much of each running piece of work was done, until the driver takes it."""

    def __init__(self) -> None:
        self._by_position: dict[int, int] = {}

    def set(self, position: int, total: int) -> None:
        """Set how much of a piece of work was done."""
        self._by_position[position] = total

    def take(self) -> dict[int, int]:
        """What has come since the last time."""
        taken, self._by_position = self._by_position, {}
        return taken


def called(function: Any, position: int, argument: Any, totals: Any) -> tuple[Any, int]:
    """The result of a function, whose progress goes to `totals`, and how much was done; runs in a worker."""
    reporter = Reporter(lambda total: None if totals is None else totals.set.remote(position, total))
    return function(argument, reporter), reporter.total
