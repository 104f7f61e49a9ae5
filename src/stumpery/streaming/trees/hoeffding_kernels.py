"""A stream's trees, one event after the other: predict, learn, or first one and then the other.

A forest holds its trees and, behind them, one place for each in which a tree may grow in the background. A tree whose
mistakes seem to become more gets one; when they surely have, it takes the old tree's place (Gomes et al. 2017).
"""

from typing import NamedTuple

import numpy as np

from stumpery.array_forest import forest_kernels as forests
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
from stumpery.streaming.trees import eviction_kernels as eviction
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees import splitting_kernels as splitting
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.leaf_predictors_kernels import (
    MOMENT_MEAN,
    MOMENT_SQUARES,
    MOMENT_WEIGHT,
    RULE_CRITERION,
    RULE_DRIFT_DELTA,
    RULE_GRACE_PERIOD,
    RULE_MULTIWAY,
    RULE_TIMES,
    RULE_WARNING_DELTA,
    StreamState,
)
from stumpery.types import Floats, RandomState

PREDICTS, LEARNS, GROWS = 1, 2, 4  # what a run may do
VOTE_CORRECT, VOTE_EVENTS = range(2)  # of a tree's votes
VOTE_DECAY = 0.999


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
        vote = (model.votes[tree, VOTE_CORRECT] + 1.0) / (model.votes[tree, VOTE_EVENTS] + 1.0)
        vote *= vote
        said = 1.0 if rule[RULE_CRITERION] == VARIANCE else 0.0
        for each in range(n_outputs):
            output[each] += vote * one[each]
            if said == 0.0 and one[each] > 0.0:
                said = 1.0
        total += vote * said  # a tree that knows nothing yet abstains
    for each in range(n_outputs):
        output[each] /= max(total, 1e-300)


@internal
def prediction_error(model: StreamState, leaf: int, row: Floats, label: float, rule: Floats, one: Floats) -> float:
    """How wrong a tree is about an event, from 0 to 1."""
    predictor = leaves.select_predictor(model.predictor_scores[leaf], rule)
    place = leaves.ROW_RECENT if predictor == leaves.RECENT else leaves.ROW_ALL
    stats = model.forest.stats[leaf]
    if rule[RULE_CRITERION] == VARIANCE:
        deviation = np.sqrt(model.label_moments[MOMENT_SQUARES] / max(model.label_moments[MOMENT_WEIGHT], 1.0))
        return float(min(abs(leaves.predicted_mean(stats, place) - label) / max(3.0 * deviation, 1e-300), 1.0))
    if predictor == leaves.NAIVE_BAYES and model.flags[leaf, leaves.FLAG_TABLE] != NO_INDEX:
        leaves.predict(model, leaf, row, rule, one)
        return 0.0 if leaves.argmax(one) == int(label) else 1.0
    return 0.0 if leaves.majority_class(stats, place) == int(label) else 1.0


@internal
def detect_drift(model: StreamState, tree: int, wrong: float, rule: Floats) -> None:
    """Note a tree's mistake; begin a tree in the background, or let it take the tree's place, in place."""
    votes = model.votes[tree]
    votes[VOTE_CORRECT] = votes[VOTE_CORRECT] * VOTE_DECAY + 1.0 - wrong
    votes[VOTE_EVENTS] = votes[VOTE_EVENTS] * VOTE_DECAY + 1.0
    drift.update(model.windows, tree, wrong)
    if model.forest.counters[COUNTER_TIME] % drift.CHECK_INTERVAL != 0:
        return
    found = drift.detect(model.windows, tree, rule[RULE_WARNING_DELTA], rule[RULE_DRIFT_DELTA])
    if found == drift.NO_DRIFT:
        return
    n_trees, grace = model.standby.shape[0], int(rule[RULE_GRACE_PERIOD])
    if found == drift.WARNING:
        if model.standby[tree] == 0:
            model.standby[tree] = 1
            eviction.reset_tree(model, n_trees + tree, grace)
        return
    eviction.reset_tree(model, tree, grace)
    if model.standby[tree] == 1:
        swap_trees(model, tree, n_trees + tree)
        model.standby[tree] = 0
    drift.reset(model.windows, tree)
    votes[VOTE_CORRECT] = votes[VOTE_EVENTS] = 0.0


