"""Splitting of leaves by the Hoeffding bound (Domingos and Hulten 2000).

After `grace_period` events a leaf searches for its best split. It splits if that is significant (the probability of
such a gain by chance, among as many cuts as were tried, is below delta) and its gain exceeds that of the best cut of
any other column by the Hoeffding bound, or if that bound is below tau: a tie. The children get the leaf's events.
"""

import math

import numpy as np

from stumpery.array_forest import event_lists_kernels as event_lists
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import DOUBLE, Scratch, copy_events, gather_doubles
from stumpery.array_forest.forest_kernels import (
    COUNTER_TIME,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    Float32s,
)
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.streaming.trees import leaf_predictors_kernels as leaf_predictors
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees import state_kernels as states
from stumpery.streaming.trees.leaf_predictors_kernels import INHERITED_WEIGHT
from stumpery.streaming.trees.split_search_kernels import (
    EVENT_LABEL,
    EVENT_WEIGHT,
    GINI,
    INFORMATION_GAIN,
    TOTALS_BY_ROW,
    TOTALS_LEAF,
    VARIANCE,
    SplitCandidate,
    find_split,
)
from stumpery.streaming.trees.state_kernels import (
    FLAG_DEPTH,
    FLAG_TABLE,
    MOMENT_MEAN,
    MOMENT_WEIGHT,
    N_LEAF_PREDICTORS,
    N_STAT_ROWS,
    OPTION_CRITERION,
    OPTION_DELTA,
    OPTION_GRACE_PERIOD,
    OPTION_MAX_DEPTH,
    OPTION_MULTIWAY,
    OPTION_N_DRAWN,
    OPTION_TAU,
    ROW_ALL,
    ROW_INHERITED,
    StreamState,
)
from stumpery.types import Floats

CHECK_GROWTH = 1.3  # a leaf that does not split is checked again with this factor of events, or grace_period more


@internal
def chi_squared_tail(evidence: float, freedom: float) -> float:
    """The probability that a chi-squared variable exceeds `evidence` (approximation of Wilson and Hilferty 1931)."""
    spread = 2.0 / (9.0 * freedom)
    return 0.5 * math.erfc(((evidence / freedom) ** (1.0 / 3.0) - 1.0 + spread) / math.sqrt(2.0 * spread))


@internal
def is_significant(cut: SplitCandidate, totals: Floats, options: Floats) -> bool:
    """Whether a split passes the chi-squared test and the Hoeffding bound, with the effective number of classes."""
    weight, impurity = totals[TOTALS_LEAF, 0], totals[TOTALS_LEAF, 1]
    freedom, gain_range = 1.0, 1.0
    if options[OPTION_CRITERION] == INFORMATION_GAIN:
        freedom = max(2.0**impurity - 1.0, 1.0)
        gain_range = math.log2(totals[TOTALS_LEAF, 2])
        evidence = 2.0 * math.log(2.0) * weight * cut.gain
    elif options[OPTION_CRITERION] == GINI:
        freedom = max(impurity / max(1.0 - impurity, 1e-9), 1.0)
        evidence = weight * freedom * cut.gain / max(impurity, 1e-12)
    else:
        evidence = weight * cut.gain / max(1.0 - cut.gain, 1e-12)
    freedom *= cut.n_children - 1
    if chi_squared_tail(evidence, freedom) * cut.n_tried >= options[OPTION_DELTA]:
        return False
    bound = gain_range * math.sqrt(math.log(1.0 / options[OPTION_DELTA]) / (2.0 * weight))
    return bool(cut.gain - cut.second_gain > bound or bound < options[OPTION_TAU])


@internal
def has_several_classes(weights: Float32s) -> bool:
    """Whether a leaf has events of more than one class."""
    n_classes = 0
    for label in range(weights.shape[0]):
        n_classes += weights[label] > 0.0
    return n_classes > 1


@internal
def sum_labels(scratch: Scratch, n: int, criterion: int) -> int:
    """Sum the weights of the copied events by class, in place; give the number of table rows."""
    if criterion == VARIANCE:
        return sum_numbers(scratch, n)
    totals = scratch.totals[TOTALS_BY_ROW]
    n_classes = totals.shape[0]
    for label in range(n_classes):
        totals[label] = 0.0
    for index in range(n):
        label, weight = int(scratch.events[index, EVENT_LABEL]), scratch.events[index, EVENT_WEIGHT]
        scratch.table_rows[index] = label
        scratch.amounts[index] = weight
        totals[label] += weight
    rows = scratch.active
    n_rows = 0
    weight, squares, logs = 0.0, 0.0, 0.0
    for label in range(n_classes):
        total = totals[label]
        if total > 0.0:
            totals[n_rows] = total
            rows[label] = n_rows
            n_rows += 1
            weight += total
            squares += total * total
            logs += total * math.log2(total)
    for index in range(n):
        scratch.table_rows[index] = rows[scratch.table_rows[index]]
    scratch.totals[TOTALS_LEAF, 0] = weight
    pure = squares / max(weight * weight, 1e-300)
    scratch.totals[TOTALS_LEAF, 1] = 1.0 - pure if criterion == GINI else math.log2(max(weight, 1e-300)) - logs / weight
    return n_rows


