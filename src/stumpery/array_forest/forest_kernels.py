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

from stumpery.jit import LINE, internal, prefetch, prefetch_byte
from stumpery.types import Floats

NODE_CHILD, NODE_COLUMN = range(2)  # of a node's four words; the last two are its threshold or mask
NODE_PAYLOAD = 1  # the same two words, seen as the second of two wide ones
NODE_LEAF = 2  # the first of them in a node that is a leaf: its number; with the other it is no threshold but NaN
NAN = np.uint64(0x7FF8000000000000)
STAT_MEAN, STAT_UNCERTAINTY, STAT_CORRECTION = range(
    3
)  # of a leaf, for each action; WEIGHT corrects, a uncertainty says how many plays there were
N_STATS = 3
STAT_UNIT = 2.0**16 - 1.0  # steps of a mean or a uncertainty of 1
CORRECTION_ZERO, CORRECTION_UNIT = 2.0**15, 2.0**15  # what stands for a weight of 0, and steps of one of 1
MAX_PLAYS = 2.0**20  # that a uncertainty can tell
# Of a leaf; NEWEST is the number of the last event that it ever had, and behind it come gaps between numbers.
LEAF_NODE, LEAF_N_EVENTS, LEAF_NEXT_CHECK, LEAF_BLOCK, LEAF_N_GAPS, LEAF_NEWEST = range(6)
N_GAPS = 10  # words of gaps: two in each, plus 1, and the earlier in its lower half; 0 where nothing is noted
GAPS_PER_BLOCK = 2 * N_GAPS  # gaps in a line or a block
LONG_GAP = 2**15 - 1  # noted instead of a gap: SKIP - 1 events that were elsewhere
N_LEAF_FIELDS = LEAF_NEWEST + 1 + N_GAPS  # one line of memory
BLOCK_PREVIOUS, BLOCK_NEWEST = range(
    2
)  # of a block: the block before it, and its newest number; then gaps as in a leaf
N_BLOCK_FIELDS = BLOCK_NEWEST + 1 + N_GAPS
PRIOR = 1.0  # events that the parent's estimate is worth
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

MAX_CUTS = 15
MAX_CODES = 64  # codes of a name: one bit each
MAX_EVENT_NUMBER = 2**30  # of an event: from here on they are numbered anew
INITIAL_CHECK = 20
MIN_CHILD_EVENTS = 5

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]
Stats = NDArray[Any]  # of reward forests in steps, of the trees of streams floats

VIEWS = ("words", "thresholds", "masks")  # of the nodes' memory, end to end: quicker to find one's way in


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
        *views(nodes),
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
    forest.masks[NODE_PAYLOAD : 2 * n_trees : 2] = NAN | roots.astype(np.uint64)
    forest.leaves[:n_trees, LEAF_NODE] = roots
    forest.leaves[:n_trees, LEAF_NEXT_CHECK] = INITIAL_CHECK
    forest.leaves[:n_trees, LEAF_BLOCK] = NO_INDEX
    forest.counters[COUNTER_NODES] = forest.counters[COUNTER_LEAVES] = n_trees
    forest.counters[COUNTER_FREE_PAIR] = forest.counters[COUNTER_FREE_LEAF] = NO_INDEX
    forest.counters[COUNTER_FREE_BLOCKS] = n_blocks
    return forest


def views(nodes: Int32s) -> tuple[Int32s, Floats, NDArray[np.uint64]]:
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


@internal
def make_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf, in place; its events and statistics stay."""
    forest.nodes[node, NODE_CHILD] = node
    forest.nodes[node, NODE_COLUMN] = 0
    forest.masks[2 * node + NODE_PAYLOAD] = NAN | np.uint64(leaf)
    forest.leaves[leaf, LEAF_NODE] = node


@internal
def make_empty_leaf(forest: ForestState, node: int, leaf: int) -> None:
    """Turn a node into a leaf without events, in place; its statistics stay."""
    make_leaf(forest, node, leaf)
    forest.leaves[leaf, LEAF_N_EVENTS] = 0
    forest.leaves[leaf, LEAF_NEXT_CHECK] = INITIAL_CHECK
    forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    forest.leaves[leaf, LEAF_N_GAPS] = 0


@internal
def make_split(
    forest: ForestState, leaf: int, other: int, child: int, column: int, threshold: float, mask: np.uint64
) -> None:
    """Turn a leaf's node into a test with two leaves without events, this one and the other, in place."""
    node = forest.leaves[leaf, LEAF_NODE]
    free_blocks(forest, leaf)
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
    """The column that a node asks for."""
    column = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_COLUMN)]
    return np.uint32(column ^ (column >> np.int32(31)))


