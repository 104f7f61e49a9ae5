"""Whether a leaf splits, and what becomes of its events.

A cut must beat a bar that rises with the active actions, with the noise in their rewards, with the number of cuts tried
and with how many more events the leaf has had than it can look at: they were tried before. What a true cut is worth
grows with the events: a leaf that fails is asked again when it has as many as its best cut would need. What a probability
cut is worth does not: when a leaf is asked, the split above it is judged again if there were enough plays, by all
rewards of its two sides and the bar of a single cut, and undone if it fails. And time may be what tells most: where the
plays that a leaf cannot look at any more earned otherwise, it begins anew with those that it can. When an epoch begins,
leaves forget the events before it and are asked soon.
"""

import math

import numpy as np

from stumpery.array_forest import allocation_kernels as arena
from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCK,
    COUNTER_FREE_BLOCKS,
    LEAF_N_EVENTS,
    LEAF_NEWEST,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    STAT_MEAN,
    STAT_UNCERTAINTY,
    ForestState,
    Int32s,
    Stats,
    as_int64,
)
from stumpery.array_forest.scratch_kernels import Scratch
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as stats
from stumpery.policies.reward_forest.trees import pruning_kernels as pruning
from stumpery.policies.reward_forest.trees import split_search_kernels as cuts
from stumpery.policies.reward_forest.trees.ring_kernels import ACTION, REWARD, Ring, remember, value_of
from stumpery.policies.reward_forest.trees.split_search_kernels import Cut
from stumpery.types import Floats

LEAST_GONE = 0.05  # of the plays: fewer that a leaf cannot look at any more may be an error of counting
CHANGE = 2.0  # times the bar: what a change must be worth for a leaf to begin anew
LEAST_JUDGED = 90.0  # plays on both sides of a split, before it is judged again
SWEPT = 4  # leaves that are looked at with each event while hardly a block is free
LEAST_ROOM, MOST_ROOM = 1.25, 1.8  # a leaf is asked again when it has so many times the events


@internal
def next_check(n_events: int, needed: float) -> int:
    """How many events a leaf must have to be asked again, if a cut needs so many times the present ones."""
    return int(min(max(needed, LEAST_ROOM), MOST_ROOM) * n_events) + 1


@internal
def bar(n_active: int, noise: float, n_tried: int, turns: float) -> float:
    """What a cut must be worth.

    `noise` says how much rewards of 0 or 1 with the same means would vary; `turns` says how many times as many plays a
    leaf has had as it has events to look at.
    """
    tries = 10.0 * max(0.0, math.log(max(n_tried, 1) / 90.0)) + 4.0 * max(0.0, math.log(turns))
    return 3.0 + 0.3 * n_active + 6.0 * noise + tries


@internal
def check(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    tree: int,
    row: Floats,
    oldest: int,
    seed: np.uint64,
) -> None:
    """Split the leaf that a row reached in a tree if a cut is worth it, in place; otherwise say when to ask again.

    Where the split above it has turned out to tell nothing, that is undone instead.
    """
    leaves, leaf = forest.leaves, as_int64(reached[tree])
    time = forest.counters[trees.COUNTER_TIME]
    n = trees.event_numbers(forest, leaf, oldest, scratch.found)
    n_active = cuts.gather(ring, scratch, n, time)
    if has_changed(forest.stats[leaf], scratch.active, scratch.totals, n):
        begin_anew(forest, scratch, n, leaf)
        return
    if is_void(forest, scratch.active, scratch.totals, leaf, reached.shape[0]):
        undo(forest, scratch, pruning.above(forest, tree, row), oldest)
        return
    node = leaves[leaf, LEAF_NODE]
    needed = MOST_ROOM
    if n_active > 0 and n >= 2 * MIN_CHILD_EVENTS:
        key = splitmix64(splitmix64(seed + np.uint64(node)) + np.uint64(n))  # other columns each time
        cut = cuts.best_cut(forest.kinds, scratch, n, n_active, key)
        noise, turns = noise_of(scratch.totals, n_active), turns_of(forest.stats[leaf], n)
        least = bar(n_active, noise, cut.n_tried, turns)
        needed = least / max(cut.gain, 1e-9)
        if needed < 1.0:
            child, other = room(forest, scratch, leaf, oldest, splitmix64(seed + np.uint64(time)))
            if child != NO_INDEX:
                split(forest, scratch, n, leaf, cut, child, other)
                return
    if n < leaves[leaf, LEAF_N_EVENTS] - trees.GAPS_PER_BLOCK:
        forget(forest, scratch.found, n, leaf)
    leaves[leaf, LEAF_NEXT_CHECK] = next_check(leaves[leaf, LEAF_N_EVENTS], needed)


