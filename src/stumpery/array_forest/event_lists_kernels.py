"""Event lists of leaves: delta-coded numbers of stored events, in the leaf and in a chain of blocks.

The latest numbers stand in the leaf itself, older ones in blocks. A leaf and a block hold the newest number and the
gaps back to the others, two bytes each; a long gap takes several. When no block is free, a leaf forgets its latest
numbers.
"""

from stumpery.array_forest.forest_kernels import (
    BLOCK_NEWEST,
    BLOCK_PREVIOUS,
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    GAPS_PER_BLOCK,
    LEAF_BLOCK,
    LEAF_N_EVENTS,
    LEAF_N_GAPS,
    LEAF_NEWEST,
    LONG_GAP,
    N_GAP_WORDS,
    NO_INDEX,
    ForestState,
    Int32s,
    as_int64,
)
from stumpery.jit import internal


@internal
def take_block(forest: ForestState) -> int:
    """A free block, or NO_INDEX."""
    block: int = forest.counters[COUNTER_FREE_BLOCK]
    if block != NO_INDEX:
        forest.counters[COUNTER_FREE_BLOCK] = forest.blocks[block, BLOCK_PREVIOUS]
        forest.counters[COUNTER_FREE_BLOCKS] -= 1
    return block


@internal
def is_leaf_full(line: Int32s, time: int) -> bool:
    """Whether a leaf has no gaps left for one more event and for the long gaps before it."""
    gap = time - line[LEAF_NEWEST]
    return bool(line[LEAF_N_GAPS] > 0 and (gap < 0 or line[LEAF_N_GAPS] + gap // (LONG_GAP - 1) >= GAPS_PER_BLOCK))


@internal
def count_events(words: Int32s, newest: int) -> int:
    """The number of events in a leaf or a block, whose newest number is at index `newest` of its words."""
    n = 0
    for index in range(newest + 1, newest + 1 + N_GAP_WORDS):
        gaps = words[index]
        n += int(0 < gaps >> 16 < LONG_GAP) + int(0 < gaps & 0xFFFF < LONG_GAP)
    return n


@internal
def spill_to_block(forest: ForestState, leaf: int) -> None:
    """Move the numbers in a leaf into a block, in place; where none is free they are forgotten."""
    line = forest.leaves[leaf]
    block = take_block(forest)
    if block == NO_INDEX:
        line[LEAF_N_EVENTS] -= count_events(line, LEAF_NEWEST)
    else:
        forest.blocks[block, BLOCK_PREVIOUS] = line[LEAF_BLOCK]
        line[LEAF_BLOCK] = block
        for index in range(1 + N_GAP_WORDS):
            forest.blocks[block, BLOCK_NEWEST + index] = line[LEAF_NEWEST + index]
    line[LEAF_N_GAPS] = 0


@internal
def append_event(forest: ForestState, leaf: int, time: int) -> None:
    """Append the number of an event to a leaf's list, in place; with no free block, the latest are forgotten."""
    line = forest.leaves[leaf]
    if is_leaf_full(line, time):
        spill_to_block(forest, leaf)
    fill, gap = as_int64(line[LEAF_N_GAPS]), 0
    if fill == 0:
        for index in range(N_GAP_WORDS):
            line[LEAF_NEWEST + 1 + index] = 0
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
    """Free a block and all before it, in place; return the number of events in them."""
    n = 0
    while block != NO_INDEX:
        n += count_events(forest.blocks[block], BLOCK_NEWEST)
        previous = forest.blocks[block, BLOCK_PREVIOUS]
        forest.blocks[block, BLOCK_PREVIOUS] = forest.counters[COUNTER_FREE_BLOCK]
        forest.counters[COUNTER_FREE_BLOCK] = block
        forest.counters[COUNTER_FREE_BLOCKS] += 1
        block = previous
    return n


@internal
def free_blocks(forest: ForestState, leaf: int) -> None:
    """Empty a leaf's event list and free its blocks, in place."""
    release_blocks(forest, forest.leaves[leaf, LEAF_BLOCK])
    forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    forest.leaves[leaf, LEAF_N_GAPS] = 0
    forest.leaves[leaf, LEAF_N_EVENTS] = 0


@internal
def release_old_blocks(forest: ForestState, leaf: int, oldest: int) -> int:
    """Free a leaf's blocks whose events are all before `oldest`, in place; return the number of events in them.

    Numbers descend along the chain.
    """
    later, block = NO_INDEX, forest.leaves[leaf, LEAF_BLOCK]
    while block != NO_INDEX and forest.blocks[block, BLOCK_NEWEST] >= oldest:
        later, block = block, forest.blocks[block, BLOCK_PREVIOUS]
    if later == NO_INDEX:
        forest.leaves[leaf, LEAF_BLOCK] = NO_INDEX
    else:
        forest.blocks[later, BLOCK_PREVIOUS] = NO_INDEX
    return release_blocks(forest, block)


@internal
def delta_decode(words: Int32s, newest: int, oldest: int, numbers: Int32s, n: int) -> int:
    """Append a leaf's or a block's numbers from `oldest` on to the first n of `numbers`, in place; return their count.

    The newest of them is at index `newest` of the words, followed by the gaps.
    """
    number = as_int64(words[newest])
    for index in range(newest + N_GAP_WORDS, newest, -1):
        gaps = as_int64(words[index])
        for gap in (gaps >> 16, gaps & 0xFFFF):
            numbers[n] = number
            n += int(0 < gap < LONG_GAP and number >= oldest)
            number -= max(gap - 1, 0)
    return n


@internal
def fill_event_numbers(forest: ForestState, leaf: int, oldest: int, numbers: Int32s) -> int:
    """Write a leaf's event numbers from `oldest` on into `numbers`, in place, newest first; return their count."""
    n = 0
    if forest.leaves[leaf, LEAF_N_GAPS] > 0:
        n = delta_decode(forest.leaves[leaf], LEAF_NEWEST, oldest, numbers, n)
    block = forest.leaves[leaf, LEAF_BLOCK]
    while block != NO_INDEX and forest.blocks[block, BLOCK_NEWEST] >= oldest and n + GAPS_PER_BLOCK <= numbers.shape[0]:
        n = delta_decode(forest.blocks[block], BLOCK_NEWEST, oldest, numbers, n)
        block = forest.blocks[block, BLOCK_PREVIOUS]
    return n
