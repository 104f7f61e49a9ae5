"""Hoeffding trees and forests along a stream: predict, learn, or predict and then learn each event.

In a forest a drift detector per tree gets the tree's errors. At a warning a background tree starts; at a drift it
replaces the old one (Gomes et al. 2017).
"""

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import MAX_SPLIT_EVENTS, round_row, store_event
from stumpery.array_forest.forest_kernels import (
    COUNTER_FREE_BLOCKS,
    COUNTER_FREE_PAIR,
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
    ForestMemory,
    ForestState,
    Int32s,
)
from stumpery.drift import adaptive_window_kernels as drift
from stumpery.jit import internal, kernel
from stumpery.random import poisson
from stumpery.streaming.trees import leaf_predictors_kernels as leaf_predictors
from stumpery.streaming.trees import splitting_kernels as splitting
from stumpery.streaming.trees import state_kernels as states
from stumpery.streaming.trees.split_search_kernels import VARIANCE
from stumpery.streaming.trees.state_kernels import (
    FLAG_TABLE,
    MOMENT_MEAN,
    MOMENT_SQUARES,
    MOMENT_WEIGHT,
    NAIVE_BAYES,
    OPTION_CRITERION,
    OPTION_DRIFT_DELTA,
    OPTION_GRACE_PERIOD,
    OPTION_MULTIWAY,
    OPTION_TIMES,
    OPTION_WARNING_DELTA,
    RECENT,
    ROW_ALL,
    ROW_RECENT,
    VOTE_CORRECT,
    VOTE_EVENTS,
    StreamState,
    StreamWorkspace,
)
from stumpery.types import Floats, RandomState

PREDICTS, LEARNS, GROWS = 1, 2, 4  # flags of a run; one that grows stops where memory must grow first
VOTE_DECAY = 0.999


@internal
def predict(
    model: StreamState, reached: Int32s, row: Floats, options: Floats, tree_output: Floats, output: Floats
) -> None:
    """Write the mean of the leaves' predictions, in place, weighted by the squares of the trees' recent accuracies."""
    n_trees, n_outputs = model.has_background.shape[0], output.shape[0]
    if n_trees == 1:
        leaf_predictors.predict(model, reached[0], row, options, output)
        return
    for index in range(n_outputs):
        output[index] = 0.0
    total = 0.0
    for tree in range(n_trees):
        leaf_predictors.predict(model, reached[tree], row, options, tree_output)
        vote = (model.votes[tree, VOTE_CORRECT] + 1.0) / (model.votes[tree, VOTE_EVENTS] + 1.0)
        vote *= vote
        has_prediction = 1.0 if options[OPTION_CRITERION] == VARIANCE else 0.0
        for index in range(n_outputs):
            output[index] += vote * tree_output[index]
            if has_prediction == 0.0 and tree_output[index] > 0.0:
                has_prediction = 1.0
        total += vote * has_prediction  # a tree without events abstains
    for index in range(n_outputs):
        output[index] /= max(total, 1e-300)


@internal
def prediction_error(
    model: StreamState, leaf: int, row: Floats, label: float, options: Floats, tree_output: Floats
) -> float:
    """A tree's error on an event, from 0 to 1."""
    predictor = leaf_predictors.select_predictor(model.predictor_scores[leaf], options)
    stat_row = ROW_RECENT if predictor == RECENT else ROW_ALL
    stats = model.forest.stats[leaf]
    if options[OPTION_CRITERION] == VARIANCE:
        deviation = np.sqrt(model.label_moments[MOMENT_SQUARES] / max(model.label_moments[MOMENT_WEIGHT], 1.0))
        distance = abs(leaf_predictors.predicted_mean(stats, stat_row) - label)
        return float(min(distance / max(3.0 * deviation, 1e-300), 1.0))
    if predictor == NAIVE_BAYES and model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        leaf_predictors.predict(model, leaf, row, options, tree_output)
        return 0.0 if leaf_predictors.argmax(tree_output) == int(label) else 1.0
    return 0.0 if leaf_predictors.majority_class(stats, stat_row) == int(label) else 1.0