@internal
def side(forest: ForestState, node: int, value: float) -> np.int32:
    """Which child of a node a value leads to: 0 or 1; both questions are answered, to do without a branch."""
    place = np.uint32(node)
    column = forest.words[np.uint32(4) * place + np.uint32(NODE_COLUMN)]
    payload = np.uint32(2) * place + np.uint32(NODE_PAYLOAD)
    above = np.int32(value > forest.thresholds[payload])
    code = np.uint64(np.int32(np.float32(value)) & np.int32(63))
    outside = np.int32(1) - np.int32((forest.masks[payload] >> code) & np.uint64(1))
    return above if column >= 0 else outside


@internal
def goes_right(forest: ForestState, node: int, row: Floats) -> np.int32:
    """Which child of a node a row belongs to."""
    return side(forest, node, row[column_of(forest, node)])


@internal
def descend(forest: ForestState, row: Floats, reached: Int32s, moving: Int32s) -> None:
    """Write the leaf that a row reaches in every tree into `reached`, in place; all trees go down together.

    `moving` is scratch: which of them have not reached one yet.
    """
    n_moving = reached.shape[0]
    for tree in range(n_moving):
        reached[tree] = tree
        moving[tree] = tree
    while n_moving > 0:
        still = 0
        for place in range(n_moving):
            tree = moving[place]
            node = reached[tree]
            following = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(NODE_CHILD)] + goes_right(
                forest, node, row
            )
            prefetch_byte(forest.words, 16 * following)
            reached[tree] = following
            moving[still] = tree
            still += following != node
        n_moving = still
    for tree in range(reached.shape[0]):
        leaf = forest.nodes[reached[tree], NODE_LEAF]
        prefetch(forest.stats, leaf)
        prefetch(forest.leaves, leaf)
        reached[tree] = leaf


