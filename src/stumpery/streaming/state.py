"""States of a stream's trees: new ones, larger ones, ones with wider columns, and their arrays in files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import DOUBLE, MAX_SPLIT_EVENTS, SINGLE, new_scratch, scratch_size
from stumpery.array_forest.precision import doubles_of, new_doubles
from stumpery.drift import adaptive_window_kernels as adaptive_windows
from stumpery.errors import CorruptFile, InvalidInput
from stumpery.streaming.capacity import MIN_EVENTS, Capacity, StreamShape, max_capacity
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees import state_kernels as records
from stumpery.streaming.trees.state_kernels import (
    FLAG_TABLE,
    N_FLAGS,
    N_LEAF_PREDICTORS,
    N_MOMENTS,
    N_STAT_ROWS,
    StreamState,
    StreamWorkspace,
)
from stumpery.system.allocation import reserve
from stumpery.types import Floats

OVERHEAD_BYTES = 64  # of a model, beside its state
DERIVED_ARRAYS = (*forests.NODE_VIEWS, "value_index", "columns")  # views of others, or computed from them
SAVED_NAMES = {
    "flags": "marks",
    "has_background": "standby",
    "predictor_scores": "duels",
    "label_moments": "spread",
}  # as files have them


def growth_limit(model: StreamState, shape: StreamShape, max_bytes: int) -> Capacity:
    """The capacity up to which a model grows: the planned one, or its own where it has outgrown the plan."""
    planned, current = max_capacity(max_bytes, shape), capacity_of(model)
    return planned if all(size <= limit for size, limit in zip(current, planned, strict=True)) else current


def reduced_capacity(model: StreamState, shape: StreamShape, max_bytes: int) -> Capacity:
    """A model's capacity, with fewer events where a new shape would take more than `max_bytes`."""
    sizes, needed = capacity_of(model), n_bytes_of(shape, capacity_of(model))
    n_events = sizes.n_events - max(needed - max_bytes, 0) // shape.row_bytes - 1
    if n_events < MIN_EVENTS // (3 if shape.n_doubles else 1) and needed > max_bytes:
        raise InvalidInput(f"max_bytes is {max_bytes}; these trees with {shape.n_values} classes need about {needed:,}")
    return sizes._replace(n_events=n_events) if needed > max_bytes else sizes


def n_bytes_of(shape: StreamShape, sizes: Capacity) -> int:
    """The size of a state of this shape and capacity."""
    return sum(array.nbytes for array in arrays_of(new_state(shape, sizes)).values()) + OVERHEAD_BYTES


def new_workspace(model: StreamState) -> StreamWorkspace:
    """Scratch buffers for trees of this shape.

    A leaf of a forest may hold an event several times, so the buffers are as long as `MAX_SPLIT_EVENTS`.
    """
    n_trees, n_values, width = len(model.has_background), model.forest.stats.shape[2], model.events.shape[1]
    reached = forests.aligned_zeros((n_trees if n_trees == 1 else 2 * n_trees,), np.int32)
    copies = forests.aligned_zeros((scratch_size(MAX_SPLIT_EVENTS), width), np.float32)
    scratch = new_scratch(max(n_values, 3), width, copies, MAX_SPLIT_EVENTS)
    row = forests.aligned_zeros((len(model.doubles.widths),), np.float64)
    return StreamWorkspace(
        row, reached, reached[:n_trees], forests.aligned_zeros((n_trees,), np.int32), np.zeros(n_values), scratch
    )


def new_state(shape: StreamShape, sizes: Capacity) -> StreamState:
    """A state that has learned nothing."""
    reserve(planned_bytes(shape, sizes))
    roots = shape.n_roots
    forest = forests.new_forest(roots, shape.n_values, shape.is_categorical, sizes.n_nodes, sizes.n_blocks)
    counters = np.full(records.N_STREAM_COUNTERS, forests.NO_INDEX, np.int64)
    counters[: forests.N_COUNTERS] = forest.counters
    counters[records.COUNTER_LAST_EVICTION] = 0
    n_leaves = len(forest.leaves)
    forest.leaves[:roots, forests.LEAF_NEXT_CHECK] = shape.grace_period
    flags = np.zeros((n_leaves, N_FLAGS), np.int32)
    flags[:, FLAG_TABLE] = forests.NO_INDEX
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
        np.zeros(N_MOMENTS),
        new_doubles(sizes.n_events, shape.widths),
    )


def planned_bytes(shape: StreamShape, sizes: Capacity) -> int:
    """The size of a state of this shape and capacity, computed without allocating it."""
    n_leaves = sizes.n_nodes // 2 + shape.n_roots
    n_bins = int(np.where(shape.is_categorical, forests.MAX_CODES, naive_bayes.N_BINS).sum())
    n_cuts = (SINGLE * shape.n_columns + DOUBLE * shape.n_doubles) * forests.MAX_THRESHOLDS
    table_bytes = n_cuts + 4 + 4 * shape.n_values * n_bins
    block_bytes = 4 * forests.N_BLOCK_FIELDS
    trees = 16 * sizes.n_nodes + n_leaves * shape.leaf_bytes + sizes.n_blocks * block_bytes + shape.window_bytes
    return trees + sizes.n_events * shape.row_bytes + sizes.n_tables * table_bytes


