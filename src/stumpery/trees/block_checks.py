"""Whether the blocks of saved trees, and the numbers of events in them, are those of any stream."""

import numpy as np
from numpy.typing import NDArray

from stumpery.trees import forest_kernels as trees
from stumpery.trees.forest_kernels import BLOCK, Forest


def blocks_fit(forest: Forest, n_leaves: int, n_kept: int) -> bool:
    """Whether every block is free or in one leaf, and every number one of an event that has come.

    Until more than `n_kept` events have come, all of them are remembered; later, numbers may be of any that are gone.
    """
    time, free, n_free = (int(forest.counters[at]) for at in (trees.TIME, trees.FREE_BLOCK, trees.N_FREE_BLOCKS))
    lines = forest.leaves[:n_leaves][forest.leaves[:n_leaves, trees.NODE] != trees.NOTHING]
    before, fills = forest.blocks[:, trees.BEFORE], lines[:, trees.FILL]
    links = np.concatenate([lines[:, trees.HEAD], before, [free]])
    if not ((links >= -1) & (links < len(before))).all() or not ((fills >= 0) & (fills <= BLOCK)).all():
        return False
    used = np.bincount(links[links >= 0], minlength=len(before))
    found = 0
    while free != trees.NOTHING and found <= n_free:
        free, found = int(before[free]), found + 1
    counts, spans = _unfolded(lines[:, trees.NEWEST + 1 :])
    _, older = _unfolded(forest.blocks[:, trees.LATEST + 1 :])
    gaps = np.concatenate([lines[:, trees.NEWEST + 1 :].ravel(), forest.blocks[:, trees.LATEST + 1 :].ravel()])
    newest = np.concatenate([lines[:, trees.NEWEST], forest.blocks[:, trees.LATEST]])
    oldest = newest - np.concatenate([spans, older])
    return bool(
        (used <= 1).all()
        and found == n_free
        and (lines[:, trees.N_EVENTS] >= 0).all()
        and (gaps >= 0).all()
        and (counts == fills)[fills > 0].all()
        and (newest >= trees.NOTHING).all()
        and (newest < max(time, 1)).all()
        and (time >= n_kept or (oldest >= 0).all())
    )


def _unfolded(words: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row of gaps: how many events it tells of, and how far the newest of them is from the oldest."""
    gaps = np.concatenate([words >> 16, words & 0xFFFF], axis=1)
    return (gaps > 0).sum(axis=1), np.maximum(gaps - 1, 0).sum(axis=1)