@internal
def noise_of(totals: Floats, n_active: int) -> float:
    """How much the active actions' rewards would vary if they were 0 or 1: the sum of mean (1 - mean)."""
    noise = 0.0
    for arm in range(n_active):
        mean = totals[cuts.S, arm] / totals[cuts.N, arm]
        noise += mean * (1.0 - mean)
    return noise


@internal
def turns_of(known: Stats, n: int) -> float:
    """How many times as many plays a leaf has had as the `n` events that it looks at."""
    plays = 0.0
    for action in range(known.shape[1]):
        plays += stats.plays_of(known[STAT_UNCERTAINTY, action])
    return max(plays, 1.0) / n


@internal
def has_changed(known: Stats, active: Int32s, totals: Floats, n: int) -> bool:
    """Whether actions earned otherwise in the plays that a leaf cannot look at any more.

    They are weighed as the two sides of a split are when it is judged again.
    """
    gain, noise, n_telling = 0.0, 0.0, 0
    for action in range(known.shape[1]):
        now, plays = totals[cuts.PLAYED, action], stats.plays_of(known[STAT_UNCERTAINTY, action])
        before = plays - now
        if now < 2.0 or before < max(1.0, LEAST_GONE * plays):
            continue
        mean, usual = totals[cuts.EARNED, action] / now, stats.mean_of(known[STAT_MEAN, action])
        apart = (usual - mean) * plays / before
        once = mean + apart
        within = (now * mean * (1.0 - mean) + before * once * (1.0 - once)) / plays
        arm = active[action] - 1
        variance = totals[cuts.VARIANCE, arm] if arm >= 0 else max(within, 0.0)
        gain += now * before / plays * apart * apart / (variance + cuts.LEAST_VARIANCE)
        noise += usual * (1.0 - usual)
        n_telling += 1
    return n_telling > 0 and gain > CHANGE * bar(n_telling, noise, 1, turns_of(known, n))


