"""Transforms of rows: shuffle, loop, batch, add noise. The input is not changed.

Each function takes a NumPy array, or a frame or series of pandas, polars or pyarrow, and returns the same type.
"""

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from stumpery.errors import InvalidInput
from stumpery.frames import n_rows, open_frame
from stumpery.options import check_number, check_whole, shown
from stumpery.streams.blocks import generator
from stumpery.types import Bits, Integers

__all__ = ["batches", "flip_bits", "loop", "shuffle", "take"]


def take(data: Any, rows: ArrayLike) -> Any:
    """Select rows by position, in the given order.

    Args:
        data: An array, a frame or a series.
        rows: Indices of the rows to select, from 0; each may come several times.

    >>> take(np.array([10, 20, 30]), [2, 0, 2]).tolist()
    [30, 10, 30]
    """
    table = _table(data)
    positions = np.asarray(rows)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise InvalidInput(f"rows is {shown(rows)}; it must be a list of whole numbers")
    if positions.size and (positions.min() < 0 or positions.max() >= len(table)):
        raise InvalidInput(
            f"rows goes from {positions.min()} to {positions.max()}; it must stay between 0 and {len(table) - 1}"
        )
    return _native(table[positions.astype(np.int64)])


def shuffle(data: Any, *, seed: int) -> Any:
    """Shuffle rows; the order depends only on the seed and the number of rows.

    Args:
        data: An array, a frame or a series.
        seed: Seed of the order, a whole number of 0 or more.

    >>> contexts, labels = np.arange(6).reshape(3, 2), np.array([0, 2, 4])
    >>> (shuffle(contexts, seed=7)[:, 0] == shuffle(labels, seed=7)).all()
    np.True_
    """
    return take(data, shuffled_rows(n_rows(data), seed=seed))


def shuffled_rows(n: int, *, seed: int) -> Integers:
    """A random permutation of the integers below `n`."""
    check_whole("n", n, 0)
    return generator(seed).permutation(n)


def loop(data: Any, n: int) -> Any:
    """The first `n` rows of the endlessly repeated data.

    Args:
        data: An array, a frame or a series.
        n: Number of rows of the result, 0 or more.

    >>> loop(np.array([1, 2, 3]), 7).tolist()
    [1, 2, 3, 1, 2, 3, 1]
    """
    check_whole("n", n, 0)
    if n and not n_rows(data):
        raise InvalidInput("data has no rows; it must have at least one")
    return take(data, np.arange(n) % max(1, n_rows(data)))


def batches(data: Any, n: int) -> Iterator[Any]:
    """The rows in runs of `n`, the last one perhaps shorter; runs of an array are views of it.

    Args:
        data: An array, a frame or a series.
        n: Number of rows of a run, 1 or more.

    >>> [run.tolist() for run in batches(np.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    check_whole("n", n, 1)
    table = _table(data)
    return (_native(table[start : start + n]) for start in range(0, len(table), n))


def flip_bits(bits: Any, *, share: float = 0.05, seed: int) -> Any:
    """A copy in which each bit is inverted with the probability `share`, independently.

    Args:
        bits: An array, a frame or a series of 0 and 1.
        share: Probability that a bit is inverted, from 0 to 1; 0.05 is the noise of the bandit forest's paper.
        seed: Seed of the noise, a whole number of 0 or more.

    >>> flip_bits(np.zeros((1000, 94), np.uint8), share=0.05, seed=7).mean().round(3)
    np.float64(0.05)
    """
    check_number("share", share, 0, 1)
    check_bits("bits", bits)
    return inverted(bits, flips(generator(seed), _table(bits).shape, share))


def check_table(name: str, data: Any) -> None:
    """Raise a ValueError unless the data is an array, a frame or a series."""
    _table(data, name)


def check_bits(name: str, data: Any) -> None:
    """Raise a ValueError for values other than 0 and 1."""
    for values in _arrays(_table(data, name)):
        if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
            raise InvalidInput(f"{name} has values other than 0 and 1; it must have only bits")


def flips(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> Bits:
    """A mask of bits to invert; gaps between them are geometric, so that only inverted bits cost draws."""
    mask = np.zeros(shape, np.uint8)
    flat = mask.reshape(-1)
    last = -1
    while share > 0 and last < flat.size:
        n_draws = int((flat.size - last) * share * 1.01) + 16
        positions = last + np.cumsum(rng.geometric(share, n_draws))
        flat[positions[positions < flat.size]] = 1
        last = positions[-1]
    return mask


def inverted(bits: Any, mask: Bits) -> Any:
    """A copy of the bits, inverted where `mask` is 1."""
    table = _table(bits)
    if isinstance(table, np.ndarray):
        return (table != mask).astype(table.dtype)
    if isinstance(table, nw.Series):
        return _native(_inverted_column(table, mask))
    pairs = zip(table.iter_columns(), mask.T, strict=True)
    columns = {column.name: _inverted_column(column, ones) for column, ones in pairs}
    return _native(nw.from_dict(columns, backend=table.implementation))


def _inverted_column(bits: nw.Series[Any], mask: Bits) -> nw.Series[Any]:
    return nw.new_series(bits.name, bits.to_numpy() != mask, bits.dtype, backend=bits.implementation)


def _arrays(table: Any) -> list[NDArray[Any]]:
    """The array itself, or the columns of a frame, which may differ in type."""
    if isinstance(table, np.ndarray):
        return [table]
    columns = [table] if isinstance(table, nw.Series) else table.iter_columns()
    return [column.to_numpy() for column in columns]


def _table(data: Any, name: str = "data") -> Any:
    if isinstance(data, np.ndarray) and data.ndim > 0:
        return data
    return open_frame(name, data, "a NumPy array or a frame of pandas, polars or pyarrow", allow_series=True)


def _native(table: NDArray[Any] | nw.DataFrame[Any] | nw.Series[Any]) -> Any:
    return table if isinstance(table, np.ndarray) else table.to_native()
