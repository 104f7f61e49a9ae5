"""Validation of the saved arrays of a stream's trees, so that kernels never leave an array or a loop."""

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.validation import validate_blocks, validate_nodes
from stumpery.drift import adaptive_window_kernels as adaptive_windows
from stumpery.saving.validation import check, check_learned, check_within
from stumpery.streaming.capacity import StreamShape
from stumpery.streaming.trees import state_kernels as records
from stumpery.streaming.trees.state_kernels import FLAG_DEACTIVATED, FLAG_TABLE, MOMENT_WEIGHT, StreamState

MAX_FLOAT32 = float(np.finfo(np.float32).max)


def validate(model: StreamState, shape: StreamShape) -> None:
    """Validate saved trees: a ValueError for an index out of range or repeated, or a value that is not finite."""
    forest = model.forest
    time, n_blocks = int(forest.counters[forests.COUNTER_TIME]), len(forest.blocks)
    check_within(np.array(time), 0, 2**31 - 1, "the number of events")
    check_within(forest.counters[[records.COUNTER_LAST_EVICTION]], 0, time, "the event of the last eviction")
    check_within(forest.counters[[forests.COUNTER_FREE_BLOCKS]], 0, n_blocks, "the number of free blocks")
    check(
        ((forest.kinds == forests.CATEGORICAL) == shape.is_categorical).all(),
        "a column is of another kind than its schema says",
    )
    check_within(forest.kinds, forests.NUMERICAL, forests.BINARY, "the kind of a column")
    validate_nodes(forest, shape.n_roots, shape.is_categorical)
    validate_blocks(forest, len(model.events))
    _validate_events(model, shape)
    _validate_tables(model)
    _validate_numbers(model)


def _validate_events(model: StreamState, shape: StreamShape) -> None:
    rows, labels, weights = model.events[:, :-2], model.events[:, -2], model.events[:, -1]
    check(np.isfinite(labels).all(), "the label of an event is not finite")
    if not model.label_moments[MOMENT_WEIGHT] > 0:
        check(np.isin(labels, np.arange(shape.n_values)).all(), "the class of an event does not exist")
    check(not np.isnan(rows).any(), "the value of an event is NaN")
    check(not np.isnan(model.doubles.values).any(), "the value of an event is NaN")
    check(
        np.isin(rows[:, shape.is_categorical], np.arange(forests.MAX_CODES)).all(),
        "the code of an event's category does not exist",
    )
    check_within(weights, 0.0, MAX_FLOAT32, "the weight of an event")


def _validate_tables(model: StreamState) -> None:
    n_leaves, n_tables = int(model.forest.counters[forests.COUNTER_LEAVES]), len(model.bayes.cuts)
    tables, free = model.flags[:n_leaves, FLAG_TABLE], model.bayes.free
    check_within(free[:1], 0, n_tables, "the number of free tables")
    owned = np.concatenate([tables[tables != forests.NO_INDEX], free[1 : 1 + free[0]]])
    check_within(owned, 0, n_tables - 1, "the table of a leaf")
    check(len(np.unique(owned)) == len(owned), "a table belongs to two leaves, or is free and in use")
    check(not np.isnan(model.bayes.cuts).any(), "a cut is NaN")
    check(not np.isnan(model.bayes.wide_cuts).any(), "a cut is NaN")


def _validate_numbers(model: StreamState) -> None:
    n_leaves = int(model.forest.counters[forests.COUNTER_LEAVES])
    check_within(model.windows.fills, 0, adaptive_windows.MAX_BUCKETS, "the number of buckets of a drift detector")
    check_within(model.has_background, 0, 1, "whether a tree grows in the background")
    check_within(model.flags[:n_leaves, FLAG_DEACTIVATED], 0, 1, "whether a leaf is deactivated")
    check_within(model.votes, 0.0, MAX_FLOAT32, "the accuracy of a tree")
    learned = {
        "statistic of a leaf": model.forest.stats,
        "score of a leaf predictor": model.predictor_scores,
        "logarithm of a table": model.bayes.logs,
        "sum of a drift detector": model.windows.sums,
        "importance of a column": model.importances,
        "moment of the labels": model.label_moments,
    }
    for name, array in learned.items():
        check_learned(array, f"a {name}")
