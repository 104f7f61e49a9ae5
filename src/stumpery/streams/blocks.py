"""Random events in blocks of one fixed length, cut afterwards to the size asked for.

Every stream draws `BLOCK` events at a time, so that the same seed gives the same events whatever the size of
the batches.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import check_whole

BLOCK = 4096

Arrays = tuple[NDArray[Any], ...]  # columns of equal length: a row is an event


def generator(seed: int, *purpose: int) -> np.random.Generator:
    """The random numbers of one seed for one purpose; other purposes draw independently.

    >>> generator(7).random() == generator(7).random()
    True
    >>> generator(7, 0).random() == generator(7, 1).random()
    False
    """
    check_whole("seed", seed, 0)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=purpose)))


def resized(blocks: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    """The same rows in runs of `size`; where the blocks end, the last run may be shorter.

    >>> [run.tolist() for (run,) in resized([(np.arange(4),), (np.arange(4, 7),)], 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    check_whole("size", size, 1)
    return _runs(blocks, size)


def _runs(blocks: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    held: list[Arrays] = []
    n_held = 0
    for block in blocks:
        held.append(block)
        n_held += len(block[0])
        if n_held < size:
            continue
        joined = _joined(held)
        end = n_held - n_held % size
        for start in range(0, end, size):
            yield _cut(joined, start, start + size)
        held, n_held = [_cut(joined, end, n_held)], n_held - end
    if n_held:
        yield _joined(held)


def _joined(pieces: list[Arrays]) -> Arrays:
    if len(pieces) == 1:
        return pieces[0]
    return tuple(np.concatenate(columns) for columns in zip(*pieces, strict=True))


def _cut(arrays: Arrays, start: int, end: int) -> Arrays:
    return tuple(array[start:end] for array in arrays)
