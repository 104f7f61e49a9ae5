"""Measurements of the service: throughput, latencies, the start after a kill, and the speed of a rebuild."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stumpery.service.engine.journal import wall_clock
from stumpery.service.engine.snapshots import SNAPSHOT_FOLDER, Snapshots
from stumpery.service.events import DecisionMade, PolicyCreated, RewardCame, RewardStatus, encoded
from stumpery.service.log.event_log import LogRow
from stumpery.service.log.opening import LOG_FILE
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import PolicySettings
from stumpery.service.upkeep.load import closed_loop, contexts, open_loop, request, run
from stumpery.system.garbage_collection import paused_collection

ACTIONS = ("news", "sport", "film")
N_COLUMNS, N_CONTEXTS = 12, 5_000
DECIDE_PATH, REWARD_PATH = "/v1/policies/default/decide", "/v1/policies/default/reward"
WAIT_MS = 600_000
CHUNK = 2_000
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # installed packages have theirs
PEER = "Vowpal Wabbit, --cb_explore --squarecb, the same server and log"
Line = dict[str, Any]
Command = list[str]


def measure(seconds: float, n_events: int) -> Iterator[Line]:
    """All measurements, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        yield from throughput(new_site(Path(folder)), seconds)
    with tempfile.TemporaryDirectory() as folder:
        yield from peer_throughput(folder, seconds)
    with tempfile.TemporaryDirectory() as folder:
        yield from restarts(Path(folder), n_events)


def throughput(command: Command, seconds: float, peer: str | None = None) -> Iterator[Line]:
    """Decisions with a durable log: closed loops of several sizes, then a constant rate."""
    start = {} if peer is None else {"peer": peer}
    with running_server(command) as (process, port):
        bodies = [request(DECIDE_PATH, {"context": row}) for row in contexts(N_CONTEXTS, N_COLUMNS, seed=1)]
        run(closed_loop(port, bodies, 16, min(seconds, 2.0)))  # warm
        run(reward_some(port))
        for concurrency in (1, 16, 64):
            before = cpu_s(process.pid)
            found = run(closed_loop(port, bodies, concurrency, seconds))
            cpu_us = 1e6 * (cpu_s(process.pid) - before) / found.n
            measured = {"measured": f"decide, {concurrency} connections", **start}
            yield {**measured, **found._asdict(), "server_cpu_us": cpu_us}
        found = run(open_loop(port, bodies, 500.0, seconds))
        yield {"measured": "decide, 500 a second", **start, **found._asdict()}


def peer_throughput(folder: str, seconds: float) -> Iterator[Line]:
    """The same with Vowpal Wabbit's model behind the same server; one line of null where it is not installed."""
    if find_spec("vowpalwabbit") is None:
        yield {"measured": "decide", "peer": PEER, "requests_per_s": None}
        return
    command = [sys.executable, "-m", "stumpery.service.upkeep.peer_server", folder, ",".join(ACTIONS)]
    yield from throughput(command, seconds, PEER)


def restarts(folder: Path, n_events: int) -> Iterator[Line]:
    """The rebuild of a log, and the start of a server that was killed, from a snapshot and its tail."""
    write_log(folder, n_events)
    log, replica = SqliteLog(folder / LOG_FILE), SiteReplica()
    start, cpu = time.perf_counter(), time.process_time()
    with paused_collection():
        replica.replay(log.rows())
    elapsed = time.perf_counter() - start
    log.close()
    cpu_us = 1e6 * (time.process_time() - cpu) / n_events
    speed = {"seconds": elapsed, "events_per_s": n_events / elapsed, "cpu_us": cpu_us}
    yield {"measured": "rebuild", "events": n_events, **speed}
    Snapshots(folder / SNAPSHOT_FOLDER).save(replica)
    write_log(folder, n_events // 100, first=n_events)
    command = new_site(folder)
    for _ in range(3):
        start = time.perf_counter()
        with running_server(command) as (process, port):
            elapsed, spent_s = time.perf_counter() - start, cpu_s(process.pid)
            bodies = [request(DECIDE_PATH, {"context": row}) for row in contexts(50, N_COLUMNS, seed=2)]
            run(closed_loop(port, bodies, 4, 0.2))
        yield {"measured": "ready after kill -9", "events": n_events, "seconds": elapsed, "server_cpu_s": spent_s}


def write_log(folder: Path, n_events: int, first: int = 0) -> None:
    """Write a log as a service would have until now: decisions, and a reward for each, an event in a millisecond."""
    log, rows = SqliteLog(folder / LOG_FILE), contexts(N_CONTEXTS, N_COLUMNS, seed=1)
    settings = PolicySettings(actions=ACTIONS, learn_at_once=True)
    time_ms = max(log.last()[1], wall_clock() - n_events)
    for start in range(first, first + n_events, CHUNK):
        numbers = range(start + 1, min(start + CHUNK, first + n_events) + 1)
        time_of = [time_ms + number - first for number in numbers]
        each = zip(numbers, time_of, strict=True)
        log.append([_row(number, ms, rows[(number // 2) % len(rows)], settings) for number, ms in each])
    log.close()


def _row(number: int, time_ms: int, context: Any, settings: PolicySettings) -> LogRow:
    """Row of a log: the policy, then decisions and their rewards in turn."""
    event: Any = PolicyCreated(settings)
    index = number // 2
    if number > 1 and number % 2 == 0:
        action = ACTIONS[index % len(ACTIONS)]
        ranking = [(each, 1 / len(ACTIONS)) for each in ACTIONS]
        event = DecisionMade(context, action, 1 / len(ACTIONS), 0.5, 0, time_ms + WAIT_MS, ranking)
    elif number > 1:
        event = RewardCame(float(context["x0"] > 0.0 and index % 3 == 0), RewardStatus.LEARNED)
    return LogRow(number, time_ms, "default", str(index) if number > 1 else None, encoded(event))


def new_site(folder: Path) -> Command:
    """The command that serves a site with one policy in a folder."""
    path = folder / "site.toml"
    policy = f"[policies.default]\nactions = {json.dumps(ACTIONS)}\nlearn_at_once = true\n"
    path.write_text(f'folder = "."\nport = 0\n{policy}', encoding="utf-8")
    return [sys.executable, "-m", "stumpery", "serve", str(path)]


@contextmanager
def running_server(command: Command) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port; it is killed, as a site that is measured needs no snapshot."""
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout is not None  # noqa: S101
        line = process.stdout.readline()
        yield process, int(line.partition("://")[2].split()[0].rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def cpu_s(process: int) -> float:
    """The processor time of a process so far, in seconds; 0 where the system does not say."""
    path = Path(f"/proc/{process}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def reward_some(port: int) -> None:
    """Decide and reward a thousand times, so that the policy has seen its categories."""
    loop = asyncio.get_running_loop()
    from stumpery.service.upkeep.load import LoadConnection

    _, connection = await loop.create_connection(LoadConnection, "127.0.0.1", port)
    for row in contexts(1_000, N_COLUMNS, seed=3):
        _, body = await connection.send(request(DECIDE_PATH, {"context": row}))
        decision = json.loads(body)
        value = float((row["x0"] > 0.0) == (decision["action"] == "news"))  # type: ignore[operator]
        await connection.send(request(REWARD_PATH, {"event_id": decision["event_id"], "value": value}))
    connection.transport.close()
