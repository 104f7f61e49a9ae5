"""Speed of reading logs: dsjson as checked columns, and its decoding alone beside a decoder of dicts."""

import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from time import process_time

from stumpery import logs
from stumpery.benchmarks.large_log import N_ACTIONS, generate
from stumpery.benchmarks.runner import Benchmark
from stumpery.logs.formats.dsjson_fields import event_type
from stumpery.logs.formats.json_lines import JsonEvents
from stumpery.logs.report import LogReport
from stumpery.system.extras import need

N_LINES = 40_000
CHUNK = 2048
TARGET = 100_000.0  # lines a second of one core


def benchmarks() -> Iterator[Benchmark]:
    """Reading dsjson with 12 features."""
    yield Benchmark(name="logs/dsjson/read", unit="lines/s", ours=reading, peer=TARGET, peer_name="target")
    yield Benchmark(
        name="logs/dsjson/decode", unit="lines/s", ours=decoding, peer=dicts, peer_name="orjson", needs="orjson"
    )


def reading() -> float:
    """Lines a processor second, from the file to checked columns."""
    log = logs.read(dsjson(), actions=range(1, N_ACTIONS + 1))
    start = process_time()
    n_rows = sum(map(len, log.chunks()))
    return n_rows / (process_time() - start)


def decoding() -> float:
    """Lines a processor second, from the file to typed events."""
    events = JsonEvents(dsjson(), event_type(), "c", None)
    start = process_time()
    n_rows = sum(len(block.events) for block in events.read(CHUNK, LogReport("")))
    return n_rows / (process_time() - start)


def dicts() -> float:
    """Lines a processor second, from the file to dicts of orjson, those of a chunk kept as our events are."""
    loads = need("orjson", "bench").loads
    start, n_rows = process_time(), 0
    with dsjson().open("rb") as file:
        while chunk := [loads(line) for line in islice(file, CHUNK)]:
            n_rows += len(chunk)
    return n_rows / (process_time() - start)


@cache
def dsjson() -> Path:
    """A file of dsjson."""
    path = Path(tempfile.mkdtemp()) / "events.dsjson"
    generate(path, N_LINES)
    return path
