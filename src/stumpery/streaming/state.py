"""The memory of a stream's trees: how it begins, grows and becomes wider."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.precision import doubles_of, new_doubles
from stumpery.array_forest.precision_kernels import DOUBLE, SINGLE
from stumpery.array_forest.scratch_kernels import MAX_SPLIT_EVENTS as MOST_LOOKED_AT
from stumpery.array_forest.scratch_kernels import new_scratch, scratch_size
from stumpery.drift import adaptive_window_kernels as adaptive_windows
from stumpery.streaming.capacity import MIN_EVENTS, Capacity, StreamShape, max_capacity
from stumpery.streaming.trees import eviction_kernels as eviction
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.hoeffding_kernels import StreamWorkspace
from stumpery.streaming.trees.leaf_predictors_kernels import N_FLAGS, N_LEAF_PREDICTORS, N_STAT_ROWS, StreamState
from stumpery.system.allocation import reserve
from stumpery.types import Floats

OVERHEAD_BYTES = 64  # that a model holds beside
DERIVED_ARRAYS = (*forests.VIEWS, "places", "columns")  # views of others, or computed from them
SAVED_NAMES = {"flags": "marks", "predictor_scores": "duels", "label_moments": "spread"}  # as files have them


def growth_limit(model: StreamState | None, shape: StreamShape, max_bytes: int) -> Capacity:
    """How far a model may grow: as it was planned, or not at all where it has outgrown the plan for its classes."""
    most = max_capacity(max_bytes, shape)
    if model is None:
        return most
    sizes = capacity_of(model)
    return most if all(size <= limit for size, limit in zip(sizes, most, strict=True)) else sizes


def reduced_capacity(model: StreamState, shape: StreamShape, max_bytes: int) -> Capacity:
    """As much room as a model has, with fewer events where a new shape would take more than `max_bytes`."""
    sizes, needed = capacity_of(model), n_bytes_of(shape, capacity_of(model))
    n_events = sizes.n_events - max(needed - max_bytes, 0) // shape.row_bytes - 1
    if n_events < MIN_EVENTS // (3 if shape.n_doubles else 1) and needed > max_bytes:
        raise ValueError(f"max_bytes is {max_bytes}; these trees with {shape.n_values} classes need about {needed:,}")
    return sizes._replace(n_events=n_events) if needed > max_bytes else sizes


def n_bytes_of(shape: StreamShape, sizes: Capacity) -> int:
    """What a model of this shape and these sizes takes."""
    return sum(array.nbytes for array in arrays_of(new_state(shape, sizes)).values()) + OVERHEAD_BYTES


def new_workspace(model: StreamState, n_outputs: int) -> StreamWorkspace:
    """Room for trees of this shape; what it holds between two events means nothing.

    A leaf of a forest may note an event several times, so there is room for as many as are ever looked at.
    """
    n_trees, n_values, width = len(model.standby), model.forest.stats.shape[2], model.events.shape[1]
    reached = forests.aligned_zeros((n_trees if n_trees == 1 else 2 * n_trees,), np.int32)
    copies = forests.aligned_zeros((scratch_size(MOST_LOOKED_AT), width), np.float32)
    scratch = new_scratch(max(n_values, 3), width, copies, MOST_LOOKED_AT)
    row = forests.aligned_zeros((len(model.doubles.widths),), np.float64)
    return StreamWorkspace(
        row, reached, reached[:n_trees], forests.aligned_zeros((n_trees,), np.int32), np.zeros(n_outputs), scratch
    )


def is_workspace_for(work: StreamWorkspace, model: StreamState, n_outputs: int) -> bool:
    """Whether this room is for trees of this shape; their number never changes."""
    width, n_values = model.events.shape[1], max(model.forest.stats.shape[2], 3)
    same = len(work.one) == n_outputs and work.scratch.totals.shape[1] == n_values
    return same and work.scratch.events.shape[1] == width


def new_state(shape: StreamShape, sizes: Capacity) -> StreamState:
    """Nothing learned yet."""
    reserve(planned_bytes(shape, sizes))
    roots = shape.n_roots
    forest = forests.new_forest(roots, shape.n_values, shape.is_categorical, sizes.n_nodes, sizes.n_blocks)
    counters = np.full(eviction.N_STREAM_COUNTERS, forests.NO_INDEX, np.int64)
    counters[: forests.N_COUNTERS] = forest.counters
    counters[eviction.COUNTER_LAST_EVICTION] = 0
    n_leaves = len(forest.leaves)
    forest.leaves[:roots, forests.LEAF_NEXT_CHECK] = shape.grace_period
    flags = np.zeros((n_leaves, N_FLAGS), np.int32)
    flags[:, leaves.FLAG_TABLE] = forests.NO_INDEX
    return StreamState(
        forest._replace(counters=counters, stats=np.zeros((n_leaves, N_STAT_ROWS, shape.n_values), np.float32)),
        forests.new_events(sizes.n_events, shape.n_columns),
        flags,
        np.zeros((n_leaves, N_LEAF_PREDICTORS), np.float32),
        naive_bayes.new_tables(sizes.n_tables, shape.n_values, shape.is_categorical, shape.n_doubles),
        adaptive_windows.new_windows(shape.n_trees),
        np.zeros((shape.n_trees, 2)),
        np.zeros(shape.n_trees, np.int32),
        np.zeros(shape.n_columns),
        np.zeros(leaves.N_MOMENTS),
        new_doubles(sizes.n_events, shape.widths),
    )


def planned_bytes(shape: StreamShape, sizes: Capacity) -> int:
    """What a model takes, as it is planned."""
    n_leaves = sizes.n_nodes // 2 + shape.n_roots
    leaf_bytes = 4 * (forests.N_LEAF_FIELDS + N_STAT_ROWS * shape.n_values + N_FLAGS + N_LEAF_PREDICTORS)
    n_places = int(np.where(shape.is_categorical, forests.MAX_CODES, naive_bayes.N_BINS).sum())
    n_cuts = (SINGLE * shape.n_columns + DOUBLE * shape.n_doubles) * forests.MAX_CUTS
    table_bytes = n_cuts + 4 + 4 * shape.n_values * n_places
    windows = 8 * adaptive_windows.N_SIZES * (adaptive_windows.MAX_BUCKETS + 2) * shape.n_trees
    found = 16 * sizes.n_nodes + n_leaves * leaf_bytes + sizes.n_blocks * 4 * forests.N_BLOCK_FIELDS + windows
    return found + sizes.n_events * shape.row_bytes + sizes.n_tables * table_bytes


def capacity_of(model: StreamState) -> Capacity:
    """How much room there is."""
    return Capacity(len(model.events), len(model.forest.nodes), len(model.forest.blocks), len(model.bayes.cuts))


def resized(model: StreamState, shape: StreamShape, sizes: Capacity) -> StreamState:
    """The same, with that much room and that many classes, neither less than now but for the oldest events."""
    larger = new_state(shape, sizes)
    forest, before = larger.forest, model.forest
    for name in ("nodes", "leaves", "stats", "blocks", "counters", "kinds"):
        _copy_into(getattr(before, name), getattr(forest, name))
    n_before, n_now = len(before.blocks), len(forest.blocks)
    if n_now > n_before:  # the new blocks come first among the free ones
        forest.blocks[n_before:, forests.BLOCK_PREVIOUS] = np.arange(n_before + 1, n_now + 1)
        forest.blocks[-1, forests.BLOCK_PREVIOUS] = before.counters[forests.COUNTER_FREE_BLOCK]
        forest.counters[forests.COUNTER_FREE_BLOCK] = n_before
        forest.counters[forests.COUNTER_FREE_BLOCKS] += n_now - n_before
    time = int(before.counters[forests.COUNTER_TIME])
    numbers = np.arange(max(time - min(len(model.events), sizes.n_events), 0), time)
    now, then = numbers % sizes.n_events, numbers % len(model.events)
    larger.events[now] = model.events[then]
    for name in ("flags", "predictor_scores", "votes", "standby", "importances", "label_moments"):
        _copy_into(getattr(model, name), getattr(larger, name))
    for name in ("fills", "sums"):
        _copy_into(getattr(model.windows, name), getattr(larger.windows, name))
    for name in ("cuts", "logs"):
        _copy_into(getattr(model.bayes, name), getattr(larger.bayes, name))
    n_tables, n_free = len(model.bayes.cuts), int(model.bayes.free[0])
    for column in np.flatnonzero(shape.widths == DOUBLE).tolist():
        place = larger.doubles.places[column]
        larger.doubles.values[now, place] = _doubles_in(model, column)[then]
        larger.bayes.wide_cuts[:n_tables, place] = _cuts_in(model, column)
    more = np.arange(n_tables, len(larger.bayes.cuts))
    larger.bayes.free[0] = n_free + len(more)
    larger.bayes.free[1 : 1 + n_free + len(more)] = [*model.bayes.free[1 : 1 + n_free], *more]
    return larger


def widened(model: StreamState, shape: StreamShape, max_bytes: int) -> StreamState:
    """The same with more columns of 64 bits; the oldest events and some tables go where `max_bytes` is too little.

    Then events and tables each keep to the bytes that they have.
    """
    sizes, before = capacity_of(model), shape._replace(widths=model.doubles.widths)
    if n_bytes_of(shape, sizes) > max_bytes:
        n_tables = sizes.n_tables * before.table_bytes // shape.table_bytes
        model = _with_fewer_tables(model, n_tables)
        sizes = sizes._replace(n_events=sizes.n_events * before.row_bytes // shape.row_bytes, n_tables=n_tables)
    return resized(model, shape, sizes)


def _with_fewer_tables(model: StreamState, n_tables: int) -> StreamState:
    """The first tables alone; a leaf that loses its own gets another when it is asked to split the next time."""
    flags, bayes = model.flags.copy(), model.bayes
    flags[flags[:, leaves.FLAG_TABLE] >= n_tables, leaves.FLAG_TABLE] = forests.NO_INDEX
    free = bayes.free[1 : 1 + bayes.free[0]]
    free = free[free < n_tables]
    kept = np.zeros(1 + n_tables, np.int32)
    kept[0], kept[1 : 1 + len(free)] = len(free), free
    few = bayes._replace(**{name: getattr(bayes, name)[:n_tables] for name in ("cuts", "wide_cuts", "logs")}, free=kept)
    return model._replace(flags=flags, bayes=few)


def _doubles_in(model: StreamState, column: int) -> Floats:
    """What all events have in a column that takes 64 bits, or will."""
    if model.doubles.widths[column] == DOUBLE:
        return model.doubles.values[:, model.doubles.places[column]]
    return doubles_of(model.events[:, column])


def _cuts_in(model: StreamState, column: int) -> Floats:
    """The same of the cuts in all tables."""
    if model.doubles.widths[column] == DOUBLE:
        return model.bayes.wide_cuts[:, model.doubles.places[column]]
    return model.bayes.cuts[:, column].astype(np.float64)


def _copy_into(small: NDArray[Any], large: NDArray[Any]) -> None:
    large[tuple(slice(size) for size in small.shape)] = small


def renumber_events(model: StreamState) -> None:
    """Number the events anew once there were very many, in place."""
    counters = model.forest.counters
    less = forests.renumber(model.forest, len(model.events))
    counters[eviction.COUNTER_LAST_EVICTION] = max(0, int(counters[eviction.COUNTER_LAST_EVICTION]) - less)


def arrays_of(model: StreamState) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, field in model._asdict().items():
        if isinstance(field, np.ndarray):
            arrays[SAVED_NAMES.get(name, name)] = field
        else:
            arrays |= {
                f"{name}.{inner}": array for inner, array in field._asdict().items() if inner not in DERIVED_ARRAYS
            }
    return arrays


def saved_without_doubles(arrays: Mapping[str, NDArray[Any]], n_columns: int) -> dict[str, NDArray[Any]]:
    """What a file from before columns could have 64 bits lacks; nothing where it has any of it."""
    if not arrays.keys().isdisjoint(("doubles.values", "doubles.widths", "bayes.wide_cuts")):
        return {}
    n_events, n_tables = (len(arrays[name]) if name in arrays else 0 for name in ("events", "bayes.cuts"))
    return {
        "doubles.values": np.zeros((n_events, 0)),
        "doubles.widths": np.full(n_columns, SINGLE, np.uint8),
        "bayes.wide_cuts": np.zeros((n_tables, 0, forests.MAX_CUTS)),
    }


def validated_widths(widths: NDArray[Any], is_categorical: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """A ValueError says that saved widths are none of these columns."""
    fits = widths.dtype == np.uint8 and widths.shape == is_categorical.shape
    if not fits or not np.isin(widths, (SINGLE, DOUBLE)).all() or (widths[is_categorical] != SINGLE).any():
        raise ValueError(f"its columns are {widths.tolist()} bytes wide, which is not what they can be")
    return widths.copy()
