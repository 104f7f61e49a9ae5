"""Trees over remembered events: the array forest.

Events are kept once, in a ring (`ring_kernels.py`; of floats for the trees of streams); a leaf has only their numbers,
so that it can look at its own past with cut points of its own when it is asked whether to split: the latest in its own
line of memory, older ones in blocks. A line and a block have the newest number and the gaps back to the others, two
bytes each; a long gap takes some more. A node is sixteen bytes: the place of its left child (the right one follows),
its column, and a threshold or a set of codes; a leaf is its own left child, so that all trees descend level by level
without a branch. Missing numbers are -inf and missing names code 0: always on a side of their own. All memory is taken
at the start; without a free block a leaf forgets events that have left the ring, or else its newest.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import LINE, internal
from stumpery.types import Floats

NODE_CHILD, NODE_COLUMN = range(2)  # of a node's four words; the last two are its threshold or mask
NODE_PAYLOAD = 1  # the same two words, seen as the second of two wide ones
NODE_LEAF = 2  # the first of them in a node that is a leaf: its number; with the other it is no threshold but NaN
NAN_BITS = np.uint64(0x7FF8000000000000)
STAT_MEAN, STAT_UNCERTAINTY, STAT_CORRECTION = range(
    3
)  # of a leaf, for each action; WEIGHT corrects, a uncertainty says how many plays there were
N_STATS = 3
STAT_UNIT = 2.0**16 - 1.0  # steps of a mean or a uncertainty of 1
CORRECTION_ZERO, CORRECTION_UNIT = 2.0**15, 2.0**15  # what stands for a weight of 0, and steps of one of 1
MAX_PLAYS = 2.0**20  # that a uncertainty can tell
# Of a leaf; NEWEST is the number of the last event that it ever had, and behind it come gaps between numbers.
LEAF_NODE, LEAF_N_EVENTS, LEAF_NEXT_CHECK, LEAF_BLOCK, LEAF_N_GAPS, LEAF_NEWEST = range(6)
N_GAP_WORDS = 10  # words of gaps: two in each, plus 1, and the earlier in its lower half; 0 where nothing is noted
GAPS_PER_BLOCK = 2 * N_GAP_WORDS  # gaps in a line or a block
LONG_GAP = 2**15 - 1  # noted instead of a gap: SKIP - 1 events that were elsewhere
N_LEAF_FIELDS = LEAF_NEWEST + 1 + N_GAP_WORDS  # one line of memory
BLOCK_PREVIOUS, BLOCK_NEWEST = range(
    2
)  # of a block: the block before it, and its newest number; then gaps as in a leaf
N_BLOCK_FIELDS = BLOCK_NEWEST + 1 + N_GAP_WORDS
PRIOR_COUNT = 1.0  # events that the parent's estimate is worth
INITIAL_STATS = (2**15, 2**16 - 1, 2**15)  # a mean of a half, all uncertainty, and no weight
NO_INDEX = -1
NUMERICAL, CATEGORICAL, BINARY = range(3)  # kinds of columns; a bit is a number that was only ever 0 or 1

(
    COUNTER_NODES,
    COUNTER_LEAVES,
    COUNTER_FREE_PAIR,
    COUNTER_FREE_LEAF,
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    COUNTER_TIME,
    COUNTER_LAST_COLLECTED,
) = range(8)  # of the counters
N_COUNTERS = 8

MAX_THRESHOLDS = 15
MAX_CODES = 64  # codes of a name: one bit each
MAX_EVENT_NUMBER = 2**30  # of an event: from here on they are numbered anew
INITIAL_CHECK = 20
MIN_CHILD_EVENTS = 5

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]
Stats = NDArray[Any]  # of reward forests in steps, of the trees of streams floats

NODE_VIEWS = ("words", "thresholds", "masks")  # of the nodes' memory, end to end: quicker to find one's way in


class ForestState(NamedTuple):
    """All trees, in one arena."""

    nodes: Int32s  # (nodes, 4)
    words: Int32s  # (nodes * 4,), the same memory
    thresholds: Floats  # (nodes * 2,), the same memory
    masks: NDArray[np.uint64]  # (nodes * 2,), the same memory
    leaves: Int32s  # (leaves, fields)
    stats: Stats  # (leaves, N_STATS, actions)
    blocks: Int32s  # (blocks, fields)
    counters: NDArray[np.int64]
    kinds: NDArray[np.uint8]  # (columns,)


def aligned_zeros(shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    """Zeros that begin where a line of memory does."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)


