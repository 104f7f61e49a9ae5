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

from stumpery.jit import LINE, part, prefetch, prefetch_byte
from stumpery.types import Floats

CHILD, COLUMN = range(2)  # of a node's four words; the last two are its threshold or mask
PAYLOAD = 1  # the same two words, seen as the second of two wide ones
LEAF = 2  # the first of them in a node that is a leaf: its number; with the other it is no threshold but NaN
NAN = np.uint64(0x7FF8000000000000)
MEAN, DOUBT, WEIGHT = range(3)  # of a leaf, for each action; WEIGHT corrects, a doubt says how many plays there were
N_STATS = 3
UNIT = 2.0**16 - 1.0  # steps of a mean or a doubt of 1
ZERO, WEIGHT_UNIT = 2.0**15, 2.0**15  # what stands for a weight of 0, and steps of one of 1
MOST_PLAYS = 2.0**20  # that a doubt can tell
# Of a leaf; NEWEST is the number of the last event that it ever had, and behind it come gaps between numbers.
NODE, N_EVENTS, NEXT_CHECK, HEAD, FILL, NEWEST = range(6)
N_GAPS = 10  # words of gaps: two in each, plus 1, and the earlier in its lower half; 0 where nothing is noted
BLOCK = 2 * N_GAPS  # gaps in a line or a block
SKIP = 2**15 - 1  # noted instead of a gap: SKIP - 1 events that were elsewhere
N_LEAF_FIELDS = NEWEST + 1 + N_GAPS  # one line of memory
BEFORE, LATEST = range(2)  # of a block: the block before it, and its newest number; then gaps as in a leaf
N_BLOCK_FIELDS = LATEST + 1 + N_GAPS
PRIOR = 1.0  # events that the parent's estimate is worth
FIRST_STATS = (2**15, 2**16 - 1, 2**15)  # a mean of a half, all doubt, and no weight
NOTHING = -1
NUMBER, NAME, BIT = range(3)  # kinds of columns; a bit is a number that was only ever 0 or 1

N_NODES, N_LEAVES, FREE_PAIR, FREE_LEAF, FREE_BLOCK, N_FREE_BLOCKS, TIME, SWEPT_LAST = range(8)  # of the counters
N_COUNTERS = 8

MAX_CUTS = 15
N_CODES = 64  # codes of a name: one bit each
LAST_NUMBER = 2**30  # of an event: from here on they are numbered anew
FIRST_CHECK = 20
LEAST_SIDE = 5

Float32s = NDArray[np.float32]
Int32s = NDArray[np.int32]
Stats = NDArray[Any]  # of reward forests in steps, of the trees of streams floats

VIEWS = ("words", "thresholds", "masks")  # of the nodes' memory, end to end: quicker to find one's way in


class Forest(NamedTuple):
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


