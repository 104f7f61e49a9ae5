"""Trees of the reward forest learn one event: leaf statistics, event lists, and checks of the leaves that are due.

A split must pass a threshold (`criterion_kernels.py`). The gain of a true split grows with the events: a leaf that
fails is checked again when it has as many as its best split would need. The gain of a spurious split does not:
whenever a leaf is checked, the split above it is tested again by all rewards of its two sides, and pruned if it
fails. Where the plays whose events a leaf has forgotten had other rewards than those it remembers, it is reset to
these. After a drift, leaves forget the events before it and are checked soon.

Only parents of two leaves are pruned. That frees two nodes and a leaf, just what another leaf needs to split: where no
node is free, the split of the lowest score is evicted. So a forest that has reached its memory limit goes on learning
where the events are.
"""

import numpy as np

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import Scratch
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    COUNTER_LAST_COLLECTED,
    COUNTER_LEAVES,
    COUNTER_NODES,
    COUNTER_TIME,
    GAPS_PER_BLOCK,
    INITIAL_CHECK,
    LEAF_N_EVENTS,
    LEAF_NEWEST,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MIN_CHILD_EVENTS,
    N_STATS,
    NO_INDEX,
    NODE_CHILD,
    NODE_LEAF,
    ForestState,
    Int32s,
    as_int64,
)
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees import criterion_kernels as criterion
from stumpery.policies.reward_forest.trees.criterion_kernels import (
    MAX_CHECK_GROWTH,
    MIN_CHECK_GROWTH,
    merge_statistics,
    next_check,
    set_statistics,
    sibling_gain,
    split_eviction_score,
    split_threshold,
)
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, write_event
from stumpery.policies.reward_forest.trees.split_search_kernels import RewardSplit, best_split, gather_events, sum_sides
from stumpery.types import Floats

N_COLLECTED_LEAVES = 4  # leaves per event, while hardly a block is free
MIN_PRUNING_PLAYS = 90.0  # on both sides of a split, before it may be pruned
MAX_EVICTION_CANDIDATES = 32  # splits of which the one with the lowest score is evicted


@internal
def keep_events(forest: ForestState, scratch: Scratch, n: int, leaf: int) -> None:
    """Keep only the first `n` of `scratch.event_numbers` in a leaf, in place."""
    event_lists.free_blocks(forest, leaf)
    for index in range(n - 1, -1, -1):  # oldest first
        event_lists.append_event(forest, leaf, as_int64(scratch.event_numbers[index]))


