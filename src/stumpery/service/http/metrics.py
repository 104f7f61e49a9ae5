"""Metrics in the text format of Prometheus: requests, latencies, commits, and the counts of each policy."""

import time
from bisect import bisect_left
from collections import defaultdict
from typing import Any

from stumpery.service.engine import administering
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.journal import Journal
from stumpery.service.http.replicas import metrics_of, replicas

BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class Metrics:
    """Counters of the HTTP interface and of the engine.

    Args:
        engine: The engine whose policies are counted.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS_S) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests[operation, status] += 1
        self._buckets[operation][bisect_left(BOUNDS_S, seconds)] += 1
        self._seconds[operation] += seconds

    def latencies(self) -> dict[str, Any]:
        """Counts of requests by latency since the start, and how long commits took lately."""
        commits = sorted(self._engine.commit_s.copy())
        operations = [
            {"operation": each, "counts": list(counts), "seconds": self._seconds[each]}
            for each, counts in sorted(self._buckets.items())
        ]
        return {
            "time_s": time.monotonic(),
            "bounds_s": BOUNDS_S,
            "operations": operations,
            "commits": self._engine.n_commits,
            "events": self._engine.n_committed,
            "commit_p50_s": commits[len(commits) // 2] if commits else None,
            "commit_p99_s": commits[len(commits) * 99 // 100] if commits else None,
        }

    async def text(self) -> str:
        """All metrics."""
        engine = self._engine
        lines = [_line("stumpery_ready", {}, int(engine.is_ready))]
        lines += [_line("stumpery_commits_total", {}, engine.n_commits)]
        lines += [_line("stumpery_events_committed_total", {}, engine.n_committed)]
        lines += [_line("stumpery_turn_seconds_total", {}, round(engine.replication.turn_s, 6))]
        lines += [_line("stumpery_turn_cpu_seconds_total", {}, round(engine.replication.turn_cpu_s, 6))]
        lines += [_line("stumpery_late_answers_total", {}, engine.n_late)]
        lines += [_line("stumpery_alarm", {"policy": a.policy, "kind": a.kind}, 1) for a in engine.alarms.shown()]
        for name, numbers in metrics_of(engine).items():
            lines += [_line(f"stumpery_replica_{each}", {"name": name}, value) for each, value in numbers.items()]
        lines += [
            _line(
                "stumpery_replica_info",
                {"name": each.name, "role": each.role, "number": each.hash_number, "hash": each.hash},
                1,
            )
            for each in replicas(engine)
        ]
        for (operation, status), n in sorted(self._requests.items()):
            lines.append(_line("stumpery_requests_total", {"operation": operation, "status": status}, n))
        for operation, counts in sorted(self._buckets.items()):
            lines += self._histogram(operation, counts)
        for name, figures in (await engine.submit(_figures)).items() if engine.is_ready else ():
            lines += [_line(f"stumpery_policy_{each}", {"policy": name}, value) for each, value in figures.items()]
        return "\n".join(lines) + "\n"

    def _histogram(self, operation: str, counts: list[int]) -> list[str]:
        name, lines, total = "stumpery_request_seconds", [], 0
        for bound, n in zip([*map(str, BOUNDS_S), "+Inf"], counts, strict=True):
            total += n
            lines.append(_line(f"{name}_bucket", {"operation": operation, "le": bound}, total))
        lines.append(_line(f"{name}_sum", {"operation": operation}, self._seconds[operation]))
        lines.append(_line(f"{name}_count", {"operation": operation}, total))
        return lines


def _figures(journal: Journal) -> dict[str, dict[str, Any]]:
    return {name: administering.figures(policy) for name, policy in journal.replica.policies.items()}


def _line(name: str, labels: dict[str, Any], value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
