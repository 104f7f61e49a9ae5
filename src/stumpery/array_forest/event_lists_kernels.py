"""Event lists of leaves: delta-coded numbers of remembered events, in the leaf and in a chain of blocks.

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
    """Take a block from the free ones; NOTHING where there is none."""
    block: int = forest.counters[COUNTER_FREE_BLOCK]
    if block != NO_INDEX:
        forest.counters[COUNTER_FREE_BLOCK] = forest.blocks[block, BLOCK_PREVIOUS]
        forest.counters[COUNTER_FREE_BLOCKS] -= 1
    return block


@internal
def is_leaf_full(line: Int32s, time: int) -> bool:
    """Whether a leaf's own line has no place for one more event, and for all that must be skipped before it."""
    gap = time - line[LEAF_NEWEST]
    return bool(line[LEAF_N_GAPS] > 0 and (gap < 0 or line[LEAF_N_GAPS] + gap // (LONG_GAP - 1) >= GAPS_PER_BLOCK))


@internal
def count_events(words: Int32s, newest: int) -> int:
    """How many events are in a line or a block, whose newest number stands at that place in `words`."""
    n = 0
    for place in range(newest + 1, newest + 1 + N_GAP_WORDS):
        gaps = words[place]
        n += int(0 < gaps >> 16 < LONG_GAP) + int(0 < gaps & 0xFFFF < LONG_GAP)
    return n


@internal
def spill_to_block(forest: ForestState, leaf: int) -> None:
    """Move the numbers in a leaf's own line into a block, in place; without a free one they are forgotten."""
    line = forest.leaves[leaf]
    block = take_block(forest)
    if block == NO_INDEX:
        line[LEAF_N_EVENTS] -= count_events(line, LEAF_NEWEST)
    else:
        forest.blocks[block, BLOCK_PREVIOUS] = line[LEAF_BLOCK]
        line[LEAF_BLOCK] = block
        for place in range(1 + N_GAP_WORDS):
            forest.blocks[block, BLOCK_NEWEST + place] = line[LEAF_NEWEST + place]
    line[LEAF_N_GAPS] = 0


@internal
def append_event(forest: ForestState, leaf: int, time: int) -> None:
    """Note the number of an event in a leaf, in place; without a free block its newest ones make way."""
    line = forest.leaves[leaf]
    if is_leaf_full(line, time):
        spill_to_block(forest, leaf)
    fill, gap = as_int64(line[LEAF_N_GAPS]), 0
    if fill == 0:
        for place in range(N_GAP_WORDS):
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
        n += count_events(forest.blocks[block], BLOCK_NEWEST)
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
    for place in range(newest + N_GAP_WORDS, newest, -1):
        gaps = as_int64(words[place])
        for gap in (gaps >> 16, gaps & 0xFFFF):
            found[n] = number
            n += int(0 < gap < LONG_GAP and number >= oldest)
            number -= max(gap - 1, 0)
    return n


@internal
def fill_event_numbers(forest: ForestState, leaf: int, oldest: int, found: Int32s) -> int:
    """Write the numbers of a leaf's events from `oldest` on into `found`, in place, newest first; give how many."""
    n = 0
    if forest.leaves[leaf, LEAF_N_GAPS] > 0:
        n = delta_decode(forest.leaves[leaf], LEAF_NEWEST, oldest, found, n)
    block = forest.leaves[leaf, LEAF_BLOCK]
    while block != NO_INDEX and forest.blocks[block, BLOCK_NEWEST] >= oldest and n + GAPS_PER_BLOCK <= found.shape[0]:
        n = delta_decode(forest.blocks[block], BLOCK_NEWEST, oldest, found, n)
        block = forest.blocks[block, BLOCK_PREVIOUS]
    return n
