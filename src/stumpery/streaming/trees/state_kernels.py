"""State of Hoeffding trees on a stream: its arrays, reset of leaves and trees, and eviction where memory runs low.

For classes a leaf keeps the weight of each, for numbers their weight, mean and squared deviations: once over all its
events, once over the recent ones, and once what it inherited from its parent.

With few free blocks, those whose events have left the ring buffer are freed. If that is not enough, leaves with a lower
error than the average are deactivated: they predict and count, but store no events and do not split, until half of
the blocks are free again.
"""

from typing import NamedTuple

import numpy as np

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import Doubles, Scratch
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCKS,
    COUNTER_LEAVES,
    COUNTER_TIME,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    NO_INDEX,
    NODE_CHILD,
    NODE_LEAF,
    Float32s,
    ForestState,
    Int32s,
)
from stumpery.drift.adaptive_window_kernels import AdaptiveWindows
from stumpery.jit import internal
from stumpery.streaming.trees.naive_bayes_kernels import NaiveBayesTables
from stumpery.types import Floats, Integers

ROW_ALL, ROW_INHERITED, ROW_RECENT = range(3)  # of a leaf's statistics
N_STAT_ROWS = 3
MOMENT_WEIGHT, MOMENT_MEAN, MOMENT_SQUARES = range(3)  # of such a row, where numbers are predicted
N_MOMENTS = 3
MAJORITY, RECENT, NAIVE_BAYES = range(3)  # leaf predictors
N_LEAF_PREDICTORS = 3
ADAPTIVE = 3  # in options: the leaf predictor with the best score
FLAG_DEPTH, FLAG_TABLE, FLAG_DEACTIVATED = range(3)  # of a leaf
N_FLAGS = 3
VOTE_CORRECT, VOTE_EVENTS = range(2)  # of a tree's votes
(
    OPTION_GRACE_PERIOD,
    OPTION_DELTA,
    OPTION_TAU,
    OPTION_CRITERION,
    OPTION_LEAF_PREDICTOR,
    OPTION_MAX_DEPTH,
    OPTION_N_DRAWN,  # columns that a split may use
    OPTION_TIMES,  # mean of the Poisson draws; 0 where each event counts once
    OPTION_WARNING_DELTA,
    OPTION_DRIFT_DELTA,
    OPTION_MULTIWAY,
) = range(11)  # options in the form of an array, for kernels
N_OPTIONS = 11
COUNTER_LAST_EVICTION = forests.N_COUNTERS  # one more counter
N_STREAM_COUNTERS = forests.N_COUNTERS + 1
FREE_BLOCKS_LOW, FREE_BLOCKS_ENOUGH = 16, 8  # eviction begins below one free block in 16, and ends at one in 8


class StreamState(NamedTuple):
    """All arrays that change as trees learn.

    The roots of a forest are its trees and, behind them, a background tree for each.
    """

    forest: ForestState  # with statistics of the shape (leaves, N_STAT_ROWS, classes or moments)
    events: Float32s  # (events, columns + 2): a ring buffer; label and weight last
    flags: Int32s  # (leaves, N_FLAGS)
    predictor_scores: Float32s  # (leaves, N_LEAF_PREDICTORS): decayed sums of correct predictions
    bayes: NaiveBayesTables
    windows: AdaptiveWindows
    votes: Floats  # (trees, 2): decayed sums of correct predictions and of events
    has_background: Int32s  # (trees,): 1 where a background tree grows
    importances: Floats  # (columns,): sums of gains
    label_moments: Floats  # (N_MOMENTS,): of all numbers to predict
    doubles: Doubles  # columns of 64 bits


class StreamWorkspace(NamedTuple):
    """Scratch buffers of a run."""

    row: Floats  # (columns,): the current one, rounded as the state holds it
    reached: Int32s  # (trees,): leaves; of a forest also those of the background trees
    foreground: Int32s  # (trees,): the same memory without them
    descending: Int32s  # (trees,)
    tree_output: Floats  # (classes,), or one number
    scratch: Scratch


@internal
def allocate_leaf(model: StreamState) -> int:
    """A free leaf, activated and without a table."""
    leaf = forests.take_leaf(model.forest)
    model.flags[leaf, FLAG_TABLE] = NO_INDEX
    model.flags[leaf, FLAG_DEACTIVATED] = 0
    return leaf


@internal
def free_table(model: StreamState, leaf: int) -> None:
    """Free a leaf's naive Bayes table, in place."""
    if model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        model.bayes.free[0] += 1
        model.bayes.free[model.bayes.free[0]] = model.flags[leaf, FLAG_TABLE]
        model.flags[leaf, FLAG_TABLE] = NO_INDEX


