"""A stream's trees, one event after the other: predict, learn, or first one and then the other.

A forest holds its trees and, behind them, one place for each in which a tree may grow in the background. A tree whose
mistakes seem to become more gets one; when they surely have, it takes the old tree's place (Gomes et al. 2017).
"""

from typing import NamedTuple

import numpy as np

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCKS,
    COUNTER_NODES,
    COUNTER_TIME,
    GAPS_PER_BLOCK,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MAX_CODES,
    NO_INDEX,
    NODE_CHILD,
    NODE_COLUMN,
    NODE_LEAF,
    NODE_PAYLOAD,
    ForestState,
    Int32s,
)
from stumpery.array_forest.precision_kernels import round_row
from stumpery.array_forest.scratch_kernels import MAX_SPLIT_EVENTS, Scratch, store_event
from stumpery.drift import adaptive_window_kernels as drift
from stumpery.jit import internal, kernel
from stumpery.random import poisson
from stumpery.streaming.trees import eviction_kernels as room
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees import splitting_kernels as growth
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.leaf_predictors_kernels import (
    COUNT,
    CRITERION,
    DRIFT,
    GRACE,
    MEAN,
    MULTIWAY,
    SQUARES,
    TIMES,
    WARNING,
    StreamState,
)
from stumpery.types import Floats, RandomState

PREDICTS, LEARNS, GROWS = 1, 2, 4  # what a run may do
RIGHT, SEEN = range(2)  # of a tree's votes
VOTES_FADING = 0.999


class StreamWorkspace(NamedTuple):
    """Room to think."""

    row: Floats  # (columns,): the one at hand, as the model holds it
    reached: Int32s  # (trees,), of a forest also those in the background
    foremost: Int32s  # (trees,), the same memory
    moving: Int32s  # (trees,)
    one: Floats  # (classes,), or one number
    scratch: Scratch


@internal
def predict(model: StreamState, reached: Int32s, row: Floats, rule: Floats, one: Floats, output: Floats) -> None:
    """Write the mean of what the reached leaves predict, in place; a tree counts as much as it was right of late."""
    n_trees, n_outputs = model.standby.shape[0], output.shape[0]
    if n_trees == 1:
        leaves.predict(model, reached[0], row, rule, output)
        return
    for each in range(n_outputs):
        output[each] = 0.0
    total = 0.0
    for tree in range(n_trees):
        leaves.predict(model, reached[tree], row, rule, one)
        vote = (model.votes[tree, RIGHT] + 1.0) / (model.votes[tree, SEEN] + 1.0)
        vote *= vote
        said = 1.0 if rule[CRITERION] == VARIANCE else 0.0
        for each in range(n_outputs):
            output[each] += vote * one[each]
            if said == 0.0 and one[each] > 0.0:
                said = 1.0
        total += vote * said  # a tree that knows nothing yet abstains
    for each in range(n_outputs):
        output[each] /= max(total, 1e-300)


@internal
def mistake(model: StreamState, leaf: int, row: Floats, label: float, rule: Floats, one: Floats) -> float:
    """How wrong a tree is about an event, from 0 to 1."""
    guesser = leaves.chosen_guesser(model.duels[leaf], rule)
    place = leaves.LATEST if guesser == leaves.RECENT else leaves.ALL
    stats = model.forest.stats[leaf]
    if rule[CRITERION] == VARIANCE:
        deviation = np.sqrt(model.spread[SQUARES] / max(model.spread[COUNT], 1.0))
        return float(min(abs(leaves.expected(stats, place) - label) / max(3.0 * deviation, 1e-300), 1.0))
    if guesser == leaves.BAYES and model.marks[leaf, leaves.TABLE] != NO_INDEX:
        leaves.predict(model, leaf, row, rule, one)
        return 0.0 if leaves.largest(one) == int(label) else 1.0
    return 0.0 if leaves.guess(stats, place) == int(label) else 1.0


@internal
def watch(model: StreamState, tree: int, wrong: float, rule: Floats) -> None:
    """Note a tree's mistake; begin a tree in the background, or let it take the tree's place, in place."""
    votes = model.votes[tree]
    votes[RIGHT] = votes[RIGHT] * VOTES_FADING + 1.0 - wrong
    votes[SEEN] = votes[SEEN] * VOTES_FADING + 1.0
    drift.add(model.windows, tree, wrong)
    if model.forest.counters[COUNTER_TIME] % drift.EVERY != 0:
        return
    found = drift.look(model.windows, tree, rule[WARNING], rule[DRIFT])
    if found == drift.STEADY:
        return
    n_trees, grace = model.standby.shape[0], int(rule[GRACE])
    if found == drift.WARNING:
        if model.standby[tree] == 0:
            model.standby[tree] = 1
            room.fell(model, n_trees + tree, grace)
        return
    room.fell(model, tree, grace)
    if model.standby[tree] == 1:
        exchange(model, tree, n_trees + tree)
        model.standby[tree] = 0
    drift.forget(model.windows, tree)
    votes[RIGHT] = votes[SEEN] = 0.0


