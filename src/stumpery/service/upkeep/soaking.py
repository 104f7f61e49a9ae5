"""A soak: a service under full load for which a day passes, and whether memory, disk and latencies stay as they are.

The clock of the server runs faster, so that waits end, defaults are learned and events reach the end of the retention;
snapshots are written all the while.
"""

import asyncio
import multiprocessing
import random
import statistics
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from stumpery.service.engine.journal import wall_clock
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.log.opening import LOG_FILE
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.server import serve
from stumpery.service.settings import PolicySettings, SiteSettings
from stumpery.service.upkeep.load import LoadConnection, contexts, request, run

DAY_S, N_WINDOWS = 86_400, 30
SOAK_ACTIONS = ("news", "sport", "film")
N_SOAK_CONTEXTS, N_SOAK_COLUMNS = 2_000, 12
SOAK_WAIT_S, SOAK_RETENTION_S = 600.0, 3_600.0  # by the server's clock
SNAPSHOT_S, MIN_SNAPSHOTS = 20.0, 10  # by ours; so many at least
MODEL_BYTES = 20_000_000
REWARD_SHARE, REWARD_LAG = 0.3, 200  # of decisions; decisions until the reward of one comes
MAX_GROWTH = 1.25  # of memory, disk and latencies, from the middle third to the last
Line = dict[str, Any]


class Window(NamedTuple):
    """What was seen in one window of time; sizes at its end, which is `hour` of the server's day."""

    hour: float
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    n_failed: int
    memory_mb: float
    disk_mb: float
    first_event: int
    last_event: int
    snapshots: int


def soak(minutes: float, connections: int) -> Iterator[Line]:
    """A line for each window of time, and one with the verdict, whose `is_flat` says whether all stayed as it was."""
    with TemporaryDirectory(prefix="stumpery-soak-") as folder, _server(folder, minutes) as (process, port):
        windows: list[Window] = []
        seconds = 60.0 * minutes / N_WINDOWS
        for index in range(N_WINDOWS):
            latencies, n_failed = run(_load(port, connections, seconds, index))
            hour = 24.0 * (index + 1) / N_WINDOWS
            windows.append(_window(latencies, n_failed, seconds, hour, process, Path(folder)))
            yield windows[-1]._asdict()
        yield verdict(windows)


def verdict(windows: list[Window]) -> Line:
    """Growth from the middle third of windows to the last, and whether the soak was passed."""
    third = len(windows) // 3
    middle, last = windows[third : 2 * third], windows[-third:]
    growth = {
        name: statistics.median(getattr(each, name) for each in last)
        / max(statistics.median(getattr(each, name) for each in middle), 1e-9)
        for name in ("memory_mb", "disk_mb", "p50_ms")
    }
    n_failed = sum(each.n_failed for each in windows)
    trimmed, n_events = windows[-1].first_event - 1, windows[-1].last_event
    is_flat = max(growth.values()) <= MAX_GROWTH and not n_failed and trimmed > 0
    return {"events": n_events, "deleted": trimmed, "growth": growth, "n_failed": n_failed, "is_flat": is_flat}


@contextmanager
def _server(folder: str, minutes: float) -> Iterator[tuple[int, int]]:
    """A server in a process of its own, whose clock is faster: the process and the port."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(folder, minutes, theirs), daemon=True)
    process.start()
    try:
        assert process.pid is not None  # noqa: S101
        yield process.pid, int(ours.recv().rpartition(":")[2])
    finally:
        process.terminate()
        process.join()


def _serve(folder: str, minutes: float, pipe: Connection) -> None:
    speed, snapshot_s = DAY_S / (60.0 * minutes), min(SNAPSHOT_S, 60.0 * minutes / MIN_SNAPSHOTS)
    policy = PolicySettings(actions=SOAK_ACTIONS, wait_s=SOAK_WAIT_S, options={"max_bytes": MODEL_BYTES})
    policies = {"default": policy}
    settings = SiteSettings(
        folder=folder,
        port=0,
        policies=policies,
        retention_s=SOAK_RETENTION_S,
        snapshot_s=snapshot_s,
        snapshot_events=10**9,
    )
    start = wall_clock()
    serve(settings, pipe.send, clock=lambda: start + round(speed * (wall_clock() - start)))


async def _load(port: int, connections: int, seconds: float, seed: int) -> tuple[list[float], int]:
    """Decisions, and rewards of some of them, from connections that wait for each answer; latencies of decisions."""
    rows, rng = contexts(N_SOAK_CONTEXTS, N_SOAK_COLUMNS, seed), random.Random(seed)  # noqa: S311 - load, not a secret
    decisions = [request("/v1/policies/default/decide", {"context": row}) for row in rows]
    latencies: list[float] = []
    made: deque[str] = deque()
    n_failed = 0
    end = time.perf_counter() + seconds

    async def one(index: int) -> None:
        nonlocal n_failed
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(LoadConnection, "127.0.0.1", port)
        while (sent := time.perf_counter()) < end:
            status, body = await connection.send(decisions[index % N_SOAK_CONTEXTS])
            latencies.append(time.perf_counter() - sent)
            n_failed += status != 200
            if status == 200 and rng.random() < REWARD_SHARE:
                made.append(msgspec.json.decode(body)["event_id"])
            if len(made) > REWARD_LAG:
                reward = request("/v1/policies/default/reward", {"event_id": made.popleft(), "value": 1})
                status, _ = await connection.send(reward)
                n_failed += status != 200
            index += connections
        connection.transport.close()

    await asyncio.gather(*(one(index) for index in range(connections)))
    return latencies, n_failed


def _window(latencies: list[float], n_failed: int, seconds: float, hour: float, process: int, folder: Path) -> Window:
    """What was seen in a window of so many seconds."""
    ordered = sorted(latencies)
    p50, p99 = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    log = SqliteLog(folder / LOG_FILE, is_reader=True)
    first, (last, _) = log.first(), log.last()
    log.close()
    n_snapshots = len(Snapshots(folder / SNAPSHOT_FOLDER).numbers())
    sizes = _memory_mb(process), _disk_mb(folder)
    return Window(hour, len(ordered) / seconds, p50, p99, n_failed, *sizes, first, last, n_snapshots)


def _memory_mb(process: int) -> float:
    """The resident memory of a process; 0 where the system does not say."""
    path = Path(f"/proc/{process}/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _disk_mb(folder: Path) -> float:
    """The size of all files of a site; one that is deleted meanwhile counts nothing."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.lstat().st_size)
        except FileNotFoundError:
            continue
    return sum(sizes) / 2**20