@internal
def begin_anew(forest: ForestState, scratch: Scratch, n: int, leaf: int) -> None:
    """Let a leaf know its `n` gathered events only, in place."""
    sums_of_sides(forest, scratch, n, NO_INDEX)
    stats.know(forest.stats[leaf], scratch.totals[0], scratch.totals[1])
    forget(forest, scratch.found, n, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = next_check(n, LEAST_ROOM)


@internal
def enter_epoch(forest: ForestState, leaf: int) -> None:
    """Let a leaf forget its events, in place; the next ones will say whether what it knows still holds."""
    trees.free_blocks(forest, leaf)
    forest.leaves[leaf, LEAF_NEXT_CHECK] = trees.INITIAL_CHECK


@internal
def is_void(forest: ForestState, active: Int32s, totals: Floats, leaf: int, n_trees: int) -> bool:
    """Whether the split above a leaf made two with enough plays and is worth less than the bar of a single cut."""
    other = pruning.beside(forest, leaf, n_trees)
    if other == NO_INDEX:
        return False
    gain, noise, n_telling, plays = pruning.evidence(forest.stats[leaf], forest.stats[other], active, totals)
    return plays >= LEAST_JUDGED and n_telling > 0 and gain < bar(n_telling, noise, 1, 1.0)


@internal
def undo(forest: ForestState, scratch: Scratch, twig: int, oldest: int) -> None:
    """Make one leaf of a twig, in place; it is asked again after a while."""
    merged = forest.leaves[pruning.collapse(forest, scratch, twig, oldest)]
    merged[LEAF_NEXT_CHECK] = next_check(merged[LEAF_N_EVENTS], MOST_ROOM)


@internal
def forget(forest: ForestState, found: Int32s, n: int, leaf: int) -> None:
    """Keep only the `found` events of a leaf, in place: the others make room."""
    trees.free_blocks(forest, leaf)
    for index in range(n - 1, -1, -1):  # oldest first
        trees.append_event(forest, leaf, as_int64(found[index]))


@internal
def outlive(forest: ForestState, leaf: int, oldest: int) -> None:
    """Let go of a leaf's events before `oldest`, in place; as many new ones as before make it due."""
    n = trees.release_old_blocks(forest, leaf, oldest)
    forest.leaves[leaf, LEAF_N_EVENTS] -= n
    forest.leaves[leaf, LEAF_NEXT_CHECK] -= n


@internal
def sweep(forest: ForestState, oldest: int) -> None:
    """Let some leaves let go of events before `oldest`, in place, others each time: nobody may come there any more."""
    counters = forest.counters
    for _ in range(SWEPT):
        leaf = counters[trees.COUNTER_LAST_COLLECTED] + 1
        if leaf >= counters[trees.COUNTER_LEAVES]:
            leaf = 0
        counters[trees.COUNTER_LAST_COLLECTED] = leaf
        if forest.leaves[leaf, LEAF_NODE] != NO_INDEX:
            outlive(forest, leaf, oldest)


@internal
def room(forest: ForestState, scratch: Scratch, leaf: int, oldest: int, key: np.uint64) -> tuple[int, int]:
    """Where a leaf's two children and one more leaf can be, in place; NOTHING where they cannot."""
    if not arena.has_pair(forest):
        twig = pruning.least_twig(forest, key, leaf)
        if twig == NO_INDEX:
            return NO_INDEX, NO_INDEX
        undo(forest, scratch, twig, oldest)
    return arena.take_pair(forest), arena.take_leaf(forest)


@internal
def split(forest: ForestState, scratch: Scratch, n: int, leaf: int, cut: Cut, child: int, other: int) -> None:
    """Turn a leaf into a node with two leaves, which share its events and start from what it knew, in place."""
    node = as_int64(forest.leaves[leaf, LEAF_NODE])
    for row in range(trees.N_STATS):
        for action in range(forest.stats.shape[2]):
            forest.stats[other, row, action] = forest.stats[leaf, row, action]
    trees.make_split(forest, leaf, other, child, cut.column, cut.threshold, cut.mask)
    sums_of_sides(forest, scratch, n, node)
    for index in range(n - 1, -1, -1):  # oldest first
        trees.append_event(forest, leaf if scratch.places[index] == 0 else other, as_int64(scratch.found[index]))
    for side in range(2):
        here = leaf if side == 0 else other
        stats.know(forest.stats[here], scratch.totals[2 * side], scratch.totals[2 * side + 1])
        forest.leaves[here, LEAF_NEXT_CHECK] = max(
            trees.INITIAL_CHECK, next_check(forest.leaves[here, LEAF_N_EVENTS], LEAST_ROOM)
        )


@internal
def sums_of_sides(forest: ForestState, scratch: Scratch, n: int, node: int) -> None:
    """Write counts and sums of the gathered rewards on a node's two sides into the totals, and their sides, in place.

    Of NOTHING all are on the first side.
    """
    totals = scratch.totals
    for row in range(totals.shape[0]):
        for action in range(totals.shape[1]):
            totals[row, action] = 0.0
    column = int(trees.column_of(forest, node)) if node != NO_INDEX else 0
    for index in range(n - 1, -1, -1):
        event = scratch.events.floats[index]
        side = int(trees.side(forest, node, value_of(scratch.events, index, column))) if node != NO_INDEX else 0
        scratch.places[index] = side
        action = int(event[ACTION])
        if action != NO_INDEX:
            totals[2 * side, action] += 1.0
            totals[2 * side + 1, action] += event[REWARD]


@internal
def learn(
    forest: ForestState,
    ring: Ring,
    scratch: Scratch,
    reached: Int32s,
    row: Floats,
    action: int,
    reward: float,
    epoch: int,
    seed: np.uint64,
    key: np.uint64,
    is_kept: bool,
) -> None:
    """Let every tree learn one event at the leaf that it reached, and remember it if it `is_kept`, in place.

    `key` dithers what is rounded. Events before the first one of the `epoch` are forgotten. Leaves are asked to split
    when all have learned: a split may take the place of leaves in another tree.
    """
    time = forest.counters[trees.COUNTER_TIME]
    trees.update_column_kinds(forest, row)
    oldest = max(time + 1 - ring.bytes.shape[0], epoch)
    if is_kept:
        remember(ring, time, row, action, reward)
        forest.counters[trees.COUNTER_TIME] = time + 1
        if forest.counters[COUNTER_FREE_BLOCKS] < reached.shape[0]:
            sweep(forest, oldest)
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_NEWEST] < epoch:
            enter_epoch(forest, leaf)
        stats.update(forest.stats[leaf], action, reward, stats.dither(key, tree))
        if is_kept:
            if forest.counters[COUNTER_FREE_BLOCK] == NO_INDEX and trees.is_full(forest.leaves[leaf], time):
                outlive(forest, leaf, oldest)
            trees.append_event(forest, leaf, time)
    if not is_kept:
        return
    for tree in range(reached.shape[0]):
        leaf = as_int64(reached[tree])
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            check(forest, ring, scratch, reached, tree, row, oldest, seed)