@internal
def exchange(model: StreamState, root: int, other: int) -> None:
    """Exchange two trees, in place: only their roots move."""
    nodes, masks = model.forest.nodes, model.forest.masks
    for here, there in ((root, other), (other, root)):
        if nodes[there, NODE_CHILD] == there:  # a leaf knows its node
            model.forest.leaves[nodes[there, NODE_LEAF], LEAF_NODE] = here
    first, second = nodes[root, NODE_CHILD], nodes[other, NODE_CHILD]
    nodes[root, NODE_CHILD] = root if second == other else second
    nodes[other, NODE_CHILD] = other if first == root else first
    nodes[root, NODE_COLUMN], nodes[other, NODE_COLUMN] = nodes[other, NODE_COLUMN], nodes[root, NODE_COLUMN]
    one, two = 2 * root + NODE_PAYLOAD, 2 * other + NODE_PAYLOAD
    masks[one], masks[two] = masks[two], masks[one]


@internal
def learn(
    model: StreamState,
    work: StreamWorkspace,
    row: Floats,
    label: float,
    weight: float,
    rule: Floats,
    rng: RandomState,
    seed: np.uint64,
) -> None:
    """Remember one event and let every tree learn it at the leaf that it reached, in place."""
    forest, n_trees = model.forest, model.standby.shape[0]
    reached, one = work.reached, work.one
    of_numbers = rule[CRITERION] == VARIANCE
    time = forest.counters[COUNTER_TIME]
    trees.update_column_kinds(forest, row)
    store_event(model.events, model.doubles, time, row, label, weight)
    forest.counters[COUNTER_TIME] = time + 1
    if of_numbers:
        note_number(model.spread, label, weight)
    if n_trees > 1:
        for tree in range(n_trees):
            wrong = mistake(model, reached[tree], row, label, rule, one)
            before = model.standby[tree]
            watch(model, tree, wrong, rule)
            if model.standby[tree] != before or forest.nodes[tree, NODE_CHILD] == tree:
                reached[tree] = descend_one(model, tree, row)
            if model.standby[tree] == 1:
                reached[n_trees + tree] = descend_one(model, n_trees + tree, row)
    for place in range(reached.shape[0]):
        if place >= n_trees and model.standby[place - n_trees] == 0:
            continue
        leaf = reached[place]
        times = poisson(rng, rule[TIMES]) if rule[TIMES] > 0.0 else 1
        if times == 0:
            continue
        stats, duel, mark = forest.stats[leaf], model.duels[leaf], model.marks[leaf]
        if of_numbers:
            leaves.update_number(stats, duel, label, weight * times, rule)
        else:
            if mark[leaves.TABLE] != NO_INDEX:
                leaves.try_bayes(model, leaf, row, int(label), one)
            leaves.update_class(stats, duel, int(label), weight * times, rule)
        for _ in range(times):
            room.note(forest, mark, leaf, time)
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            growth.check(model, work.scratch, leaf, rule, seed)
    if room.is_short(forest.counters, forest.blocks.shape[0]):
        room.sweep(model, bool(of_numbers))


@internal
def note_number(spread: Floats, number: float, weight: float) -> None:
    """Fold a number into the moments of all numbers, in place."""
    spread[COUNT] += weight
    distance = number - spread[MEAN]
    spread[MEAN] += distance * weight / spread[COUNT]
    spread[SQUARES] += weight * distance * (number - spread[MEAN])


@internal
def descend_one(model: StreamState, root: int, row: Floats) -> int:
    """The leaf that a row reaches below a root."""
    node = root
    following = model.forest.nodes[node, NODE_CHILD] + trees.goes_right(model.forest, node, row)
    while following != node:
        node = following
        following = model.forest.nodes[node, NODE_CHILD] + trees.goes_right(model.forest, node, row)
    return int(model.forest.nodes[node, NODE_LEAF])


@internal
def has_room(forest: ForestState, n_events: int, n_trees: int, rule: Floats) -> bool:
    """Whether one more event fits whatever it makes of the trees."""
    n_children = 4 if rule[MULTIWAY] == 0.0 else 2 * MAX_CODES
    n_free = forest.nodes.shape[0] - forest.counters[COUNTER_NODES]
    has_nodes = n_free >= n_children * n_trees or forest.counters[trees.COUNTER_FREE_PAIR] != NO_INDEX
    has_blocks = forest.counters[COUNTER_FREE_BLOCKS] >= 8 * n_trees + MAX_SPLIT_EVENTS // GAPS_PER_BLOCK
    return bool(has_nodes and has_blocks and forest.counters[COUNTER_TIME] < n_events)


@kernel
def run(
    model: StreamState,
    work: StreamWorkspace,
    rule: Floats,
    rng: RandomState,
    seed: np.uint64,
    rows: Floats,
    labels: Floats,
    weights: Floats,
    outputs: Floats,
    does: int,
) -> int:
    """Go along rows, in place: predict shares of classes or numbers, learn labels, or first one and then the other.

    One entry for all, since each would compile everything anew. Where memory must grow first, or a column be wider, it
    stops early; it gives how many rows it went along.
    """
    n_trees, row = model.standby.shape[0], work.row
    for place in range(rows.shape[0]):
        is_held = round_row(rows[place], model.doubles.widths, row)
        if does & LEARNS and not is_held and weights[place] > 0.0:
            return place
        if does & LEARNS and does & GROWS and not has_room(model.forest, model.events.shape[0], n_trees, rule):
            return place
        trees.descend(model.forest, row, work.foremost, work.moving)
        if does & PREDICTS:
            predict(model, work.reached, row, rule, work.one, outputs[place])
        if does & LEARNS and weights[place] > 0.0:
            learn(model, work, row, labels[place], weights[place], rule, rng, seed)
    return len(rows)
