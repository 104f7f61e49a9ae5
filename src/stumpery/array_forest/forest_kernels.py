"""Array forest: the state of incremental trees over stored events, their allocation, and how rows descend.

Events are stored once, in a ring of the owner's. A leaf has only their numbers (`event_lists_kernels.py`), so that it
can search splits among its own past events. Nodes, leaves and blocks are allocated from arrays of fixed size, which
grow between calls (`arena.py`); free ones form linked lists.

A node is sixteen bytes: the index of its left child (the right one follows), its column, and a threshold or a set of
codes. A leaf is its own left child, so that all trees descend level by level without a branch. Missing numbers are -inf
and missing categories have code 0, so that a split can separate them.
"""

import math
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import LINE, internal, prefetch, prefetch_byte
from stumpery.types import Floats

NODE_CHILD, NODE_COLUMN = range(2)  # of a node's four words; the last two are its threshold or mask
NODE_PAYLOAD = 1  # the last two words, seen as the second of two 64-bit words
NODE_LEAF = 2  # the first of the last two in a node that is a leaf: its number; with the other it is NaN
NAN_BITS = np.uint64(0x7FF8000000000000)
# Of a leaf's statistics, for each action; the number of plays follows from the uncertainty.
STAT_MEAN, STAT_UNCERTAINTY, STAT_CORRECTION = range(3)
N_STATS = 3
STAT_UNIT = 2.0**16 - 1.0  # steps of a mean or an uncertainty of 1
CORRECTION_ZERO, CORRECTION_UNIT = 2.0**15, 2.0**15  # what stands for a correction of 0, and steps of one of 1
MAX_PLAYS = 2.0**20  # that an uncertainty can represent
# Of a leaf; LEAF_NEWEST is the number of the last event that it ever had, followed by words of gaps.
LEAF_NODE, LEAF_N_EVENTS, LEAF_NEXT_CHECK, LEAF_BLOCK, LEAF_N_GAPS, LEAF_NEWEST = range(6)
N_GAP_WORDS = 10  # two gaps + 1 in each word, the earlier in its lower half; 0 where there is none
GAPS_PER_BLOCK = 2 * N_GAP_WORDS  # also in a leaf
LONG_GAP = 2**15 - 1  # instead of a gap: LONG_GAP - 1 events in other leaves
N_LEAF_FIELDS = LEAF_NEWEST + 1 + N_GAP_WORDS  # a cache line
BLOCK_PREVIOUS, BLOCK_NEWEST = range(2)  # of a block: the block before it, its newest number; then words of gaps
N_BLOCK_FIELDS = BLOCK_NEWEST + 1 + N_GAP_WORDS
PRIOR_COUNT = 1.0  # weight of the parent's mean, in events
INITIAL_STATS = (2**15, 2**16 - 1, 2**15)  # a mean of 1/2, full uncertainty, no correction
NO_INDEX = -1
NUMERICAL, CATEGORICAL, BINARY = range(3)  # kinds of columns; binary ones have only ever had 0 and 1

(
    COUNTER_NODES,
    COUNTER_LEAVES,
    COUNTER_FREE_PAIR,
    COUNTER_FREE_LEAF,
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    COUNTER_TIME,
    COUNTER_LAST_COLLECTED,
) = range(8)
N_COUNTERS = 8

MAX_THRESHOLDS = 15
MAX_CODES = 64  # of a category: one bit each
MAX_EVENT_NUMBER = 2**30  # then events are renumbered
INITIAL_CHECK = 20  # events at which a leaf is first checked
MIN_CHILD_EVENTS = 5  # on each side of a split

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]
Stats = NDArray[Any]  # uint16 steps in reward forests, float32 in Hoeffding trees

NODE_VIEWS = ("words", "thresholds", "masks")  # of the nodes' memory, one-dimensional: faster to index


State = TypeVar("State")
Workspace = TypeVar("Workspace")


class ForestMemory(NamedTuple, Generic[State, Workspace]):
    """The state of a forest and a workspace for it: pinned together, they are one argument of a kernel."""

    state: State
    workspace: Workspace


class ForestState(NamedTuple):
    """All trees of a forest."""

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
    """Zeros that begin at a cache line."""
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
    """A ring of 32-bit floats: columns, label and weight of each event."""
    return aligned_zeros((n_events, n_columns + 2), np.float32)


def new_forest(
    n_trees: int, n_actions: int, is_categorical: NDArray[np.bool_], n_nodes: int, n_blocks: int
) -> ForestState:
    """Trees of one leaf each, with free nodes, leaves and blocks."""
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


def renumber(forest: ForestState, n_kept: int, concept_start: int = 0) -> int:
    """Renumber the events once there were very many, in place; return the decrease of their numbers.

    It is a multiple of the ring's size, so that events keep their index there; numbers out of the ring stay out of it,
    and those before `concept_start` stay before it.
    """
    time = int(forest.counters[COUNTER_TIME])
    if time < MAX_EVENT_NUMBER:
        return 0
    decrease = max(time - n_kept, 0) // n_kept * n_kept
    forest.counters[COUNTER_TIME] -= decrease
    for numbers in (forest.blocks[:, BLOCK_NEWEST], forest.leaves[:, LEAF_NEWEST]):
        np.maximum(numbers - decrease, np.where(numbers < concept_start, NO_INDEX - 1, NO_INDEX), out=numbers)
    return decrease


@internal
def as_int64(number: np.int32) -> int:
    """A number in 64 bits: functions that get both widths would be compiled twice."""
    return int(np.int64(number))


