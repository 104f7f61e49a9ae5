"""How a stream's trees grow.

After `grace_period` events a leaf looks at its own cuts. It splits at the best one if that is beyond probability (the probability
of so good a cut among as many as were tried is below delta) and beats the best cut of any other column by the Hoeffding
bound, or if that bound is below tau: then two columns are as good (Domingos and Hulten 2000). Its events go on to the
children.
"""

import math

import numpy as np

from stumpery.array_forest import allocation_kernels as arena
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.forest_kernels import (
    COUNTER_TIME,
    LEAF_N_EVENTS,
    LEAF_NEXT_CHECK,
    LEAF_NODE,
    MIN_CHILD_EVENTS,
    NO_INDEX,
    Float32s,
)
from stumpery.array_forest.precision_kernels import DOUBLE, gather_doubles
from stumpery.array_forest.scratch_kernels import Scratch, copy_events, splitmix64
from stumpery.jit import internal
from stumpery.streaming.trees import criterion_kernels as criteria
from stumpery.streaming.trees import eviction_kernels as eviction
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.criterion_kernels import (
    EVENT_LABEL,
    EVENT_WEIGHT,
    GINI,
    INFORMATION_GAIN,
    TOTALS_LEAF,
    VARIANCE,
)
from stumpery.streaming.trees.leaf_predictors_kernels import (
    FLAG_DEPTH,
    FLAG_TABLE,
    INHERITED_WEIGHT,
    MOMENT_MEAN,
    MOMENT_WEIGHT,
    N_STAT_ROWS,
    ROW_ALL,
    ROW_INHERITED,
    RULE_CRITERION,
    RULE_DELTA,
    RULE_GRACE_PERIOD,
    RULE_MAX_DEPTH,
    RULE_MULTIWAY,
    RULE_N_DRAWN,
    RULE_TAU,
    StreamState,
)
from stumpery.streaming.trees.split_search_kernels import SplitCandidate, find_split
from stumpery.types import Floats

CHECK_GROWTH = 1.3  # a leaf that fails is asked again when it has so many times the events, or grace_period more


@internal
def chi_squared_tail(evidence: float, freedom: float) -> float:
    """The probability of a chi-squared number beyond `evidence` (Wilson and Hilferty 1931)."""
    spread = 2.0 / (9.0 * freedom)
    return 0.5 * math.erfc(((evidence / freedom) ** (1.0 / 3.0) - 1.0 + spread) / math.sqrt(2.0 * spread))


@internal
def is_significant(cut: SplitCandidate, totals: Floats, rule: Floats) -> bool:
    """Whether a cut is good enough to split at; classes count as many as they are in effect."""
    weight, before = totals[TOTALS_LEAF, 0], totals[TOTALS_LEAF, 1]
    freedom, reach = 1.0, 1.0
    if rule[RULE_CRITERION] == INFORMATION_GAIN:
        freedom = max(2.0**before - 1.0, 1.0)
        reach = math.log2(totals[TOTALS_LEAF, 2])
        evidence = 2.0 * math.log(2.0) * weight * cut.gain
    elif rule[RULE_CRITERION] == GINI:
        freedom = max(before / max(1.0 - before, 1e-9), 1.0)
        evidence = weight * freedom * cut.gain / max(before, 1e-12)
    else:
        evidence = weight * cut.gain / max(1.0 - cut.gain, 1e-12)
    freedom *= cut.n_ways - 1
    if chi_squared_tail(evidence, freedom) * cut.n_tried >= rule[RULE_DELTA]:
        return False
    bound = reach * math.sqrt(math.log(1.0 / rule[RULE_DELTA]) / (2.0 * weight))
    return bool(cut.gain - cut.second > bound or bound < rule[RULE_TAU])


@internal
def has_several_classes(weights: Float32s) -> bool:
    """Whether more than one class has come to a leaf."""
    n_classes = 0
    for each in range(weights.shape[0]):
        n_classes += weights[each] > 0.0
    return n_classes > 1