def lined(shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    """Zeros that begin where a line of memory does."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)


def new_events(n_events: int, n_columns: int) -> Float32s:
    """Room for so many events of a stream: their columns, then the label and the weight."""
    return lined((n_events, n_columns + 2), np.float32)


def new_forest(n_trees: int, n_actions: int, is_name: NDArray[np.bool_], n_nodes: int, n_blocks: int) -> Forest:
    """Trees of one leaf each, and room to grow."""
    nodes = lined((n_nodes, 4), np.int32)
    n_leaves = n_nodes // 2 + n_trees
    forest = Forest(
        nodes,
        *views(nodes),
        lined((n_leaves, N_LEAF_FIELDS), np.int32),
        lined((n_leaves, N_STATS, n_actions), np.uint16),
        lined((n_blocks, N_BLOCK_FIELDS), np.int32),
        np.zeros(N_COUNTERS, np.int64),
        np.where(is_name, NAME, BIT).astype(np.uint8),
    )
    forest.blocks[:, BEFORE] = np.arange(1, n_blocks + 1)
    forest.blocks[-1, BEFORE] = NOTHING
    forest.stats[:n_trees] = np.array(FIRST_STATS)[:, None]
    roots = np.arange(n_trees)
    forest.nodes[:n_trees, CHILD] = roots
    forest.masks[PAYLOAD : 2 * n_trees : 2] = NAN | roots.astype(np.uint64)
    forest.leaves[:n_trees, NODE] = roots
    forest.leaves[:n_trees, NEXT_CHECK] = FIRST_CHECK
    forest.leaves[:n_trees, HEAD] = NOTHING
    forest.counters[N_NODES] = forest.counters[N_LEAVES] = n_trees
    forest.counters[FREE_PAIR] = forest.counters[FREE_LEAF] = NOTHING
    forest.counters[N_FREE_BLOCKS] = n_blocks
    return forest


def views(nodes: Int32s) -> tuple[Int32s, Floats, NDArray[np.uint64]]:
    """The nodes' memory as words, thresholds and masks."""
    words = nodes.reshape(-1)
    return words, words.view(np.float64), words.view(np.uint64)


def renumber(forest: Forest, n_kept: int, epoch: int = 0) -> int:
    """Number the events anew once there were very many, in place; give how much less their numbers are.

    It is a multiple of the ring's size, so that all keep their places; what is out of the ring stays out of it, and
    what is before the `epoch` stays before it.
    """
    time = int(forest.counters[TIME])
    if time < LAST_NUMBER:
        return 0
    less = max(time - n_kept, 0) // n_kept * n_kept
    forest.counters[TIME] -= less
    for numbers in (forest.blocks[:, LATEST], forest.leaves[:, NEWEST]):
        np.maximum(numbers - less, np.where(numbers < epoch, NOTHING - 1, NOTHING), out=numbers)
    return less


@part
def wide(number: np.int32) -> int:
    """The same in 64 bits: functions that get both widths would be compiled twice."""
    return int(np.int64(number))


@part
def seat(forest: Forest, node: int, leaf: int) -> None:
    """Turn a node into a leaf, in place; its events and statistics stay."""
    forest.nodes[node, CHILD] = node
    forest.nodes[node, COLUMN] = 0
    forest.masks[2 * node + PAYLOAD] = NAN | np.uint64(leaf)
    forest.leaves[leaf, NODE] = node


@part
def make_leaf(forest: Forest, node: int, leaf: int) -> None:
    """Turn a node into a leaf without events, in place; its statistics stay."""
    seat(forest, node, leaf)
    forest.leaves[leaf, N_EVENTS] = 0
    forest.leaves[leaf, NEXT_CHECK] = FIRST_CHECK
    forest.leaves[leaf, HEAD] = NOTHING
    forest.leaves[leaf, FILL] = 0


@part
def branch(forest: Forest, leaf: int, other: int, child: int, column: int, threshold: float, mask: np.uint64) -> None:
    """Turn a leaf's node into a test with two leaves without events, this one and the other, in place."""
    node = forest.leaves[leaf, NODE]
    free_blocks(forest, leaf)
    make_leaf(forest, child, leaf)
    make_leaf(forest, child + 1, other)
    forest.nodes[node, CHILD] = child
    forest.nodes[node, COLUMN] = column
    if column >= 0:
        forest.thresholds[2 * node + PAYLOAD] = threshold
    else:
        forest.masks[2 * node + PAYLOAD] = mask


@part
def asked(forest: Forest, node: int) -> np.uint32:
    """The column that a node asks for."""
    column = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(COLUMN)]
    return np.uint32(column ^ (column >> np.int32(31)))


@part
def side(forest: Forest, node: int, value: float) -> np.int32:
    """Which child of a node a value leads to: 0 or 1; both questions are answered, to do without a branch."""
    place = np.uint32(node)
    column = forest.words[np.uint32(4) * place + np.uint32(COLUMN)]
    payload = np.uint32(2) * place + np.uint32(PAYLOAD)
    above = np.int32(value > forest.thresholds[payload])
    code = np.uint64(np.int32(np.float32(value)) & np.int32(63))
    outside = np.int32(1) - np.int32((forest.masks[payload] >> code) & np.uint64(1))
    return above if column >= 0 else outside


@part
def goes_right(forest: Forest, node: int, row: Floats) -> np.int32:
    """Which child of a node a row belongs to."""
    return side(forest, node, row[asked(forest, node)])


@part
def descend(forest: Forest, row: Floats, reached: Int32s, moving: Int32s) -> None:
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
            following = forest.words[np.uint32(4) * np.uint32(node) + np.uint32(CHILD)] + goes_right(forest, node, row)
            prefetch_byte(forest.words, 16 * following)
            reached[tree] = following
            moving[still] = tree
            still += following != node
        n_moving = still
    for tree in range(reached.shape[0]):
        leaf = forest.nodes[reached[tree], LEAF]
        prefetch(forest.stats, leaf)
        prefetch(forest.leaves, leaf)
        reached[tree] = leaf


@part
def note_kinds(forest: Forest, row: Floats) -> None:
    """Note which columns hold more than bits, in place."""
    for column in range(row.shape[0]):
        value = row[column]
        if forest.kinds[column] == BIT and value != 0.0 and value != 1.0:  # noqa: PLR1714 - a set is slow here
            forest.kinds[column] = NUMBER


@part
def new_block(forest: Forest) -> int:
    """Take a block from the free ones; NOTHING where there is none."""
    block: int = forest.counters[FREE_BLOCK]
    if block != NOTHING:
        forest.counters[FREE_BLOCK] = forest.blocks[block, BEFORE]
        forest.counters[N_FREE_BLOCKS] -= 1
    return block