@internal
def detect_drift(model: StreamState, tree: int, error: float, options: Floats) -> None:
    """Give a tree's error to its drift detector, and start its background tree or replace it by that one, in place."""
    votes = model.votes[tree]
    votes[VOTE_CORRECT] = votes[VOTE_CORRECT] * VOTE_DECAY + 1.0 - error
    votes[VOTE_EVENTS] = votes[VOTE_EVENTS] * VOTE_DECAY + 1.0
    drift.update(model.windows, tree, error)
    if model.forest.counters[COUNTER_TIME] % drift.CHECK_INTERVAL != 0:
        return
    status = drift.detect(model.windows, tree, options[OPTION_WARNING_DELTA], options[OPTION_DRIFT_DELTA])
    if status == drift.NO_DRIFT:
        return
    n_trees, grace = model.has_background.shape[0], int(options[OPTION_GRACE_PERIOD])
    if status == drift.WARNING:
        if model.has_background[tree] == 0:
            model.has_background[tree] = 1
            states.reset_tree(model, n_trees + tree, grace)
        return
    states.reset_tree(model, tree, grace)
    if model.has_background[tree] == 1:
        swap_trees(model, tree, n_trees + tree)
        model.has_background[tree] = 0
    drift.reset(model.windows, tree)
    votes[VOTE_CORRECT] = votes[VOTE_EVENTS] = 0.0


@internal
def swap_trees(model: StreamState, root: int, other: int) -> None:
    """Swap two trees, in place: only their roots move."""
    nodes, masks = model.forest.nodes, model.forest.masks
    for target, source in ((root, other), (other, root)):
        if nodes[source, NODE_CHILD] == source:  # a leaf points to its node
            model.forest.leaves[nodes[source, NODE_LEAF], LEAF_NODE] = target
    first, second = nodes[root, NODE_CHILD], nodes[other, NODE_CHILD]
    nodes[root, NODE_CHILD] = root if second == other else second
    nodes[other, NODE_CHILD] = other if first == root else first
    nodes[root, NODE_COLUMN], nodes[other, NODE_COLUMN] = nodes[other, NODE_COLUMN], nodes[root, NODE_COLUMN]
    one, two = 2 * root + NODE_PAYLOAD, 2 * other + NODE_PAYLOAD
    masks[one], masks[two] = masks[two], masks[one]


@internal
def detect_drifts(model: StreamState, work: StreamWorkspace, label: float, options: Floats) -> None:
    """Give the errors on an event to the drift detectors, and find the leaves again where trees changed, in place."""
    n_trees, reached, row = model.has_background.shape[0], work.reached, work.row
    for tree in range(n_trees):
        error = prediction_error(model, reached[tree], row, label, options, work.tree_output)
        before = model.has_background[tree]
        detect_drift(model, tree, error, options)
        if model.has_background[tree] != before or model.forest.nodes[tree, NODE_CHILD] == tree:
            reached[tree] = find_leaf(model, tree, row)
        if model.has_background[tree] == 1:
            reached[n_trees + tree] = find_leaf(model, n_trees + tree, row)