@internal
def reset_leaf(forest: ForestState, scratch: Scratch, n: int, leaf: int) -> None:
    """Set a leaf's statistics and events to its `n` gathered events, in place."""
    sum_sides(forest, scratch, n, NO_INDEX)
    set_statistics(forest.stats[leaf], scratch.totals[0], scratch.totals[1])
    keep_events(forest, scratch, n, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(n, MIN_CHECK_GROWTH)


@internal
def start_concept(forest: ForestState, leaf: int) -> None:
    """Forget a leaf's events after a drift, in place; the next ones will show whether its statistics still hold."""
    event_lists.free_blocks(forest, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = INITIAL_CHECK


@internal
def expire_events(forest: ForestState, leaf: int, oldest: int) -> None:
    """Forget a leaf's events before `oldest`, in place; its next check is as many new events away as before."""
    n = event_lists.release_old_blocks(forest, leaf, oldest)
    forest.leaves[leaf, LEAF_N_EVENTS] -= n
    forest.leaves[leaf, LEAF_NEXT_CHECK] -= n


@internal
def collect_garbage(forest: ForestState, oldest: int) -> None:
    """Expire events of a few leaves in turn, in place: those that no row reaches any more would keep theirs."""
    counters = forest.counters
    for _ in range(N_COLLECTED_LEAVES):
        leaf = counters[COUNTER_LAST_COLLECTED] + 1
        if leaf >= counters[COUNTER_LEAVES]:
            leaf = 0
        counters[COUNTER_LAST_COLLECTED] = leaf
        if forest.leaves[leaf, LEAF_NODE] != NO_INDEX:
            expire_events(forest, leaf, oldest)


@internal
def is_parent_of_leaves(forest: ForestState, node: int) -> bool:
    """Whether both children of a node are leaves."""
    child = forest.nodes[node, NODE_CHILD]
    if child == node:
        return False
    return bool(forest.nodes[child, NODE_CHILD] == child and forest.nodes[child + 1, NODE_CHILD] == child + 1)


@internal
def parent_of_leaf(forest: ForestState, tree: int, row: Floats) -> int:
    """The parent of the leaf that a row reaches in a tree, or NO_INDEX."""
    node, parent = tree, NO_INDEX
    while True:
        child = as_int64(forest.nodes[node, NODE_CHILD])
        if child == node:
            return parent
        node, parent = child + int(forests.goes_right(forest, node, row)), node


@internal
def sibling_leaf(forest: ForestState, leaf: int, n_trees: int) -> int:
    """The other leaf of the same parent, or NO_INDEX; children are neighbours, and all pairs follow the roots."""
    offset = as_int64(forest.leaves[leaf, LEAF_NODE]) - n_trees
    node = n_trees + (offset ^ 1)
    if offset < 0 or forest.nodes[node, NODE_CHILD] != node:
        return NO_INDEX
    return as_int64(forest.nodes[node, NODE_LEAF])


@internal
def should_prune(forest: ForestState, active: Int32s, totals: Floats, leaf: int, n_trees: int) -> bool:
    """Whether the split above a leaf has made two leaves with enough plays and a gain below the threshold."""
    sibling = sibling_leaf(forest, leaf, n_trees)
    if sibling == NO_INDEX:
        return False
    gain, noise, n_counted, plays = sibling_gain(forest.stats[leaf], forest.stats[sibling], active, totals)
    return plays >= MIN_PRUNING_PLAYS and n_counted > 0 and gain < split_threshold(n_counted, noise, 1, 1.0)


@internal
def split_to_evict(forest: ForestState, key: np.uint64, protected: int) -> int:
    """The parent of two leaves with the lowest eviction score of some, or NO_INDEX.

    Candidates are taken from a node drawn by `key` on; the parent of the leaf `protected` is none.
    """
    n_nodes = int(forest.counters[COUNTER_NODES])
    node = int(np.int64(key % np.uint64(n_nodes)))
    lowest, chosen, n_candidates = np.inf, NO_INDEX, 0
    for _ in range(n_nodes):
        node = node + 1 if node + 1 < n_nodes else 0
        if not is_parent_of_leaves(forest, node):
            continue
        child = forest.nodes[node, NODE_CHILD]
        left, right = forest.nodes[child, NODE_LEAF], forest.nodes[child + 1, NODE_LEAF]
        if left == protected or right == protected:  # noqa: PLR1714 - a set is slow here
            continue
        score = split_eviction_score(forest, left, right)
        if score < lowest:
            lowest, chosen = score, node
        n_candidates += 1
        if n_candidates == MAX_EVICTION_CANDIDATES:
            break
    return chosen


@internal
def merge_events(forest: ForestState, scratch: Scratch, leaf: int, other: int, oldest: int) -> None:
    """Append the events of another leaf to those of a leaf, in place, in order of time and from the `oldest` on."""
    leaf_events, sibling_events = scratch.table_rows, scratch.bins  # as scratch
    n_leaf_events = event_lists.fill_event_numbers(forest, leaf, oldest, leaf_events)
    n_sibling_events = event_lists.fill_event_numbers(forest, other, oldest, sibling_events)
    event_lists.free_blocks(forest, leaf)
    event_lists.free_blocks(forest, other)
    while n_leaf_events > 0 or n_sibling_events > 0:
        if n_sibling_events == 0 or (
            n_leaf_events > 0 and leaf_events[n_leaf_events - 1] < sibling_events[n_sibling_events - 1]
        ):
            n_leaf_events -= 1
            event_lists.append_event(forest, leaf, as_int64(leaf_events[n_leaf_events]))
        else:
            n_sibling_events -= 1
            event_lists.append_event(forest, leaf, as_int64(sibling_events[n_sibling_events]))


@internal
def prune(forest: ForestState, scratch: Scratch, node: int, oldest: int) -> None:
    """Turn a parent of two leaves into a leaf with the statistics and events of both, in place."""
    child = as_int64(forest.nodes[node, NODE_CHILD])
    leaf, other = as_int64(forest.nodes[child, NODE_LEAF]), as_int64(forest.nodes[child + 1, NODE_LEAF])
    merge_statistics(forest.stats[leaf], forest.stats[other])
    merge_events(forest, scratch, leaf, other, oldest)
    forests.make_leaf(forest, node, leaf)
    forests.free_pair(forest, child)
    forests.free_leaf(forest, other)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(forest.leaves[leaf, LEAF_N_EVENTS], MAX_CHECK_GROWTH)


@internal
def allocate_children(forest: ForestState, scratch: Scratch, leaf: int, oldest: int, key: np.uint64) -> tuple[int, int]:
    """Two nodes and one more leaf for the children of a leaf, in place; NO_INDEX where there are none.

    Where no node is free, another split is evicted.
    """
    if not forests.has_pair(forest):
        parent = split_to_evict(forest, key, leaf)
        if parent == NO_INDEX:
            return NO_INDEX, NO_INDEX
        prune(forest, scratch, parent, oldest)
    return forests.take_pair(forest), forests.take_leaf(forest)


@internal
def split_leaf(
    forest: ForestState, scratch: Scratch, n: int, leaf: int, split: RewardSplit, child: int, other: int
) -> None:
    """Turn a leaf into a node with two leaves, in place, itself to the left and `other` to the right."""
    node = as_int64(forest.leaves[leaf, LEAF_NODE])
    for row in range(N_STATS):
        for action in range(forest.stats.shape[2]):
            forest.stats[other, row, action] = forest.stats[leaf, row, action]
    event_lists.free_blocks(forest, leaf)
    forests.make_split(forest, leaf, other, child, split.column, split.threshold, split.mask)
    sum_sides(forest, scratch, n, node)
    for index in range(n - 1, -1, -1):  # oldest first
        side = leaf if scratch.bins[index] == 0 else other
        event_lists.append_event(forest, side, as_int64(scratch.event_numbers[index]))
    for right in range(2):
        side = leaf if right == 0 else other
        set_statistics(forest.stats[side], scratch.totals[2 * right], scratch.totals[2 * right + 1])
        due = next_check(forest.leaves[side, LEAF_N_EVENTS], MIN_CHECK_GROWTH)
        forest.leaves[side, LEAF_NEXT_CHECK] = max(INITIAL_CHECK, due)


@internal
def try_split(
    forest: ForestState, scratch: Scratch, leaf: int, n: int, n_active: int, oldest: int, seed: np.uint64
) -> None:
    """Split a leaf whose `n` events are gathered if the gain passes the threshold, or set its next check, in place."""
    growth = MAX_CHECK_GROWTH
    if n_active > 0 and n >= 2 * MIN_CHILD_EVENTS:
        key = splitmix64(
            splitmix64(seed + np.uint64(forest.leaves[leaf, LEAF_NODE])) + np.uint64(n)
        )  # other columns each time
        split = best_split(forest.kinds, scratch, n, n_active, key)
        noise = criterion.reward_noise(scratch.totals, n_active)
        ratio = criterion.resampling_ratio(forest.stats[leaf], n)
        growth = criterion.split_threshold(n_active, noise, split.n_tried, ratio) / max(split.gain, 1e-9)
        if growth < 1.0:
            time = forest.counters[COUNTER_TIME]
            child, other = allocate_children(forest, scratch, leaf, oldest, splitmix64(seed + np.uint64(time)))
            if child != NO_INDEX:
                split_leaf(forest, scratch, n, leaf, split, child, other)
                return
    if n < forest.leaves[leaf, LEAF_N_EVENTS] - GAPS_PER_BLOCK:
        keep_events(forest, scratch, n, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(forest.leaves[leaf, LEAF_N_EVENTS], growth)


@internal
def check_leaf(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    tree: int,
    row: Floats,
    oldest: int,
    seed: np.uint64,
) -> None:
    """Reset the leaf that a row reached in a tree, prune the split above it, or try to split it, in place."""
    leaf = as_int64(reached[tree])
    time = forest.counters[COUNTER_TIME]
    n = event_lists.fill_event_numbers(forest, leaf, oldest, scratch.event_numbers)
    n_active = gather_events(ring, scratch, n, time)
    if criterion.has_leaf_drifted(forest.stats[leaf], scratch.active, scratch.totals, n):
        reset_leaf(forest, scratch, n, leaf)
    elif should_prune(forest, scratch.active, scratch.totals, leaf, reached.shape[0]):
        prune(forest, scratch, parent_of_leaf(forest, tree, row), oldest)
    else:
        try_split(forest, scratch, leaf, n, n_active, oldest, seed)


@internal
def learn(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    row: Floats,
    action: int,
    reward: float,
    concept_start: int,
    seed: np.uint64,
    key: np.uint64,
    is_stored: bool,
) -> None:
    """Learn one event at the leaf reached in every tree, and store it if it `is_stored`, in place.

    `key` dithers the rounding. Events before `concept_start` are forgotten. Leaves are checked when all trees have
    learned: a split may evict leaves of another tree.
    """
    time = forest.counters[COUNTER_TIME]
    forests.update_column_kinds(forest, row)
    oldest = max(time + 1 - ring.bytes.shape[0], concept_start)
    if is_stored:
        write_event(ring, time, row, action, reward)
        forest.counters[COUNTER_TIME] = time + 1
        if forest.counters[COUNTER_FREE_BLOCKS] < reached.shape[0]:
            collect_garbage(forest, oldest)
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_NEWEST] < concept_start:
            start_concept(forest, leaf)
        criterion.update_statistics(forest.stats[leaf], action, reward, criterion.dither(key, tree))
        if is_stored:
            no_block = forest.counters[COUNTER_FREE_BLOCK] == NO_INDEX
            if no_block and event_lists.is_leaf_full(forest.leaves[leaf], time):
                expire_events(forest, leaf, oldest)
            event_lists.append_event(forest, leaf, time)
    if not is_stored:
        return
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            check_leaf(forest, ring, scratch, reached, tree, row, oldest, seed)
