"""Summaries against DataSketches, and time and memory of click models on batches of dicts."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.clicks.univariate_bank_kernels import BUFFER_SIZE
from stumpery.evaluation.click_challenge.submissions import OURS, generated_clicks, selector
from stumpery.streams import ClickLog
from stumpery.summaries import CountMin, QuantileSummary
from stumpery.summaries.quantile_streams_kernels import new_quantile_streams
from stumpery.system.extras import need
from stumpery.types import Floats

N_VALUES = 2_000_000
N_NAMES = 200_000
N_TUPLES = 92  # as many bytes as KLL with k = 200 takes
N_BATCHES, N_WARM_UP_BATCHES = 1_000, 1_000
N_CANDIDATES = 6
SKETCH_DEPTH, SKETCH_WIDTH = 4, 256
MAX_US = {"SimpleStumps": 1e3, "UTree": 1e3, OURS: 1e3, "Orange Best": 25e3}
MAX_BYTES = {"SimpleStumps": 50e6, "UTree": 50e6, "RHT": 50e6, OURS: 50e6, "Orange Best": 500e6}


def benchmarks() -> Iterator[Benchmark]:
    """Values and names per second, errors and bytes; microseconds per batch of six rows with 120 columns."""
    peer: dict[str, Any] = {"peer_name": "datasketches KLL, k=200", "needs": "datasketches"}
    yield Benchmark(name="clicks/quantiles/add-many", unit="values/s", ours=quantiles, peer=kll, **peer)
    yield Benchmark(name="clicks/quantiles/largest-error", unit="share", ours=quantiles_error, peer=kll_error, **peer)
    yield Benchmark(name="clicks/quantiles/bytes", unit="bytes", ours=quantiles_bytes, peer=kll_bytes, **peer)
    yield Benchmark(
        name="clicks/count-min/add-many",
        unit="names/s",
        ours=count_min,
        peer=peer_count_min,
        peer_name="datasketches count_min_sketch, one by one",
        needs="datasketches",
    )
    yield Benchmark(name="clicks/summary/120-columns", unit="bytes", ours=summary_bytes, peer=300e3, peer_name="target")
    for name, target in MAX_US.items():
        yield Benchmark(
            name=f"clicks/{_slug(name)}/batch", unit="us", ours=batch(name), peer=target, peer_name="target"
        )
    for name, target in MAX_BYTES.items():
        measure = memory(name)
        yield Benchmark(
            name=f"clicks/{_slug(name)}/memory",
            unit="bytes",
            ours=measure,
            peer=target,
            peer_name="target",
            is_slow=True,
        )


@cache
def values() -> Floats:
    """Normal numbers."""
    return np.random.default_rng(7).standard_normal(N_VALUES)


@cache
def names() -> list[str]:
    """Names of unequal frequency."""
    return [f"name{number}" for number in np.random.default_rng(7).zipf(1.3, N_NAMES) % 5000]


def quantiles() -> float:
    """Values per second added to a summary."""
    return _rate(lambda: QuantileSummary(max_tuples=N_TUPLES).add_many(values()), N_VALUES)


def kll() -> float:
    """Values per second added to a KLL sketch."""
    sketch, floats = need("datasketches", "bench").kll_floats_sketch(200), values().astype(np.float32)
    return _rate(lambda: sketch.update(floats), N_VALUES)


def quantiles_error() -> float:
    """The largest error of a rank, relative to the count."""
    summary = QuantileSummary(max_tuples=N_TUPLES)
    summary.add_many(values())
    return _largest_error(lambda x: summary.rank(x) / N_VALUES)


def kll_error() -> float:
    """The same of KLL."""
    sketch = need("datasketches", "bench").kll_floats_sketch(200)
    sketch.update(values().astype(np.float32))
    return _largest_error(lambda x: sketch.get_rank(x, inclusive=True))


def quantiles_bytes() -> float:
    """Bytes of our summary."""
    return float(QuantileSummary(max_tuples=N_TUPLES).n_bytes)


def kll_bytes() -> float:
    """Bytes of a serialised KLL sketch."""
    sketch = need("datasketches", "bench").kll_floats_sketch(200)
    sketch.update(values().astype(np.float32))
    return float(len(sketch.serialize()))


def count_min() -> float:
    """Names per second added to a sketch."""
    return _rate(lambda: CountMin(width=SKETCH_WIDTH, depth=SKETCH_DEPTH).add_many(names()), N_NAMES)


def peer_count_min() -> float:
    """Names per second added to the peer's sketch, one at a time."""
    sketch = need("datasketches", "bench").count_min_sketch(SKETCH_DEPTH, SKETCH_WIDTH)

    def run() -> None:
        for name in names():
            sketch.update(name)

    return _rate(run, N_NAMES)


def summary_bytes() -> float:
    """A summary of 120 columns, 100 intervals and two classes."""
    return float(sum(array.nbytes for array in new_quantile_streams(120, 100, 2, BUFFER_SIZE, np.int32)))


def batch(name: str) -> Measure:
    """Microseconds to decide and learn on a batch of six dicts with 120 columns, after a thousand batches."""

    def run() -> float:
        player, rounds = selector(name, generated_clicks(), 7), dicts()
        for index in range(N_WARM_UP_BATCHES + N_BATCHES):
            if index == N_WARM_UP_BATCHES:
                start = perf_counter()
            candidates, clicks = rounds[index]
            decision = player.decide(candidates)
            player.learn(decision, clicks[int(decision.action)])
        return (perf_counter() - start) / N_BATCHES * 1e6

    return run


def memory(name: str) -> Measure:
    """The bytes of a submission; they are taken at the start and never grow."""
    return lambda: float(selector(name, generated_clicks(), 7).n_bytes)


@cache
def dicts() -> list[tuple[list[dict[str, Any]], list[int]]]:
    """Batches of six dicts, and their clicks."""
    log = ClickLog()
    rows = next(log.blocks(seed=7, size=N_CANDIDATES * (N_WARM_UP_BATCHES + N_BATCHES)))
    each = log.frame(rows).to_dicts()
    clicks = rows.clicks.tolist()
    return [
        (each[start : start + N_CANDIDATES], clicks[start : start + N_CANDIDATES])
        for start in range(0, len(each), N_CANDIDATES)
    ]


def _rate(work: Any, n: int) -> float:
    start = perf_counter()
    work()
    return n / (perf_counter() - start)


def _largest_error(rank: Any) -> float:
    ordered = np.sort(values())
    asked = np.linspace(-3.0, 3.0, 2001)
    true = np.searchsorted(ordered, asked, side="right") / N_VALUES
    return float(max(abs(rank(float(x)) - known) for x, known in zip(asked, true, strict=True)))


def _slug(name: str) -> str:
    return name.partition(" (")[0].lower().replace(" ", "-")
