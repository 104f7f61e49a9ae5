"""Rows to codes: a whole frame, and one dict."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.benchmarks.runner import Figure
from stumpery.encoding import CodeEncoder, Schema
from stumpery.extras import need
from stumpery.streams import load as datasets

if TYPE_CHECKING:
    import polars as pl

N_ROWS, N_NUMBERS, N_BITS = 581_012, 10, 44
N_DICTS = 5_000


def figures() -> Iterator[Figure]:
    """Covertype's rows, or made-up ones of the same shape where the dataset is not on this machine."""
    yield Figure(name="encoding/covertype/frame", unit="s", ours=whole_frame, peer=3.0, peer_name="target")
    yield Figure(name="encoding/covertype/dict", unit="us", ours=one_dict, peer=20.0, peer_name="target")


def whole_frame() -> float:
    """Seconds from a polars frame to a matrix of codes."""
    frame, encoder = rows(), fitted()
    start = perf_counter()
    encoder.encode_many(frame)
    return perf_counter() - start


def one_dict() -> float:
    """Microseconds from one dict to its codes."""
    encoder = fitted()
    dicts = rows().head(N_DICTS).to_dicts()
    start = perf_counter()
    for row in dicts:
        encoder.encode_one(row)
    return (perf_counter() - start) / N_DICTS * 1e6


@cache
def fitted() -> CodeEncoder:
    """The encoder that the first thousand rows give."""
    return CodeEncoder(schema=Schema.infer(rows().head(1000)))


@cache
def rows() -> "pl.DataFrame":
    """54 columns: ten of numbers, the rest of bits."""
    try:
        datasets.path("covtype")
    except FileNotFoundError:
        draw = np.random.default_rng(0)
        numbers = draw.integers(0, 4000, (N_ROWS, N_NUMBERS), dtype=np.int16)
        bits = (draw.random((N_ROWS, N_BITS), dtype=np.float32) < 0.05).astype(np.int8)
        columns: dict[str, Any] = {f"number_{place}": numbers[:, place] for place in range(N_NUMBERS)}
        columns |= {f"bit_{place}": bits[:, place] for place in range(N_BITS)}
        made: pl.DataFrame = need("polars", "study").DataFrame(columns)
        return made
    return datasets.load("covtype").drop("Cover_Type")