@internal
def sum_numbers(scratch: Scratch, n: int) -> int:
    """Write the weighted distances of numbers from their mean, in place; two table rows, or one if all are equal."""
    weight, mean, squares = 0.0, 0.0, 0.0
    for index in range(n):
        weight += np.float64(scratch.events[index, EVENT_WEIGHT])
        mean += np.float64(scratch.events[index, EVENT_WEIGHT]) * np.float64(scratch.events[index, EVENT_LABEL])
    mean /= weight
    for index in range(n):
        distance = np.float64(scratch.events[index, EVENT_LABEL]) - mean
        squares += np.float64(scratch.events[index, EVENT_WEIGHT]) * distance * distance
    deviation = math.sqrt(squares / weight)
    for index in range(n):  # in units of the deviation, so that sums fit whatever the numbers are
        distance = (np.float64(scratch.events[index, EVENT_LABEL]) - mean) / max(deviation, 1e-300)
        scratch.table_rows[index] = 1
        scratch.amounts[index] = scratch.events[index, EVENT_WEIGHT] * distance
    scratch.totals[TOTALS_BY_ROW, 0], scratch.totals[TOTALS_BY_ROW, 1] = weight, 0.0
    scratch.totals[TOTALS_LEAF, 0], scratch.totals[TOTALS_LEAF, 1] = weight, squares / weight
    return 2 if deviation > 1e-6 * abs(mean) else 1


@internal
def try_split(model: StreamState, scratch: Scratch, leaf: int, options: Floats, seed: np.uint64) -> None:
    """Split a leaf if its best split is significant, in place; otherwise set when it is checked again."""
    forest, time = model.forest, model.forest.counters[COUNTER_TIME]
    criterion, n, n_rows = int(options[OPTION_CRITERION]), 0, 0
    if criterion == VARIANCE or has_several_classes(forest.stats[leaf, ROW_ALL]):
        n = event_lists.fill_event_numbers(forest, leaf, time - model.events.shape[0], scratch.event_numbers)
        copy_events(model.events, scratch.event_numbers, n, time, scratch.events)
        n_rows = sum_labels(scratch, n, criterion) if n > 0 else 0
    if n_rows > 1 and n >= 2 * MIN_CHILD_EVENTS and model.flags[leaf, FLAG_DEPTH] < options[OPTION_MAX_DEPTH]:
        scratch.totals[TOTALS_LEAF, 2] = n_rows
        key = splitmix64(splitmix64(seed + np.uint64(time)) + np.uint64(forest.leaves[leaf, LEAF_NODE]))
        multiway = options[OPTION_MULTIWAY] > 0.0
        cut = find_split(
            forest.kinds, model.doubles, scratch, n, n_rows, criterion, int(options[OPTION_N_DRAWN]), multiway, key
        )
        if cut.gain > 0.0 and is_significant(cut, scratch.totals, options) and forests.has_pair(model.forest):
            if multiway and cut.column < 0:
                split_by_categories(model, scratch, n, leaf, cut, options)
            else:
                split_leaf(model, scratch, n, leaf, cut, options)
            return
    if n_rows > 1:
        fill_table(model, scratch, n, leaf)
    n_events = forest.leaves[leaf, LEAF_N_EVENTS]
    forest.leaves[leaf, LEAF_NEXT_CHECK] = max(
        n_events + int(options[OPTION_GRACE_PERIOD]), int(CHECK_GROWTH * n_events)
    )


@internal
def fill_table(model: StreamState, scratch: Scratch, n: int, leaf: int) -> None:
    """Write a leaf's naive Bayes table, in place, if it has one or one is free."""
    free = model.bayes.free
    if model.flags[leaf, FLAG_TABLE] == NO_INDEX and free[0] > 0:
        model.flags[leaf, FLAG_TABLE] = free[free[0]]
        free[0] -= 1
    if model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        naive_bayes.fill_table(
            model.bayes, model.flags[leaf, FLAG_TABLE], scratch, n, model.forest.kinds, model.doubles
        )