@internal
def swap_trees(model: StreamState, root: int, other: int) -> None:
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
    of_numbers = rule[RULE_CRITERION] == VARIANCE
    time = forest.counters[COUNTER_TIME]
    forests.update_column_kinds(forest, row)
    store_event(model.events, model.doubles, time, row, label, weight)
    forest.counters[COUNTER_TIME] = time + 1
    if of_numbers:
        update_label_moments(model.label_moments, label, weight)
    if n_trees > 1:
        for tree in range(n_trees):
            wrong = prediction_error(model, reached[tree], row, label, rule, one)
            before = model.standby[tree]
            detect_drift(model, tree, wrong, rule)
            if model.standby[tree] != before or forest.nodes[tree, NODE_CHILD] == tree:
                reached[tree] = find_leaf(model, tree, row)
            if model.standby[tree] == 1:
                reached[n_trees + tree] = find_leaf(model, n_trees + tree, row)
    for place in range(reached.shape[0]):
        if place >= n_trees and model.standby[place - n_trees] == 0:
            continue
        leaf = reached[place]
        times = poisson(rng, rule[RULE_TIMES]) if rule[RULE_TIMES] > 0.0 else 1
        if times == 0:
            continue
        stats, scores, flags = forest.stats[leaf], model.predictor_scores[leaf], model.flags[leaf]
        if of_numbers:
            leaves.learn_number(stats, scores, label, weight * times, rule)
        else:
            if flags[leaves.FLAG_TABLE] != NO_INDEX:
                leaves.score_naive_bayes(model, leaf, row, int(label), one)
            leaves.learn_class(stats, scores, int(label), weight * times, rule)
        for _ in range(times):
            eviction.append_event(forest, flags, leaf, time)
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            splitting.try_split(model, work.scratch, leaf, rule, seed)
    if eviction.is_memory_low(forest.counters, forest.blocks.shape[0]):
        eviction.evict(model, bool(of_numbers))


@internal
def update_label_moments(spread: Floats, number: float, weight: float) -> None:
    """Fold a number into the moments of all numbers, in place."""
    spread[MOMENT_WEIGHT] += weight
    distance = number - spread[MOMENT_MEAN]
    spread[MOMENT_MEAN] += distance * weight / spread[MOMENT_WEIGHT]
    spread[MOMENT_SQUARES] += weight * distance * (number - spread[MOMENT_MEAN])


@internal
def find_leaf(model: StreamState, root: int, row: Floats) -> int:
    """The leaf that a row reaches below a root."""
    node = root
    following = model.forest.nodes[node, NODE_CHILD] + forests.goes_right(model.forest, node, row)
    while following != node:
        node = following
        following = model.forest.nodes[node, NODE_CHILD] + forests.goes_right(model.forest, node, row)
    return int(model.forest.nodes[node, NODE_LEAF])


@internal
def has_capacity(forest: ForestState, n_events: int, n_trees: int, rule: Floats) -> bool:
    """Whether one more event fits whatever it makes of the trees."""
    n_children = 4 if rule[RULE_MULTIWAY] == 0.0 else 2 * MAX_CODES
    n_free = forest.nodes.shape[0] - forest.counters[COUNTER_NODES]
    has_nodes = n_free >= n_children * n_trees or forest.counters[forests.COUNTER_FREE_PAIR] != NO_INDEX
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
        if does & LEARNS and does & GROWS and not has_capacity(model.forest, model.events.shape[0], n_trees, rule):
            return place
        forests.descend(model.forest, row, work.foremost, work.moving)
        if does & PREDICTS:
            predict(model, work.reached, row, rule, work.one, outputs[place])
        if does & LEARNS and weights[place] > 0.0:
            learn(model, work, row, labels[place], weights[place], rule, rng, seed)
    return len(rows)
