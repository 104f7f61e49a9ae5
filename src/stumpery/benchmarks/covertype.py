"""Rows of Covertype for the benchmarks, or generated ones of the same shape if the dataset is not available."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.encoding import BitEncoder, Schema
from stumpery.streams import ClassificationBandit, transforms
from stumpery.streams.datasets import load as datasets
from stumpery.system.extras import need
from stumpery.types import Batch

if TYPE_CHECKING:
    import polars as pl

ACTIONS = tuple(range(1, 8))
N_ROWS, N_NUMBERS, N_AREAS, N_SOILS = 581_012, 10, 4, 40
FLIPPED = 0.05  # of the bits
SEED = 0


@cache
def frame() -> "pl.DataFrame":
    """54 columns, ten of numbers and the rest of bits, and the class."""
    try:
        datasets.path("covtype")
    except FileNotFoundError:
        return _generated()
    return datasets.load("covtype")


@cache
def wide(n: int) -> Batch:
    """The first n events of a shuffled stream, a frame of 54 columns."""
    rows = frame()
    stream = ClassificationBandit(
        contexts=rows.drop("Cover_Type"), labels=rows["Cover_Type"].to_list(), actions=ACTIONS
    )
    return next(stream.batches(seed=SEED, size=n))


@cache
def raw(n: int) -> Batch:
    """The same events in 12 columns: ten of numbers, the area and the soil as names."""
    rows, rewards, _ = wide(n)
    bits = rows[:, N_NUMBERS:].to_numpy()
    areas, soils = bits[:, :N_AREAS].argmax(axis=1), bits[:, N_AREAS:].argmax(axis=1)
    names = {"area": [f"area {code}" for code in areas], "soil": [f"soil {code}" for code in soils]}
    return Batch(rows[:, :N_NUMBERS].with_columns(**_series(names)), rewards)


@cache
def bits(n: int) -> Batch:
    """The same events as 94 bits, 5 % of them inverted."""
    rows, rewards, _ = wide(n)
    encoder = BitEncoder(schema=Schema.infer(rows), n_bins=5)
    return Batch(transforms.flip_bits(encoder.encode_many(rows), share=FLIPPED, seed=SEED), rewards)


@cache
def standardised(n: int) -> Batch:
    """The same events as a standardised matrix of 54 numbers."""
    rows, rewards, _ = wide(n)
    values = rows.to_numpy().astype(np.float64)
    numbers = values[:, :N_NUMBERS]
    values[:, :N_NUMBERS] = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return Batch(values, rewards)


def _series(columns: dict[str, list[str]]) -> dict[str, Any]:
    series = need("polars", "study").Series
    return {name: series(name, values) for name, values in columns.items()}


def _generated() -> "pl.DataFrame":
    """Generated rows whose class depends on two columns."""
    draw = np.random.default_rng(SEED)
    numbers = draw.integers(0, 4000, (N_ROWS, N_NUMBERS), dtype=np.int16)
    areas, soils = draw.integers(0, N_AREAS, N_ROWS), draw.integers(0, N_SOILS, N_ROWS)
    columns: dict[str, Any] = {f"number_{column}": numbers[:, column] for column in range(N_NUMBERS)}
    columns |= {f"area_{column}": (areas == column).astype(np.int8) for column in range(N_AREAS)}
    columns |= {f"soil_{column}": (soils == column).astype(np.int8) for column in range(N_SOILS)}
    columns["Cover_Type"] = (numbers[:, 0] // 1000 + soils // 10) % len(ACTIONS) + 1
    generated: pl.DataFrame = need("polars", "study").DataFrame(columns)
    return generated