@internal
def learn(
    model: StreamState,
    work: StreamWorkspace,
    row: Floats,
    label: float,
    weight: float,
    options: Floats,
    rng: RandomState,
    seed: np.uint64,
) -> None:
    """Store one event and let every tree learn it at the leaf that it reached, in place."""
    forest, n_trees, reached = model.forest, model.has_background.shape[0], work.reached
    is_regression = options[OPTION_CRITERION] == VARIANCE
    time = forest.counters[COUNTER_TIME]
    forests.update_column_kinds(forest, row)
    store_event(model.events, model.doubles, time, row, label, weight)
    forest.counters[COUNTER_TIME] = time + 1
    if is_regression:
        update_label_moments(model.label_moments, label, weight)
    if n_trees > 1:
        detect_drifts(model, work, label, options)
    for tree in range(reached.shape[0]):
        if tree >= n_trees and model.has_background[tree - n_trees] == 0:
            continue
        leaf = reached[tree]
        times = poisson(rng, options[OPTION_TIMES]) if options[OPTION_TIMES] > 0.0 else 1
        if times == 0:
            continue
        stats, scores, flags = forest.stats[leaf], model.predictor_scores[leaf], model.flags[leaf]
        if is_regression:
            leaf_predictors.learn_number(stats, scores, label, weight * times, options)
        else:
            if flags[FLAG_TABLE] != NO_INDEX:
                leaf_predictors.score_naive_bayes(model, leaf, row, int(label), work.tree_output)
            leaf_predictors.learn_class(stats, scores, int(label), weight * times, options)
        for _ in range(times):
            states.append_event(forest, flags, leaf, time)
        if forest.leaves[leaf, LEAF_N_EVENTS] >= forest.leaves[leaf, LEAF_NEXT_CHECK]:
            splitting.try_split(model, work.scratch, leaf, options, seed)
    if states.is_memory_low(forest.counters, forest.blocks.shape[0]):
        states.evict(model, bool(is_regression))


@internal
def update_label_moments(moments: Floats, number: float, weight: float) -> None:
    """Add a number to the moments of all numbers, in place."""
    moments[MOMENT_WEIGHT] += weight
    distance = number - moments[MOMENT_MEAN]
    moments[MOMENT_MEAN] += distance * weight / moments[MOMENT_WEIGHT]
    moments[MOMENT_SQUARES] += weight * distance * (number - moments[MOMENT_MEAN])


@internal
def find_leaf(model: StreamState, root: int, row: Floats) -> int:
    """The leaf that a row reaches below a root."""
    node = root
    child = model.forest.nodes[node, NODE_CHILD] + forests.goes_right(model.forest, node, row)
    while child != node:
        node = child
        child = model.forest.nodes[node, NODE_CHILD] + forests.goes_right(model.forest, node, row)
    return int(model.forest.nodes[node, NODE_LEAF])


@internal
def has_capacity(forest: ForestState, n_events: int, n_trees: int, options: Floats) -> bool:
    """Whether one more event fits, however many splits it causes."""
    n_children = 4 if options[OPTION_MULTIWAY] == 0.0 else 2 * MAX_CODES
    n_free = forest.nodes.shape[0] - forest.counters[COUNTER_NODES]
    has_nodes = n_free >= n_children * n_trees or forest.counters[COUNTER_FREE_PAIR] != NO_INDEX
    has_blocks = forest.counters[COUNTER_FREE_BLOCKS] >= 8 * n_trees + MAX_SPLIT_EVENTS // GAPS_PER_BLOCK
    return bool(has_nodes and has_blocks and forest.counters[COUNTER_TIME] < n_events)


@kernel
def run(
    memory: ForestMemory[StreamState, StreamWorkspace],
    options: Floats,
    rng: RandomState,
    seed: np.uint64,
    rows: Floats,
    labels: Floats,
    weights: Floats,
    outputs: Floats,
    mode: int,
) -> int:
    """Process rows, in place: predict classes' probabilities or numbers, learn labels, or first one and then the other.

    A single entry point, since each would compile everything below it. Where memory must grow first, or a column needs
    64 bits, it returns early: the number of rows that were processed.
    """
    model, work = memory.state, memory.workspace
    n_trees, row = model.has_background.shape[0], work.row
    for index in range(rows.shape[0]):
        fits_widths = round_row(rows[index], model.doubles.widths, row)
        if mode & LEARNS and not fits_widths and weights[index] > 0.0:
            return index
        if mode & LEARNS and mode & GROWS and not has_capacity(model.forest, model.events.shape[0], n_trees, options):
            return index
        forests.descend(model.forest, row, work.foreground, work.descending)
        if mode & PREDICTS:
            predict(model, work.reached, row, options, work.tree_output, outputs[index])
        if mode & LEARNS and weights[index] > 0.0:
            learn(model, work, row, labels[index], weights[index], options, rng, seed)
    return len(rows)