@internal
def try_split(model: StreamState, scratch: Scratch, leaf: int, rule: Floats, seed: np.uint64) -> None:
    """Split a leaf if a cut is good enough, in place; otherwise say when to ask again."""
    forest, time = model.forest, model.forest.counters[COUNTER_TIME]
    criterion, n, n_rows = int(rule[RULE_CRITERION]), 0, 0
    if criterion == VARIANCE or has_several_classes(forest.stats[leaf, ROW_ALL]):
        n = forests.event_numbers(forest, leaf, time - model.events.shape[0], scratch.found)
        copy_events(model.events, scratch.found, n, time, scratch.events)
        n_rows = criteria.sum_labels(scratch, n, criterion) if n > 0 else 0
    if n_rows > 1 and n >= 2 * MIN_CHILD_EVENTS and model.flags[leaf, FLAG_DEPTH] < rule[RULE_MAX_DEPTH]:
        scratch.totals[TOTALS_LEAF, 2] = n_rows
        key = splitmix64(splitmix64(seed + np.uint64(time)) + np.uint64(forest.leaves[leaf, LEAF_NODE]))
        multiway = rule[RULE_MULTIWAY] > 0.0
        cut = find_split(
            forest.kinds, model.doubles, scratch, n, n_rows, criterion, int(rule[RULE_N_DRAWN]), multiway, key
        )
        if cut.gain > 0.0 and is_significant(cut, scratch.totals, rule) and arena.has_pair(model.forest):
            if multiway and cut.column < 0:
                split_by_categories(model, scratch, n, leaf, cut, rule)
            else:
                split_leaf(model, scratch, n, leaf, cut, rule)
            return
    if n_rows > 1:
        fill_table(model, scratch, n, leaf)
    n_events = forest.leaves[leaf, LEAF_N_EVENTS]
    forest.leaves[leaf, LEAF_NEXT_CHECK] = max(n_events + int(rule[RULE_GRACE_PERIOD]), int(CHECK_GROWTH * n_events))


@internal
def fill_table(model: StreamState, scratch: Scratch, n: int, leaf: int) -> None:
    """Write a leaf's table for naive Bayes, in place, if there is one for it."""
    free = model.bayes.free
    if model.flags[leaf, FLAG_TABLE] == NO_INDEX and free[0] > 0:
        model.flags[leaf, FLAG_TABLE] = free[free[0]]
        free[0] -= 1
    if model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        naive_bayes.fill_table(
            model.bayes, model.flags[leaf, FLAG_TABLE], scratch, n, model.forest.kinds, model.doubles
        )


@internal
def split_leaf(model: StreamState, scratch: Scratch, n: int, leaf: int, cut: SplitCandidate, rule: Floats) -> int:
    """Turn a leaf into a node with two leaves, which share its events and inherit what it predicts, in place.

    The left one has its number, the right one that which is given.
    """
    forest = model.forest
    node = forest.leaves[leaf, LEAF_NODE]
    child, other = arena.take_pair(model.forest), eviction.allocate_leaf(model)
    eviction.free_table(model, leaf)
    forests.make_split(forest, leaf, other, child, cut.column, cut.threshold, cut.mask)
    column = cut.column if cut.column >= 0 else ~cut.column
    worth = cut.gain * scratch.totals[TOTALS_LEAF, 0]
    if rule[RULE_CRITERION] == VARIANCE:
        worth *= scratch.totals[TOTALS_LEAF, 1]
    model.importances[column] += worth
    inherit_statistics(model, leaf, other, rule)
    is_double = model.doubles.widths[column] == DOUBLE
    if is_double:
        gather_doubles(model.doubles, scratch.found, n, column, scratch.wide_values)
    for index in range(n - 1, -1, -1):  # oldest first
        event = scratch.events[index]
        value = scratch.wide_values[index] if is_double else np.float64(event[column])
        here = leaf if forests.side(forest, node, value) == 0 else other
        forests.append_event(forest, here, scratch.found[index])
        if rule[RULE_CRITERION] == VARIANCE:
            leaves.update_moments(
                forest.stats[here, ROW_ALL], np.float64(event[EVENT_LABEL]), np.float64(event[EVENT_WEIGHT])
            )
        else:
            forest.stats[here, ROW_ALL, int(event[EVENT_LABEL])] += event[EVENT_WEIGHT]
    for side in range(2):
        here = leaf if side == 0 else other
        n_events = forest.leaves[here, LEAF_N_EVENTS]
        forest.leaves[here, LEAF_NEXT_CHECK] = max(int(rule[RULE_GRACE_PERIOD]), int(CHECK_GROWTH * n_events))
    return int(other)


