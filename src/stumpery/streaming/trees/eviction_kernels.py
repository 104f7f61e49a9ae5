"""The memory of a stream's trees: what is taken from the arenas, and how it is given back.

Where hardly a block is free, a sweep gives back those whose events are out of the ring. If that is not enough, leaves
with fewer mistakes than the average fall asleep: they predict and count, but remember no events and do not split, until
there is room again.
"""

import numpy as np

from stumpery.array_forest import allocation_kernels as arena
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCKS,
    COUNTER_LEAVES,
    COUNTER_TIME,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    NO_INDEX,
    NODE_CHILD,
    NODE_LEAF,
    ForestState,
    Int32s,
)
from stumpery.jit import internal
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees.leaf_predictors_kernels import (
    FLAG_DEACTIVATED,
    FLAG_TABLE,
    MOMENT_SQUARES,
    N_STAT_ROWS,
    ROW_ALL,
    StreamState,
)
from stumpery.types import Integers

COUNTER_LAST_EVICTION = forests.N_COUNTERS  # one more counter
N_STREAM_COUNTERS = forests.N_COUNTERS + 1
FREE_BLOCKS_LOW, FREE_BLOCKS_ENOUGH = (
    16,
    8,
)  # a sweep begins where less than one block in so many is free, and ends with one in so many


@internal
def allocate_leaf(model: StreamState) -> int:
    """A free leaf, awake."""
    leaf = arena.take_leaf(model.forest)
    model.flags[leaf, FLAG_TABLE] = NO_INDEX
    model.flags[leaf, FLAG_DEACTIVATED] = 0
    return leaf


@internal
def free_table(model: StreamState, leaf: int) -> None:
    """Give a leaf's table back, in place."""
    if model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        model.bayes.free[0] += 1
        model.bayes.free[model.bayes.free[0]] = model.flags[leaf, FLAG_TABLE]
        model.flags[leaf, FLAG_TABLE] = NO_INDEX


@internal
def free_leaf(model: StreamState, leaf: int) -> None:
    """Give a leaf back, in place."""
    free_table(model, leaf)
    arena.free_leaf(model.forest, leaf)


@internal
def reset_leaf(model: StreamState, leaf: int) -> None:
    """Let a leaf know nothing, in place."""
    for each in range(model.forest.stats.shape[2]):
        for place in range(N_STAT_ROWS):
            model.forest.stats[leaf, place, each] = 0.0
    for predictor in range(leaves.N_LEAF_PREDICTORS):
        model.predictor_scores[leaf, predictor] = 0.0
    for flags in range(leaves.N_FLAGS):
        model.flags[leaf, flags] = NO_INDEX if flags == FLAG_TABLE else 0


@internal
def reset_tree(model: StreamState, root: int, grace: int) -> None:
    """Turn a whole tree into one leaf that knows nothing and give its memory back, in place; without recursion."""
    nodes = model.forest.nodes
    waiting = np.empty(nodes.shape[0] // 2 + 1, np.int32)
    n_waiting = 0
    if nodes[root, NODE_CHILD] == root:
        free_leaf(model, nodes[root, NODE_LEAF])
    else:
        waiting[0] = nodes[root, NODE_CHILD]
        n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        pair = waiting[n_waiting]
        for node in range(pair, pair + 2):
            if nodes[node, NODE_CHILD] == node:
                free_leaf(model, nodes[node, NODE_LEAF])
            else:
                waiting[n_waiting] = nodes[node, NODE_CHILD]
                n_waiting += 1
        arena.free_pair(model.forest, pair)
    leaf = allocate_leaf(model)
    forests.make_empty_leaf(model.forest, root, leaf)
    reset_leaf(model, leaf)
    model.forest.leaves[leaf, LEAF_NEXT_CHECK] = grace


@internal
def leaf_error(model: StreamState, leaf: int, of_numbers: bool) -> float:
    """What a leaf would still have to learn: the weight of all classes but the first, or its squared distances."""
    stats = model.forest.stats[leaf, ROW_ALL]
    if of_numbers:
        return np.float64(stats[MOMENT_SQUARES])
    total, top = 0.0, 0.0
    for each in range(stats.shape[0]):
        total += stats[each]
        top = max(top, np.float64(stats[each]))
    return total - top


@internal
def is_memory_low(counters: Integers, n_blocks: int) -> bool:
    """Whether hardly a block is free, and the last sweep is a while ago."""
    is_low = counters[COUNTER_FREE_BLOCKS] * FREE_BLOCKS_LOW < n_blocks
    return bool(is_low and counters[COUNTER_TIME] - counters[COUNTER_LAST_EVICTION] >= n_blocks)


@internal
def evict(model: StreamState, of_numbers: bool) -> None:
    """Make room for blocks, in place."""
    forest, counters = model.forest, model.forest.counters
    n_blocks = forest.blocks.shape[0]
    counters[COUNTER_LAST_EVICTION] = counters[COUNTER_TIME]
    for leaf in range(counters[COUNTER_LEAVES]):
        if forest.leaves[leaf, LEAF_NODE] != NO_INDEX:
            forests.release_old_blocks(forest, leaf, counters[COUNTER_TIME] - model.events.shape[0])
    awake = 2
    while counters[COUNTER_FREE_BLOCKS] * FREE_BLOCKS_ENOUGH < n_blocks and awake > 1:
        total, awake = 0.0, 0
        for leaf in range(counters[COUNTER_LEAVES]):
            if forest.leaves[leaf, LEAF_NODE] != NO_INDEX and model.flags[leaf, FLAG_DEACTIVATED] == 0:
                total += leaf_error(model, leaf, of_numbers)
                awake += 1
        for leaf in range(counters[COUNTER_LEAVES]):
            lives = forest.leaves[leaf, LEAF_NODE] != NO_INDEX and model.flags[leaf, FLAG_DEACTIVATED] == 0
            if lives and awake > 1 and leaf_error(model, leaf, of_numbers) * awake <= total:
                forests.free_blocks(forest, leaf)
                free_table(model, leaf)
                model.flags[leaf, FLAG_DEACTIVATED] = 1


@internal
def append_event(forest: ForestState, flags: Int32s, leaf: int, time: int) -> None:
    """Note an event in a leaf that is awake, or wakes now because a half of the blocks is free, in place."""
    if flags[FLAG_DEACTIVATED] == 1:
        if forest.counters[COUNTER_FREE_BLOCKS] * 2 < forest.blocks.shape[0]:
            return
        flags[FLAG_DEACTIVATED] = 0
    forests.append_event(forest, leaf, time)