@internal
def free_leaf(model: StreamState, leaf: int) -> None:
    """Free a leaf, in place."""
    free_table(model, leaf)
    event_lists.free_blocks(model.forest, leaf)
    forests.free_leaf(model.forest, leaf)


@internal
def reset_leaf(model: StreamState, leaf: int) -> None:
    """Set a leaf's statistics, scores and flags to those of a new leaf, in place."""
    for value in range(model.forest.stats.shape[2]):
        for stat_row in range(N_STAT_ROWS):
            model.forest.stats[leaf, stat_row, value] = 0.0
    for predictor in range(N_LEAF_PREDICTORS):
        model.predictor_scores[leaf, predictor] = 0.0
    for flag in range(N_FLAGS):
        model.flags[leaf, flag] = NO_INDEX if flag == FLAG_TABLE else 0


@internal
def reset_tree(model: StreamState, root: int, grace: int) -> None:
    """Reset a tree to one new leaf and free the rest of its memory, in place; without recursion."""
    nodes = model.forest.nodes
    stack = np.empty(nodes.shape[0] // 2 + 1, np.int32)
    n_stacked = 0
    if nodes[root, NODE_CHILD] == root:
        free_leaf(model, nodes[root, NODE_LEAF])
    else:
        stack[0] = nodes[root, NODE_CHILD]
        n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        pair = stack[n_stacked]
        for node in range(pair, pair + 2):
            if nodes[node, NODE_CHILD] == node:
                free_leaf(model, nodes[node, NODE_LEAF])
            else:
                stack[n_stacked] = nodes[node, NODE_CHILD]
                n_stacked += 1
        forests.free_pair(model.forest, pair)
    leaf = allocate_leaf(model)
    forests.make_empty_leaf(model.forest, root, leaf)
    reset_leaf(model, leaf)
    model.forest.leaves[leaf, LEAF_NEXT_CHECK] = grace


@internal
def leaf_error(model: StreamState, leaf: int, is_regression: bool) -> float:
    """The error that splits could reduce: the weight of all classes but the largest, or the squared deviations."""
    stats = model.forest.stats[leaf, ROW_ALL]
    if is_regression:
        return np.float64(stats[MOMENT_SQUARES])
    total, top = 0.0, 0.0
    for label in range(stats.shape[0]):
        total += stats[label]
        top = max(top, np.float64(stats[label]))
    return total - top


@internal
def is_memory_low(counters: Integers, n_blocks: int) -> bool:
    """Whether few blocks are free, and the last eviction was some time ago."""
    is_low = counters[COUNTER_FREE_BLOCKS] * FREE_BLOCKS_LOW < n_blocks
    return bool(is_low and counters[COUNTER_TIME] - counters[COUNTER_LAST_EVICTION] >= n_blocks)


@internal
def is_active(model: StreamState, leaf: int) -> bool:
    """Whether a leaf is in use and not deactivated."""
    return bool(model.forest.leaves[leaf, LEAF_NODE] != NO_INDEX and model.flags[leaf, FLAG_DEACTIVATED] == 0)


@internal
def evict(model: StreamState, is_regression: bool) -> None:
    """Free blocks of old events, then deactivate leaves of low error until enough blocks are free, in place."""
    forest, counters = model.forest, model.forest.counters
    n_blocks = forest.blocks.shape[0]
    counters[COUNTER_LAST_EVICTION] = counters[COUNTER_TIME]
    for leaf in range(counters[COUNTER_LEAVES]):
        if forest.leaves[leaf, LEAF_NODE] != NO_INDEX:
            event_lists.release_old_blocks(forest, leaf, counters[COUNTER_TIME] - model.events.shape[0])
    n_active = 2
    while counters[COUNTER_FREE_BLOCKS] * FREE_BLOCKS_ENOUGH < n_blocks and n_active > 1:
        total, n_active = 0.0, 0
        for leaf in range(counters[COUNTER_LEAVES]):
            if is_active(model, leaf):
                total += leaf_error(model, leaf, is_regression)
                n_active += 1
        for leaf in range(counters[COUNTER_LEAVES]):
            if is_active(model, leaf) and n_active > 1 and leaf_error(model, leaf, is_regression) * n_active <= total:
                event_lists.free_blocks(forest, leaf)
                free_table(model, leaf)
                model.flags[leaf, FLAG_DEACTIVATED] = 1


@internal
def append_event(forest: ForestState, flags: Int32s, leaf: int, time: int) -> None:
    """Append an event to a leaf that is active, or activated now because half of the blocks are free, in place."""
    if flags[FLAG_DEACTIVATED] == 1:
        if forest.counters[COUNTER_FREE_BLOCKS] * 2 < forest.blocks.shape[0]:
            return
        flags[FLAG_DEACTIVATED] = 0
    event_lists.append_event(forest, leaf, time)
