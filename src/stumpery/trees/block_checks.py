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
    newest = np.concatenate([lines[:, trees.NEWEST], forest.blocks[:, trees.LATEST]])
    gaps = _unfolded(np.concatenate([lines[:, trees.NEWEST + 1 :], forest.blocks[:, trees.LATEST + 1 :]]))
    noted = gaps > 0
    oldest = newest - np.maximum(gaps - 1, 0).sum(axis=1)
    return bool(
        (used <= 1).all()
        and found == n_free
        and (lines[:, trees.N_EVENTS] >= 0).all()
        and ((gaps >= 0) & (gaps <= trees.SKIP)).all()
        and (noted[:, :-1] >= noted[:, 1:]).all()
        and (noted[: len(lines)].sum(axis=1) == fills)[fills > 0].all()
        and (newest >= trees.NOTHING - 1).all()
        and (newest < max(time, 1)).all()
        and (time >= n_kept or (oldest >= 0).all())
    )


def _unfolded(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """The gaps in rows of words, the earliest first."""
    return np.stack([words & 0xFFFF, words >> 16], axis=2).reshape(len(words), -1)
