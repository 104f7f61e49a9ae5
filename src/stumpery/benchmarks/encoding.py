"""Speed of encoding rows as codes: a whole frame, and a single dict."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

from stumpery.benchmarks import covertype
from stumpery.benchmarks.runner import Benchmark
from stumpery.encoding import CodeEncoder, Schema

if TYPE_CHECKING:
    import polars as pl

N_ENCODED_DICTS = 5_000


def benchmarks() -> Iterator[Benchmark]:
    """A whole frame of Covertype's rows, and one of them as a dict."""
    yield Benchmark(name="encoding/covertype/frame", unit="s", ours=whole_frame, peer=3.0, peer_name="target")
    yield Benchmark(name="encoding/covertype/dict", unit="us", ours=one_dict, peer=20.0, peer_name="target")


def whole_frame() -> float:
    """Seconds from a polars frame to a matrix of codes."""
    frame, encoder = rows(), fitted()
    start = perf_counter()
    encoder.encode_many(frame)
    return perf_counter() - start


def one_dict() -> float:
    """Microseconds from one dict to its codes."""
    encoder = fitted()
    dicts = rows().head(N_ENCODED_DICTS).to_dicts()
    start = perf_counter()
    for row in dicts:
        encoder.encode_one(row)
    return (perf_counter() - start) / N_ENCODED_DICTS * 1e6


@cache
def fitted() -> CodeEncoder:
    """An encoder with the schema of the first thousand rows."""
    return CodeEncoder(schema=Schema.infer(rows().head(1000)))


@cache
def rows() -> "pl.DataFrame":
    """54 columns: ten of numbers, the rest of bits."""
    return covertype.frame().drop("Cover_Type")