def resized(array: NDArray[Any], n: int) -> NDArray[Any]:
    """A copy with `n` rows, cut off or filled up with zeros; it begins at a cache line."""
    copy = aligned_zeros((n, *array.shape[1:]), array.dtype.type)
    copy[: len(array)] = array[:n]
    return copy


def new_events(n_events: int, n_columns: int) -> Float32s:
    """Room for so many events of a stream: their columns, then the label and the weight."""
    return aligned_zeros((n_events, n_columns + 2), np.float32)


def new_forest(
    n_trees: int, n_actions: int, is_categorical: NDArray[np.bool_], n_nodes: int, n_blocks: int
) -> ForestState:
    """Trees of one leaf each, and room to grow."""
    nodes = aligned_zeros((n_nodes, 4), np.int32)
    n_leaves = n_nodes // 2 + n_trees
    forest = ForestState(
        nodes,
        *node_views(nodes),
        aligned_zeros((n_leaves, N_LEAF_FIELDS), np.int32),
        aligned_zeros((n_leaves, N_STATS, n_actions), np.uint16),
        aligned_zeros((n_blocks, N_BLOCK_FIELDS), np.int32),
        np.zeros(N_COUNTERS, np.int64),
        np.where(is_categorical, CATEGORICAL, BINARY).astype(np.uint8),
    )
    forest.blocks[:, BLOCK_PREVIOUS] = np.arange(1, n_blocks + 1)
    forest.blocks[-1, BLOCK_PREVIOUS] = NO_INDEX
    forest.stats[:n_trees] = np.array(INITIAL_STATS)[:, None]
    roots = np.arange(n_trees)
    forest.nodes[:n_trees, NODE_CHILD] = roots
    forest.masks[NODE_PAYLOAD : 2 * n_trees : 2] = NAN_BITS | roots.astype(np.uint64)
    forest.leaves[:n_trees, LEAF_NODE] = roots
    forest.leaves[:n_trees, LEAF_NEXT_CHECK] = INITIAL_CHECK
    forest.leaves[:n_trees, LEAF_BLOCK] = NO_INDEX
    forest.counters[COUNTER_NODES] = forest.counters[COUNTER_LEAVES] = n_trees
    forest.counters[COUNTER_FREE_PAIR] = forest.counters[COUNTER_FREE_LEAF] = NO_INDEX
    forest.counters[COUNTER_FREE_BLOCKS] = n_blocks
    return forest


def node_views(nodes: Int32s) -> tuple[Int32s, Floats, NDArray[np.uint64]]:
    """The nodes' memory as words, thresholds and masks."""
    words = nodes.reshape(-1)
    return words, words.view(np.float64), words.view(np.uint64)


def renumber(forest: ForestState, n_kept: int, epoch: int = 0) -> int:
    """Number the events anew once there were very many, in place; give how much less their numbers are.

    It is a multiple of the ring's size, so that all keep their places; what is out of the ring stays out of it, and
    what is before the `epoch` stays before it.
    """
    time = int(forest.counters[COUNTER_TIME])
    if time < MAX_EVENT_NUMBER:
        return 0
    less = max(time - n_kept, 0) // n_kept * n_kept
    forest.counters[COUNTER_TIME] -= less
    for numbers in (forest.blocks[:, BLOCK_NEWEST], forest.leaves[:, LEAF_NEWEST]):
        np.maximum(numbers - less, np.where(numbers < epoch, NO_INDEX - 1, NO_INDEX), out=numbers)
    return less


@internal
def as_int64(number: np.int32) -> int:
    """The same in 64 bits: functions that get both widths would be compiled twice."""
    return int(np.int64(number))
