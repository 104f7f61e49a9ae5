"""Validation of event lists: the blocks of saved trees, and the event numbers in them."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK, ForestState
from stumpery.saving.validation import chain, check, check_within


def validate_blocks(forest: ForestState, n_kept: int) -> None:
    """Refuse blocks that are not free or in exactly one leaf, and numbers of no event.

    Until more than `n_kept` events have come, all of them are stored; later, lists may hold numbers of expired ones.
    """
    time, free, n_free = (
        int(forest.counters[at]) for at in (trees.COUNTER_TIME, trees.COUNTER_FREE_BLOCK, trees.COUNTER_FREE_BLOCKS)
    )
    leaves = forest.leaves[: int(forest.counters[trees.COUNTER_LEAVES])]
    lines = leaves[leaves[:, trees.LEAF_NODE] != trees.NO_INDEX]
    before, fills = forest.blocks[:, trees.BLOCK_PREVIOUS], lines[:, trees.LEAF_N_GAPS]
    links = np.concatenate([lines[:, trees.LEAF_BLOCK], before, [free]])
    check_within(links, trees.NO_INDEX, len(before) - 1, "the index of a block")
    check_within(fills, 0, GAPS_PER_BLOCK, "the number of gaps in a leaf")
    used = np.bincount(links[links >= 0], minlength=len(before))
    check((used <= 1).all(), f"block {used.argmax()} is in two lists")
    n_actual = len(chain(free, before, trees.NO_INDEX, "the list of free blocks"))
    check(n_actual == n_free, f"{n_actual} blocks are free, not {n_free}")
    newest = np.concatenate([lines[:, trees.LEAF_NEWEST], forest.blocks[:, trees.BLOCK_NEWEST]])
    gaps = _decoded(np.concatenate([lines[:, trees.LEAF_NEWEST + 1 :], forest.blocks[:, trees.BLOCK_NEWEST + 1 :]]))
    noted = gaps > 0
    oldest = newest - np.maximum(gaps - 1, 0).sum(axis=1)
    check((lines[:, trees.LEAF_N_EVENTS] >= 0).all(), "a leaf's count of events is negative")
    check_within(gaps, 0, trees.LONG_GAP, "the gap between two events")
    check((noted[:, :-1] >= noted[:, 1:]).all(), "there is a hole between the events of a leaf")
    n_noted = noted[: len(lines)].sum(axis=1)
    check((n_noted == fills)[fills > 0].all(), "the number of gaps of a leaf does not match its event list")
    check_within(newest, trees.NO_INDEX - 1, max(time, 1) - 1, "the number of an event")
    check(time >= n_kept or (oldest >= 0).all(), "a leaf has an event before the first")


def _decoded(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """The gaps in rows of words, the earliest first."""
    return np.stack([words & 0xFFFF, words >> 16], axis=2).reshape(len(words), -1)