@internal
def split_leaf(model: StreamState, scratch: Scratch, n: int, leaf: int, cut: SplitCandidate, options: Floats) -> int:
    """Replace a leaf by a node with two leaves, which get its events and inherit its prediction, in place.

    The left leaf keeps the leaf's index; the right one's is returned.
    """
    forest = model.forest
    node = forest.leaves[leaf, LEAF_NODE]
    child, other = forests.take_pair(model.forest), states.allocate_leaf(model)
    states.free_table(model, leaf)
    event_lists.free_blocks(forest, leaf)
    forests.make_split(forest, leaf, other, child, cut.column, cut.threshold, cut.mask)
    column = cut.column if cut.column >= 0 else ~cut.column
    importance = cut.gain * scratch.totals[TOTALS_LEAF, 0]
    if options[OPTION_CRITERION] == VARIANCE:
        importance *= scratch.totals[TOTALS_LEAF, 1]
    model.importances[column] += importance
    inherit_statistics(model, leaf, other, options)
    is_double = model.doubles.widths[column] == DOUBLE
    if is_double:
        gather_doubles(model.doubles, scratch.event_numbers, n, column, scratch.double_values)
    for index in range(n - 1, -1, -1):  # oldest first
        event = scratch.events[index]
        value = scratch.double_values[index] if is_double else np.float64(event[column])
        target = leaf if forests.value_goes_right(forest, node, value) == 0 else other
        event_lists.append_event(forest, target, scratch.event_numbers[index])
        if options[OPTION_CRITERION] == VARIANCE:
            leaf_predictors.update_moments(
                forest.stats[target, ROW_ALL], np.float64(event[EVENT_LABEL]), np.float64(event[EVENT_WEIGHT])
            )
        else:
            forest.stats[target, ROW_ALL, int(event[EVENT_LABEL])] += event[EVENT_WEIGHT]
    for side in range(2):
        target = leaf if side == 0 else other
        n_events = forest.leaves[target, LEAF_N_EVENTS]
        forest.leaves[target, LEAF_NEXT_CHECK] = max(int(options[OPTION_GRACE_PERIOD]), int(CHECK_GROWTH * n_events))
    return int(other)


@internal
def split_by_categories(
    model: StreamState, scratch: Scratch, n: int, leaf: int, cut: SplitCandidate, options: Floats
) -> None:
    """Split by all categories, one leaf each, in place: a chain of nodes, one category against the rest at each.

    The last leaf takes categories that did not occur. All count as one level of depth and inherit from the same leaf.
    """
    depth, rest, gain = model.flags[leaf, FLAG_DEPTH], cut.mask, cut.gain
    first = rest & (~rest + np.uint64(1))
    while rest != first and forests.has_pair(model.forest):
        other = split_leaf(model, scratch, n, leaf, SplitCandidate(gain, cut.column, 0.0, first, 0.0, 0, 2), options)
        n, gain = remove_events(scratch, n, ~cut.column, first), 0.0
        rest ^= first
        first = rest & (~rest + np.uint64(1))
        if rest != first and forests.has_pair(
            model.forest
        ):  # it will be split again, so its events are not its own yet
            model.flags[other, FLAG_DEPTH] = depth
            for value in range(model.forest.stats.shape[2]):
                model.forest.stats[other, ROW_ALL, value] = 0.0
        leaf = other


@internal
def remove_events(scratch: Scratch, n: int, column: int, mask: np.uint64) -> int:
    """Remove the copied events of these categories, in place; give the number of those left."""
    n_kept = 0
    for index in range(n):
        event = scratch.events[index]
        if (mask >> np.uint64(event[column])) & np.uint64(1):
            continue
        scratch.event_numbers[n_kept] = scratch.event_numbers[index]
        for column_index in range(event.shape[0]):
            scratch.events[n_kept, column_index] = event[column_index]
        n_kept += 1
    return n_kept


@internal
def inherit_statistics(model: StreamState, leaf: int, other: int, options: Floats) -> None:
    """Give two children their parent's prediction, recent statistics and predictor scores, in place."""
    stats, others = model.forest.stats[leaf], model.forest.stats[other]
    n_values = stats.shape[1]
    if options[OPTION_CRITERION] == VARIANCE:
        stats[ROW_INHERITED, MOMENT_MEAN] = leaf_predictors.predicted_mean(stats, ROW_ALL)
        stats[ROW_INHERITED, MOMENT_WEIGHT] = 1.0
    else:
        total = 0.0
        for label in range(n_values):
            weight = stats[ROW_ALL, label] + np.float32(INHERITED_WEIGHT) * stats[ROW_INHERITED, label]
            stats[ROW_INHERITED, label] = weight
            total += np.float64(stats[ROW_INHERITED, label])
        for label in range(n_values):
            stats[ROW_INHERITED, label] /= np.float32(total)
    for value in range(n_values):
        stats[ROW_ALL, value] = 0.0
        for stat_row in range(N_STAT_ROWS):
            others[stat_row, value] = stats[stat_row, value]
    for predictor in range(N_LEAF_PREDICTORS):
        model.predictor_scores[other, predictor] = model.predictor_scores[leaf, predictor]
    model.flags[leaf, FLAG_DEPTH] += 1
    model.flags[other, FLAG_DEPTH] = model.flags[leaf, FLAG_DEPTH]