def capacity_of(model: StreamState) -> Capacity:
    """The capacity of a state."""
    return Capacity(len(model.events), len(model.forest.nodes), len(model.forest.blocks), len(model.bayes.cuts))


def resized(model: StreamState, shape: StreamShape, sizes: Capacity) -> StreamState:
    """A copy with another capacity and as many or more classes; only events may become fewer, the oldest ones."""
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
    for name in ("flags", "predictor_scores", "votes", "has_background", "importances", "label_moments"):
        _copy_into(getattr(model, name), getattr(larger, name))
    for name in ("fills", "sums"):
        _copy_into(getattr(model.windows, name), getattr(larger.windows, name))
    for name in ("cuts", "logs"):
        _copy_into(getattr(model.bayes, name), getattr(larger.bayes, name))
    n_tables, n_free = len(model.bayes.cuts), int(model.bayes.free[0])
    for column in np.flatnonzero(shape.widths == DOUBLE).tolist():
        index = larger.doubles.value_index[column]
        larger.doubles.values[now, index] = _doubles_in(model, column)[then]
        larger.bayes.wide_cuts[:n_tables, index] = _cuts_in(model, column)
    added = np.arange(n_tables, len(larger.bayes.cuts))
    larger.bayes.free[0] = n_free + len(added)
    larger.bayes.free[1 : 1 + n_free + len(added)] = [*model.bayes.free[1 : 1 + n_free], *added]
    return larger


def widened(model: StreamState, shape: StreamShape, max_bytes: int) -> StreamState:
    """A copy with more columns of 64 bits.

    Where `max_bytes` is too little, the oldest events and some tables are dropped, so that either keep their bytes.
    """
    sizes, before = capacity_of(model), shape._replace(widths=model.doubles.widths)
    if n_bytes_of(shape, sizes) > max_bytes:
        n_tables = sizes.n_tables * before.table_bytes // shape.table_bytes
        model = _with_fewer_tables(model, n_tables)
        sizes = sizes._replace(n_events=sizes.n_events * before.row_bytes // shape.row_bytes, n_tables=n_tables)
    return resized(model, shape, sizes)


def _with_fewer_tables(model: StreamState, n_tables: int) -> StreamState:
    """A copy with the first tables alone; a leaf that loses its table gets another when it is checked the next time."""
    flags, bayes = model.flags.copy(), model.bayes
    flags[flags[:, FLAG_TABLE] >= n_tables, FLAG_TABLE] = forests.NO_INDEX
    free = bayes.free[1 : 1 + bayes.free[0]]
    free = free[free < n_tables]
    kept = np.zeros(1 + n_tables, np.int32)
    kept[0], kept[1 : 1 + len(free)] = len(free), free
    few = bayes._replace(**{name: getattr(bayes, name)[:n_tables] for name in ("cuts", "wide_cuts", "logs")}, free=kept)
    return model._replace(flags=flags, bayes=few)


def _doubles_in(model: StreamState, column: int) -> Floats:
    """The values of all events in a column of 64 bits, or one that becomes such."""
    if model.doubles.widths[column] == DOUBLE:
        return model.doubles.values[:, model.doubles.value_index[column]]
    return doubles_of(model.events[:, column])


def _cuts_in(model: StreamState, column: int) -> Floats:
    """The cuts of all tables in a column of 64 bits, or one that becomes such."""
    if model.doubles.widths[column] == DOUBLE:
        return model.bayes.wide_cuts[:, model.doubles.value_index[column]]
    return model.bayes.cuts[:, column].astype(np.float64)


def _copy_into(small: NDArray[Any], large: NDArray[Any]) -> None:
    large[tuple(slice(size) for size in small.shape)] = small


def renumber_events(model: StreamState) -> None:
    """Renumber the events before their numbers overflow, in place."""
    counters = model.forest.counters
    shift = forests.renumber(model.forest, len(model.events))
    if shift:
        counters[records.COUNTER_LAST_EVICTION] = max(0, int(counters[records.COUNTER_LAST_EVICTION]) - shift)


def arrays_of(model: StreamState) -> dict[str, NDArray[Any]]:
    """The arrays that are saved, by name."""
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
    """The arrays of 64-bit columns, which files of earlier versions lack; none where a file has any of them."""
    if not arrays.keys().isdisjoint(("doubles.values", "doubles.widths", "bayes.wide_cuts")):
        return {}
    n_events, n_tables = (len(arrays[name]) if name in arrays else 0 for name in ("events", "bayes.cuts"))
    return {
        "doubles.values": np.zeros((n_events, 0)),
        "doubles.widths": np.full(n_columns, SINGLE, np.uint8),
        "bayes.wide_cuts": np.zeros((n_tables, 0, forests.MAX_THRESHOLDS)),
    }


def validated_widths(widths: NDArray[Any], is_categorical: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Saved widths of columns; a ValueError says that they do not fit the columns."""
    fits = widths.dtype == np.uint8 and widths.shape == is_categorical.shape
    if not fits or not np.isin(widths, (SINGLE, DOUBLE)).all() or (widths[is_categorical] != SINGLE).any():
        raise CorruptFile(f"its columns are {widths.tolist()} bytes wide, which is not possible for their kinds")
    return widths.copy()