@internal
def split_by_categories(
    model: StreamState, scratch: Scratch, n: int, leaf: int, cut: SplitCandidate, rule: Floats
) -> None:
    """Give each name that occurs a leaf of its own, in place: a chain of nodes, one name against the rest at each.

    The last one takes names that did not occur. All count as one level of depth and inherit from the same leaf.
    """
    depth, rest, gain = model.flags[leaf, FLAG_DEPTH], cut.mask, cut.gain
    first = rest & (~rest + np.uint64(1))
    while rest != first and arena.has_pair(model.forest):
        other = split_leaf(model, scratch, n, leaf, SplitCandidate(gain, cut.column, 0.0, first, 0.0, 0, 2), rule)
        n, gain = remove_events(scratch, n, ~cut.column, first), 0.0
        rest ^= first
        first = rest & (~rest + np.uint64(1))
        if rest != first and arena.has_pair(model.forest):  # it is to be split on, so its events are not yet its own
            model.flags[other, FLAG_DEPTH] = depth
            for each in range(model.forest.stats.shape[2]):
                model.forest.stats[other, ROW_ALL, each] = 0.0
        leaf = other


@internal
def remove_events(scratch: Scratch, n: int, column: int, mask: np.uint64) -> int:
    """Leave out the copied events with these names, in place; give how many there are then."""
    kept = 0
    for index in range(n):
        event = scratch.events[index]
        if (mask >> np.uint64(event[column])) & np.uint64(1):
            continue
        scratch.found[kept] = scratch.found[index]
        for each in range(event.shape[0]):
            scratch.events[kept, each] = event[each]
        kept += 1
    return kept


@internal
def inherit_statistics(model: StreamState, leaf: int, other: int, rule: Floats) -> None:
    """Let two children begin with what their parent predicts, with its latest events and its predictor scores, in place."""
    stats, others = model.forest.stats[leaf], model.forest.stats[other]
    n_values = stats.shape[1]
    if rule[RULE_CRITERION] == VARIANCE:
        stats[ROW_INHERITED, MOMENT_MEAN] = leaves.predicted_mean(stats, ROW_ALL)
        stats[ROW_INHERITED, MOMENT_WEIGHT] = 1.0
    else:
        total = 0.0
        for each in range(n_values):
            stats[ROW_INHERITED, each] = (
                stats[ROW_ALL, each] + np.float32(INHERITED_WEIGHT) * stats[ROW_INHERITED, each]
            )
            total += np.float64(stats[ROW_INHERITED, each])
        for each in range(n_values):
            stats[ROW_INHERITED, each] /= np.float32(total)
    for each in range(n_values):
        stats[ROW_ALL, each] = 0.0
        for place in range(N_STAT_ROWS):
            others[place, each] = stats[place, each]
    for predictor in range(leaves.N_LEAF_PREDICTORS):
        model.predictor_scores[other, predictor] = model.predictor_scores[leaf, predictor]
    model.flags[leaf, FLAG_DEPTH] += 1
    model.flags[other, FLAG_DEPTH] = model.flags[leaf, FLAG_DEPTH]
