"""Load on a running service: a closed loop of connections, or requests at a constant rate, and their latencies."""

import asyncio
import json
import random
import selectors
import time
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class Latencies(NamedTuple):
    """Requests a second, and quantiles of the milliseconds from when each was due to its answer."""

    requests_per_s: float
    p50_ms: float
    p99_ms: float
    n: int
    n_failed: int


class LoadConnection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the service closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Resolve the request that waits, when its answer is complete."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) >= length and self._answer is not None:
            self._buffer = b""
            self._answer.set_result((int(head[9:12]), body))

    async def send(self, content: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(content)
        return await self._answer


def request(path: str, body: object, key: str | None = None) -> bytes:
    """A POST request as bytes."""
    content = json.dumps(body).encode()
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nHost: load\r\n{authorization}Content-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def contexts(n: int, n_columns: int, seed: int) -> list[dict[str, float | str]]:
    """Contexts of numbers and two categories."""
    rng = random.Random(seed)  # noqa: S311 - load, not a secret
    rows: list[dict[str, float | str]] = []
    for _ in range(n):
        row: dict[str, float | str] = {f"x{column}": round(rng.gauss(0, 1), 6) for column in range(n_columns - 2)}
        rows.append({**row, "device": rng.choice(["phone", "desk", "watch"]), "country": f"c{rng.randrange(20)}"})
    return rows


async def closed_loop(port: int, bodies: Sequence[bytes], concurrency: int, seconds: float) -> Latencies:
    """Each of the connections sends its next request when its last one is answered."""
    loop = asyncio.get_running_loop()
    connections = [(await loop.create_connection(LoadConnection, "127.0.0.1", port))[1] for _ in range(concurrency)]
    latencies: list[float] = []
    n_failed = 0
    start = time.perf_counter()

    async def run(index: int, connection: LoadConnection) -> None:
        nonlocal n_failed
        while (sent := time.perf_counter()) - start < seconds or not latencies:  # on a machine that stood still, one
            status, _ = await connection.send(bodies[index % len(bodies)])
            n_failed += status != 200
            latencies.append(time.perf_counter() - sent)
            index += concurrency

    await asyncio.gather(*(run(index, connection) for index, connection in enumerate(connections)))
    for connection in connections:
        connection.transport.close()
    return _latencies(latencies, time.perf_counter() - start, n_failed)


async def open_loop(port: int, bodies: Sequence[bytes], rate: float, seconds: float) -> Latencies:
    """Requests at a constant rate, whether earlier ones are answered or not: stalls count."""
    loop = asyncio.get_running_loop()
    free: asyncio.Queue[LoadConnection] = asyncio.Queue()
    for _ in range(64):
        free.put_nowait((await loop.create_connection(LoadConnection, "127.0.0.1", port))[1])
    latencies: list[float] = []
    n_failed = 0
    start = time.perf_counter() + 0.05

    async def run(index: int) -> None:
        nonlocal n_failed
        connection = await free.get()
        status, _ = await connection.send(bodies[index % len(bodies)])
        free.put_nowait(connection)
        n_failed += status != 200
        latencies.append(time.perf_counter() - (start + index / rate))

    tasks = []
    for index in range(round(rate * seconds)):
        await asyncio.sleep(max(0.0, start + index / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(run(index)))
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().transport.close()
    return _latencies(latencies, time.perf_counter() - start, n_failed)


def _latencies(seconds: list[float], duration: float, n_failed: int) -> Latencies:
    ordered = sorted(seconds)
    quantiles = [1000 * ordered[min(len(ordered) - 1, round(share * len(ordered)))] for share in (0.5, 0.99)]
    return Latencies(len(ordered) / duration, quantiles[0], quantiles[1], len(ordered), n_failed)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a client; its clock has the resolution of microseconds, where that of epoll has milliseconds."""
    with asyncio.Runner(loop_factory=_precise_loop) as runner:
        return runner.run(work)


def _precise_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(selectors.SelectSelector())
