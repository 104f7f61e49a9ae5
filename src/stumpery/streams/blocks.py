"""Random events in blocks of a fixed length, rebatched to the requested size.

Every stream draws `BLOCK` events at a time, so that the events of a seed do not depend on the batch size.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import check_whole

BLOCK = 4096

Arrays = tuple[NDArray[Any], ...]  # columns of equal length: a row is an event


def generator(seed: int, *purpose: int) -> np.random.Generator:
    """A random generator for one seed and purpose; generators of other purposes are independent.

    >>> generator(7).random() == generator(7).random()
    True
    >>> generator(7, 0).random() == generator(7, 1).random()
    False
    """
    check_whole("seed", seed, 0)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=purpose)))


def resized(blocks: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    """Rebatch rows into runs of `size`; the last run may be shorter.

    >>> [run.tolist() for (run,) in resized([(np.arange(4),), (np.arange(4, 7),)], 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    check_whole("size", size, 1)
    return _runs(blocks, size)


def _runs(blocks: Iterable[Arrays], size: int) -> Iterator[Arrays]:
    pending: list[Arrays] = []
    n_pending = 0
    for block in blocks:
        pending.append(block)
        n_pending += len(block[0])
        if n_pending < size:
            continue
        joined = _joined(pending)
        end = n_pending - n_pending % size
        for start in range(0, end, size):
            yield _cut(joined, start, start + size)
        pending, n_pending = [_cut(joined, end, n_pending)], n_pending - end
    if n_pending:
        yield _joined(pending)


def _joined(pieces: list[Arrays]) -> Arrays:
    if len(pieces) == 1:
        return pieces[0]
    return tuple(np.concatenate(columns) for columns in zip(*pieces, strict=True))


def _cut(arrays: Arrays, start: int, end: int) -> Arrays:
    return tuple(array[start:end] for array in arrays)
