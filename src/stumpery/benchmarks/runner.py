"""Runner of benchmarks: ratios to a peer library, measured in the same run, or to a target.

A workload is a function that runs once and returns its speed, time, memory or error. Ours and the peer's alternate, so
that noise of the machine affects both, and the median of the repeats counts.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.options import check_whole

Measure = Callable[[], float]
HIGHER_IS_BETTER = {"reward"}  # units, besides all rates per second


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark: our workload, and a peer's workload or a target value."""

    name: str
    unit: str
    ours: Measure
    peer: Measure | float
    peer_name: str
    needs: str | None = None  # module that the peer requires
    is_slow: bool = False  # run once, without a warm-up run


def run_benchmarks(*, only: str | None = None, repeats: int = 5) -> Iterator[str]:
    """Yield a JSON line for each benchmark; `ratio` is ours / peer, null if the peer is not installed."""
    from stumpery.benchmarks import (
        bandits,
        classification,
        clicks,
        contextual,
        encoding,
        logs,
        off_policy,
        reinforcement,
        selection,
        start,
    )

    check_whole("repeats", repeats, 1)
    modules = (bandits, contextual, clicks, selection, classification, reinforcement, encoding, logs, off_policy, start)
    benchmarks = [benchmark for module in modules for benchmark in module.benchmarks()]
    selected = [benchmark for benchmark in benchmarks if only is None or only in benchmark.name]
    if not selected:
        raise InvalidInput(f"no benchmark's name contains {only!r}; there are {', '.join(f.name for f in benchmarks)}")
    for benchmark in selected:
        yield json.dumps(measure(benchmark, repeats))


def measure(benchmark: Benchmark, repeats: int) -> dict[str, Any]:
    """The medians of alternating runs of ours and the peer, after a warm-up run of each."""
    peer = (
        benchmark.peer if callable(benchmark.peer) and (benchmark.needs is None or find_spec(benchmark.needs)) else None
    )
    ours, theirs = [], []
    n_warm_up = 0 if benchmark.is_slow else 1
    for turn in range(n_warm_up + (1 if benchmark.is_slow else repeats)):
        our_value, peer_value = benchmark.ours(), peer() if peer else None
        if turn >= n_warm_up:
            ours.append(our_value)
            if peer_value is not None:
                theirs.append(peer_value)
    is_absent = callable(benchmark.peer) and peer is None
    peer_median = median(theirs) if theirs else benchmark.peer if isinstance(benchmark.peer, float) else None
    return {
        "name": benchmark.name,
        "unit": benchmark.unit,
        "better": "higher" if benchmark.unit in HIGHER_IS_BETTER or benchmark.unit.endswith("/s") else "lower",
        "ours": round(median(ours), 6),
        "peer": None if peer_median is None else round(peer_median, 6),
        "peer_name": f"{benchmark.peer_name}; {benchmark.needs} is not installed" if is_absent else benchmark.peer_name,
        "ratio": None if peer_median is None else round(median(ours) / peer_median, 3),
        "runs": [round(value, 6) for value in ours],
        "peer_runs": [round(value, 6) for value in theirs],
    }