@part
def is_full(line: Int32s, time: int) -> bool:
    """Whether a leaf's own line has no place for one more event, and for all that must be skipped before it."""
    gap = time - line[NEWEST]
    return bool(line[FILL] > 0 and (gap < 0 or line[FILL] + gap // (SKIP - 1) >= BLOCK))


@part
def n_noted(words: Int32s, newest: int) -> int:
    """How many events are in a line or a block, whose newest number stands at that place in `words`."""
    n = 0
    for place in range(newest + 1, newest + 1 + N_GAPS):
        gaps = words[place]
        n += int(0 < gaps >> 16 < SKIP) + int(0 < gaps & 0xFFFF < SKIP)
    return n


@part
def put_away(forest: Forest, leaf: int) -> None:
    """Move the numbers in a leaf's own line into a block, in place; without a free one they are forgotten."""
    line = forest.leaves[leaf]
    block = new_block(forest)
    if block == NOTHING:
        line[N_EVENTS] -= n_noted(line, NEWEST)
    else:
        forest.blocks[block, BEFORE] = line[HEAD]
        line[HEAD] = block
        for place in range(1 + N_GAPS):
            forest.blocks[block, LATEST + place] = line[NEWEST + place]
    line[FILL] = 0


@part
def append(forest: Forest, leaf: int, time: int) -> None:
    """Note the number of an event in a leaf, in place; without a free block its newest ones make way."""
    line = forest.leaves[leaf]
    if is_full(line, time):
        put_away(forest, leaf)
    fill, gap = wide(line[FILL]), 0
    if fill == 0:
        for place in range(N_GAPS):
            line[NEWEST + 1 + place] = 0
    else:
        gap = time - line[NEWEST]
    while gap >= SKIP - 1:
        line[NEWEST + 1 + fill // 2] += SKIP << (16 * (fill % 2))
        gap -= SKIP - 1
        fill += 1
    line[NEWEST + 1 + fill // 2] += (gap + 1) << (16 * (fill % 2))
    line[NEWEST] = time
    line[FILL] = fill + 1
    line[N_EVENTS] += 1


@part
def give_back(forest: Forest, block: int) -> int:
    """Free a block and all before it, in place; give how many events were in them."""
    n = 0
    while block != NOTHING:
        n += n_noted(forest.blocks[block], LATEST)
        before = forest.blocks[block, BEFORE]
        forest.blocks[block, BEFORE] = forest.counters[FREE_BLOCK]
        forest.counters[FREE_BLOCK] = block
        forest.counters[N_FREE_BLOCKS] += 1
        block = before
    return n


@part
def free_blocks(forest: Forest, leaf: int) -> None:
    """Give a leaf's blocks back, in place."""
    give_back(forest, forest.leaves[leaf, HEAD])
    forest.leaves[leaf, HEAD] = NOTHING
    forest.leaves[leaf, FILL] = 0
    forest.leaves[leaf, N_EVENTS] = 0


@part
def trim(forest: Forest, leaf: int, oldest: int) -> int:
    """Give back a leaf's blocks whose events are all older than `oldest`, in place; give how many events were in them.

    Numbers fall along the chain.
    """
    after, block = NOTHING, forest.leaves[leaf, HEAD]
    while block != NOTHING and forest.blocks[block, LATEST] >= oldest:
        after, block = block, forest.blocks[block, BEFORE]
    if after == NOTHING:
        forest.leaves[leaf, HEAD] = NOTHING
    else:
        forest.blocks[after, BEFORE] = NOTHING
    return give_back(forest, block)


@part
def unfold(words: Int32s, newest: int, oldest: int, found: Int32s, n: int) -> int:
    """Write numbers from `oldest` on behind the first n in `found`, in place; give how many there are now.

    The newest of them stands at a place in `words`, the gaps behind it.
    """
    number = wide(words[newest])
    for place in range(newest + N_GAPS, newest, -1):
        gaps = wide(words[place])
        for gap in (gaps >> 16, gaps & 0xFFFF):
            found[n] = number
            n += int(0 < gap < SKIP and number >= oldest)
            number -= max(gap - 1, 0)
    return n


@part
def recall(forest: Forest, leaf: int, oldest: int, found: Int32s) -> int:
    """Write the numbers of a leaf's events from `oldest` on into `found`, in place, newest first; give how many."""
    n = 0
    if forest.leaves[leaf, FILL] > 0:
        n = unfold(forest.leaves[leaf], NEWEST, oldest, found, n)
    block = forest.leaves[leaf, HEAD]
    while block != NOTHING and forest.blocks[block, LATEST] >= oldest and n + BLOCK <= found.shape[0]:
        n = unfold(forest.blocks[block], LATEST, oldest, found, n)
        block = forest.blocks[block, BEFORE]
    return n