@internal
def has_pair(forest: ForestState) -> bool:
    """Whether two nodes are free."""
    counters = forest.counters
    return bool(counters[COUNTER_FREE_PAIR] != NO_INDEX or counters[COUNTER_NODES] + 2 <= forest.nodes.shape[0])


@internal
def take_pair(forest: ForestState) -> int:
    """Allocate two neighbouring nodes, in place."""
    counters = forest.counters
    pair: int = counters[COUNTER_FREE_PAIR]
    if pair == NO_INDEX:
        pair = counters[COUNTER_NODES]
        counters[COUNTER_NODES] += 2
    else:
        counters[COUNTER_FREE_PAIR] = forest.nodes[pair, NODE_CHILD]
    return pair


@internal
def take_leaf(forest: ForestState) -> int:
    """Allocate a leaf, in place."""
    counters = forest.counters
    leaf: int = counters[COUNTER_FREE_LEAF]
    if leaf == NO_INDEX:
        leaf = counters[COUNTER_LEAVES]
        counters[COUNTER_LEAVES] += 1
    else:
        counters[COUNTER_FREE_LEAF] = forest.leaves[leaf, LEAF_BLOCK]
    return leaf


@internal
def free_pair(forest: ForestState, pair: int) -> None:
    """Free two neighbouring nodes, in place."""
    forest.nodes[pair, NODE_CHILD] = forest.counters[COUNTER_FREE_PAIR]
    forest.counters[COUNTER_FREE_PAIR] = pair


@internal
def free_leaf(forest: ForestState, leaf: int) -> None:
    """Free a leaf without blocks, in place."""
    forest.leaves[leaf, LEAF_NODE] = NO_INDEX
    forest.leaves[leaf, LEAF_BLOCK] = forest.counters[COUNTER_FREE_LEAF]
    forest.counters[COUNTER_FREE_LEAF] = leaf


@internal
def make_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf, in place; events and statistics of the leaf stay."""
    forest.nodes[node, NODE_CHILD] = node
    forest.nodes[node, NODE_COLUMN] = 0
    forest.masks[2 * node + NODE_PAYLOAD] = NAN_BITS | np.uint64(leaf)
    forest.leaves[leaf, LEAF_NODE] = node


@internal
def make_empty_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf without events, in place; statistics of the leaf stay."""
    make_leaf(forest, node, leaf)
    forest.leaves[leaf, LEAF_N_EVENTS] = 0
    forest.leaves[leaf, LEAF_NEXT_CHECK] = INITIAL_CHECK
    forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    forest.leaves[leaf, LEAF_N_GAPS] = 0


@internal
def make_split(
    forest: ForestState, leaf: int, other: int, child: int, column: int, threshold: float, mask: np.uint64
) -> None:
    """Turn the node of a leaf without blocks into a split with two empty leaves, this one and the other, in place."""
    node = forest.leaves[leaf, LEAF_NODE]
    make_empty_leaf(forest, child, leaf)
    make_empty_leaf(forest, child + 1, other)
    forest.nodes[node, NODE_CHILD] = child
    forest.nodes[node, NODE_COLUMN] = column
    if column >= 0:
        forest.thresholds[2 * node + NODE_PAYLOAD] = threshold
    else:
        forest.masks[2 * node + NODE_PAYLOAD] = mask


@internal
def column_of(forest: ForestState, node: int) -> np.uint32:
    """The column of a split."""
    column = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_COLUMN)]
    return np.uint32(column ^ (column >> np.int32(31)))


@internal
def value_goes_right(forest: ForestState, node: int, value: float) -> np.int32:
    """1 if a value belongs to the right child of a node, else 0; both kinds of splits are evaluated: no branch."""
    index = np.uint32(node)
    column = forest.words[np.uint32(4) * index + np.uint32(NODE_COLUMN)]
    payload = np.uint32(2) * index + np.uint32(NODE_PAYLOAD)
    above = np.int32(value > forest.thresholds[payload])
    code = np.uint64(np.int32(np.float32(value)) & np.int32(63))
    outside = np.int32(1) - np.int32((forest.masks[payload] >> code) & np.uint64(1))
    return above if column >= 0 else outside


@internal
def goes_right(forest: ForestState, node: int, row: Floats) -> np.int32:
    """1 if a row belongs to the right child of a node, else 0."""
    return value_goes_right(forest, node, row[column_of(forest, node)])


@internal
def descend(forest: ForestState, row: Floats, reached: Int32s, moving: Int32s) -> None:
    """Write the leaf that a row reaches in every tree into `reached`, in place; all trees descend together.

    `moving` is scratch: the trees that have not reached a leaf yet.
    """
    n_moving = reached.shape[0]
    for tree in range(n_moving):
        reached[tree] = tree
        moving[tree] = tree
    while n_moving > 0:
        still = 0
        for index in range(n_moving):
            tree = moving[index]
            node = reached[tree]
            child = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_CHILD)] + goes_right(forest, node, row)
            prefetch_byte(forest.words, 16 * child)
            reached[tree] = child
            moving[still] = tree
            still += child != node
        n_moving = still
    for tree in range(reached.shape[0]):
        leaf = forest.nodes[reached[tree], NODE_LEAF]
        prefetch(forest.stats, leaf)
        prefetch(forest.leaves, leaf)
        reached[tree] = leaf


@internal
def update_column_kinds(forest: ForestState, row: Floats) -> None:
    """Make binary columns numerical where a row has another value than 0 and 1, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        if forest.kinds[column] == BINARY and value != 0.0 and value != 1.0:  # noqa: PLR1714 - a set is slow here
            forest.kinds[column] = NUMERICAL
