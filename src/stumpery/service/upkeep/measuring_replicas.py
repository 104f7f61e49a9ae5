"""Measurements of several processes on one log: decisions a second, and the processor time that each decision takes.

Every process also applies the decisions of the others. So the processor time of a decision is that of the one that
makes it and of all that follow, and says how many more decisions a second several make where each has a core. One at a
time has the turn to write the log, which bounds what all together make; the more wait, the more share a turn.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

from stumpery.service.upkeep.load import Latencies, closed_loop, contexts, request, run
from stumpery.service.upkeep.measuring import (
    DECIDE_PATH,
    N_COLUMNS,
    N_CONTEXTS,
    Line,
    cpu_s,
    new_site,
    reward_some,
    running_server,
)

CONCURRENCY, ROUNDS = 64, 5
TURNS = ("stumpery_turn_seconds_total", "stumpery_turn_cpu_seconds_total", "stumpery_commits_total")


def measure_replicas(folder: Path, n: int, seconds: float, database: str | None = None) -> Iterator[Line]:
    """Decisions by one of n processes while the others follow, and by all of them, in turns; medians of the rounds."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(running_server([*new_site(folder), "--name", f"process-{each}", *_log(database)]))
            for each in range(n)
        ]
        bodies = [request(DECIDE_PATH, {"context": row}) for row in contexts(N_CONTEXTS, N_COLUMNS, seed=1)]
        pids, ports = [process.pid for process, _ in servers], [port for _, port in servers]
        run(_load(ports, bodies, min(seconds, 2.0)))  # warm
        run(reward_some(ports[0]))
        one: list[Line] = []
        every: list[Line] = []
        for _ in range(ROUNDS):
            one.append(_measured(pids, ports[:1], bodies, seconds))
            every.append(_measured(pids, ports, bodies, seconds))
    alone, together = _medians(one), _medians(every)
    yield {"measured": f"decide, 1 of {n} processes, the others follow", **alone}
    yield {"measured": f"decide, {n} of {n} processes", **together}
    yield {
        "measured": f"{n} processes by one",
        "by_requests": together["requests_per_s"] / alone["requests_per_s"],
        "by_processor_time": n * alone["deciding_cpu_us"] / together["cpu_us"],
    }


def _log(database: str | None) -> list[str]:
    return [] if database is None else ["--log", database]


def _measured(pids: Sequence[int], ports: Sequence[int], bodies: Sequence[bytes], seconds: float) -> Line:
    """One round under load: of the first processes, as many as there are ports."""
    before, turns_before = [cpu_s(pid) for pid in pids], _turns(ports)
    found = run(_load(ports, bodies, seconds))
    spent_us = [1e6 * (cpu_s(pid) - start) for pid, start in zip(pids, before, strict=True)]
    n, turns = sum(each.n for each in found), _turns(ports)
    return {
        "requests_per_s": sum(each.requests_per_s for each in found),
        "p50_ms": median(each.p50_ms for each in found),
        "p99_ms": max(each.p99_ms for each in found),
        "n_failed": sum(each.n_failed for each in found),
        "decisions_per_turn": n / (turns[2] - turns_before[2]),
        "turn_us": 1e6 * (turns[0] - turns_before[0]) / n,
        "turn_cpu_us": 1e6 * (turns[1] - turns_before[1]) / n,
        "cpu_us": sum(spent_us) / n,
        "deciding_cpu_us": sum(spent_us[: len(ports)]) / n,
        "following_cpu_us": sum(spent_us[len(ports) :]) / n,
    }


def _turns(ports: Sequence[int]) -> list[float]:
    """Of these processes: seconds in which they had the turn, their processor time in it, and commits."""
    total = [0.0] * len(TURNS)
    for port in ports:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics")
        values = dict(line.rsplit(" ", 1) for line in connection.getresponse().read().decode().splitlines())
        connection.close()
        for index, name in enumerate(TURNS):
            total[index] += float(values[name])
    return total


async def _load(ports: Sequence[int], bodies: Sequence[bytes], seconds: float) -> list[Latencies]:
    return list(await asyncio.gather(*(closed_loop(port, bodies, CONCURRENCY, seconds) for port in ports)))


def _medians(rounds: Sequence[Line]) -> Line:
    found: dict[str, Any] = {name: median(each[name] for each in rounds) for name in rounds[0]}
    return {**found, "rounds": [round(each["requests_per_s"]) for each in rounds]}