@internal
def update_column_kinds(forest: ForestState, row: Floats) -> None:
    """Note which columns hold more than bits, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        if forest.kinds[column] == BINARY and value != 0.0 and value != 1.0:  # noqa: PLR1714 - a set is slow here
            forest.kinds[column] = NUMERICAL


@internal
def new_block(forest: ForestState) -> int:
    """Take a block from the free ones; NOTHING where there is none."""
    block: int = forest.counters[COUNTER_FREE_BLOCK]
    if block != NO_INDEX:
        forest.counters[COUNTER_FREE_BLOCK] = forest.blocks[block, BLOCK_PREVIOUS]
        forest.counters[COUNTER_FREE_BLOCKS] -= 1
    return block


@internal
def is_full(line: Int32s, time: int) -> bool:
    """Whether a leaf's own line has no place for one more event, and for all that must be skipped before it."""
    gap = time - line[LEAF_NEWEST]
    return bool(line[LEAF_N_GAPS] > 0 and (gap < 0 or line[LEAF_N_GAPS] + gap // (LONG_GAP - 1) >= GAPS_PER_BLOCK))


@internal
def n_events_in(words: Int32s, newest: int) -> int:
    """How many events are in a line or a block, whose newest number stands at that place in `words`."""
    n = 0
    for place in range(newest + 1, newest + 1 + N_GAPS):
        gaps = words[place]
        n += int(0 < gaps >> 16 < LONG_GAP) + int(0 < gaps & 0xFFFF < LONG_GAP)
    return n


@internal
def spill(forest: ForestState, leaf: int) -> None:
    """Move the numbers in a leaf's own line into a block, in place; without a free one they are forgotten."""
    line = forest.leaves[leaf]
    block = new_block(forest)
    if block == NO_INDEX:
        line[LEAF_N_EVENTS] -= n_events_in(line, LEAF_NEWEST)
    else:
        forest.blocks[block, BLOCK_PREVIOUS] = line[LEAF_BLOCK]
        line[LEAF_BLOCK] = block
        for place in range(1 + N_GAPS):
            forest.blocks[block, BLOCK_NEWEST + place] = line[LEAF_NEWEST + place]
    line[LEAF_N_GAPS] = 0


@internal
def append_event(forest: ForestState, leaf: int, time: int) -> None:
    """Note the number of an event in a leaf, in place; without a free block its newest ones make way."""
    line = forest.leaves[leaf]
    if is_full(line, time):
        spill(forest, leaf)
    fill, gap = as_int64(line[LEAF_N_GAPS]), 0
    if fill == 0:
        for place in range(N_GAPS):
            line[LEAF_NEWEST + 1 + place] = 0
    else:
        gap = time - line[LEAF_NEWEST]
    while gap >= LONG_GAP - 1:
        line[LEAF_NEWEST + 1 + fill // 2] += LONG_GAP << (16 * (fill % 2))
        gap -= LONG_GAP - 1
        fill += 1
    line[LEAF_NEWEST + 1 + fill // 2] += (gap + 1) << (16 * (fill % 2))
    line[LEAF_NEWEST] = time
    line[LEAF_N_GAPS] = fill + 1
    line[LEAF_N_EVENTS] += 1


@internal
def release_blocks(forest: ForestState, block: int) -> int:
    """Free a block and all before it, in place; give how many events were in them."""
    n = 0
    while block != NO_INDEX:
        n += n_events_in(forest.blocks[block], BLOCK_NEWEST)
        before = forest.blocks[block, BLOCK_PREVIOUS]
        forest.blocks[block, BLOCK_PREVIOUS] = forest.counters[COUNTER_FREE_BLOCK]
        forest.counters[COUNTER_FREE_BLOCK] = block
        forest.counters[COUNTER_FREE_BLOCKS] += 1
        block = before
    return n


@internal
def free_blocks(forest: ForestState, leaf: int) -> None:
    """Give a leaf's blocks back, in place."""
    release_blocks(forest, forest.leaves[leaf, LEAF_BLOCK])
    forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    forest.leaves[leaf, LEAF_N_GAPS] = 0
    forest.leaves[leaf, LEAF_N_EVENTS] = 0


@internal
def release_old_blocks(forest: ForestState, leaf: int, oldest: int) -> int:
    """Give back a leaf's blocks whose events are all older than `oldest`, in place; give how many events were in them.

    Numbers fall along the chain.
    """
    after, block = NO_INDEX, forest.leaves[leaf, LEAF_BLOCK]
    while block != NO_INDEX and forest.blocks[block, BLOCK_NEWEST] >= oldest:
        after, block = block, forest.blocks[block, BLOCK_PREVIOUS]
    if after == NO_INDEX:
        forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    else:
        forest.blocks[after, BLOCK_PREVIOUS] = NO_INDEX
    return release_blocks(forest, block)


@internal
def delta_decode(words: Int32s, newest: int, oldest: int, found: Int32s, n: int) -> int:
    """Write numbers from `oldest` on behind the first n in `found`, in place; give how many there are now.

    The newest of them stands at a place in `words`, the gaps behind it.
    """
    number = as_int64(words[newest])
    for place in range(newest + N_GAPS, newest, -1):
        gaps = as_int64(words[place])
        for gap in (gaps >> 16, gaps & 0xFFFF):
            found[n] = number
            n += int(0 < gap < LONG_GAP and number >= oldest)
            number -= max(gap - 1, 0)
    return n


@internal
def event_numbers(forest: ForestState, leaf: int, oldest: int, found: Int32s) -> int:
    """Write the numbers of a leaf's events from `oldest` on into `found`, in place, newest first; give how many."""
    n = 0
    if forest.leaves[leaf, LEAF_N_GAPS] > 0:
        n = delta_decode(forest.leaves[leaf], LEAF_NEWEST, oldest, found, n)
    block = forest.leaves[leaf, LEAF_BLOCK]
    while block != NO_INDEX and forest.blocks[block, BLOCK_NEWEST] >= oldest and n + GAPS_PER_BLOCK <= found.shape[0]:
        n = delta_decode(forest.blocks[block], BLOCK_NEWEST, oldest, found, n)
        block = forest.blocks[block, BLOCK_PREVIOUS]
    return n
