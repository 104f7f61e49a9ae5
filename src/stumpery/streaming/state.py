"""The memory of a stream's trees: how it begins, grows and becomes wider."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.precision import doubles_of, new_doubles
from stumpery.array_forest.precision_kernels import DOUBLE, SINGLE
from stumpery.array_forest.scratch_kernels import MAX_SPLIT_EVENTS as MOST_LOOKED_AT
from stumpery.array_forest.scratch_kernels import new_scratch, scratch_size
from stumpery.drift import adaptive_window_kernels as drift_kernels
from stumpery.streaming.capacity import LEAST_EVENTS, Shape, Sizes, sizes_within
from stumpery.streaming.trees import eviction_kernels as room
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees import naive_bayes_kernels as bayes_kernels
from stumpery.streaming.trees.hoeffding_kernels import StreamWorkspace
from stumpery.streaming.trees.leaf_predictors_kernels import N_GUESSERS, N_MARKS, N_ROWS, StreamState
from stumpery.system.allocation import reserve
from stumpery.types import Floats

FEW_BYTES = 64  # that a model holds beside
DERIVED = (*trees.VIEWS, "places", "columns")  # arrays that say what others say


def limits(model: StreamState | None, shape: Shape, max_bytes: int) -> Sizes:
    """How far a model may grow: as it was planned, or not at all where it has outgrown the plan for its classes."""
    most = sizes_within(max_bytes, shape)
    if model is None:
        return most
    sizes = sizes_of(model)
    return most if all(size <= limit for size, limit in zip(sizes, most, strict=True)) else sizes


def fitted(model: StreamState, shape: Shape, max_bytes: int) -> Sizes:
    """As much room as a model has, with fewer events where a new shape would take more than `max_bytes`."""
    sizes, needed = sizes_of(model), n_bytes_with(shape, sizes_of(model))
    n_events = sizes.n_events - max(needed - max_bytes, 0) // shape.row_bytes - 1
    if n_events < LEAST_EVENTS // (3 if shape.n_doubles else 1) and needed > max_bytes:
        raise ValueError(f"max_bytes is {max_bytes}; these trees with {shape.n_values} classes need about {needed:,}")
    return sizes._replace(n_events=n_events) if needed > max_bytes else sizes


def n_bytes_with(shape: Shape, sizes: Sizes) -> int:
    """What a model of this shape and these sizes takes."""
    return sum(array.nbytes for array in arrays_of(new_model(shape, sizes)).values()) + FEW_BYTES


def new_work(model: StreamState, n_outputs: int) -> StreamWorkspace:
    """Room for trees of this shape; what it holds between two events means nothing.

    A leaf of a forest may note an event several times, so there is room for as many as are ever looked at.
    """
    n_trees, n_values, width = len(model.standby), model.forest.stats.shape[2], model.events.shape[1]
    reached = trees.aligned_zeros((n_trees if n_trees == 1 else 2 * n_trees,), np.int32)
    copies = trees.aligned_zeros((scratch_size(MOST_LOOKED_AT), width), np.float32)
    scratch = new_scratch(max(n_values, 3), width, copies, MOST_LOOKED_AT)
    row = trees.aligned_zeros((len(model.doubles.widths),), np.float64)
    return StreamWorkspace(
        row, reached, reached[:n_trees], trees.aligned_zeros((n_trees,), np.int32), np.zeros(n_outputs), scratch
    )


def has_shape(work: StreamWorkspace, model: StreamState, n_outputs: int) -> bool:
    """Whether this room is for trees of this shape; their number never changes."""
    width, n_values = model.events.shape[1], max(model.forest.stats.shape[2], 3)
    same = len(work.one) == n_outputs and work.scratch.totals.shape[1] == n_values
    return same and work.scratch.events.shape[1] == width


def new_model(shape: Shape, sizes: Sizes) -> StreamState:
    """Nothing learned yet."""
    reserve(bytes_of(shape, sizes))
    roots = shape.n_roots
    forest = trees.new_forest(roots, shape.n_values, shape.is_categorical, sizes.n_nodes, sizes.n_blocks)
    counters = np.full(room.N_COUNTERS, trees.NO_INDEX, np.int64)
    counters[: trees.N_COUNTERS] = forest.counters
    counters[room.LAST_SWEEP] = 0
    n_leaves = len(forest.leaves)
    forest.leaves[:roots, trees.LEAF_NEXT_CHECK] = shape.grace_period
    marks = np.zeros((n_leaves, N_MARKS), np.int32)
    marks[:, leaves.TABLE] = trees.NO_INDEX
    return StreamState(
        forest._replace(counters=counters, stats=np.zeros((n_leaves, N_ROWS, shape.n_values), np.float32)),
        trees.new_events(sizes.n_events, shape.n_columns),
        marks,
        np.zeros((n_leaves, N_GUESSERS), np.float32),
        bayes_kernels.new_bayes(sizes.n_tables, shape.n_values, shape.is_categorical, shape.n_doubles),
        drift_kernels.new_windows(shape.n_trees),
        np.zeros((shape.n_trees, 2)),
        np.zeros(shape.n_trees, np.int32),
        np.zeros(shape.n_columns),
        np.zeros(leaves.N_MOMENTS),
        new_doubles(sizes.n_events, shape.widths),
    )


def bytes_of(shape: Shape, sizes: Sizes) -> int:
    """What a model takes, as it is planned."""
    n_leaves = sizes.n_nodes // 2 + shape.n_roots
    leaf_bytes = 4 * (trees.N_LEAF_FIELDS + N_ROWS * shape.n_values + N_MARKS + N_GUESSERS)
    n_places = int(np.where(shape.is_categorical, trees.MAX_CODES, bayes_kernels.N_PLACES).sum())
    n_cuts = (SINGLE * shape.n_columns + DOUBLE * shape.n_doubles) * trees.MAX_CUTS
    table_bytes = n_cuts + 4 + 4 * shape.n_values * n_places
    windows = 8 * drift_kernels.N_SIZES * (drift_kernels.N_BUCKETS + 2) * shape.n_trees
    found = 16 * sizes.n_nodes + n_leaves * leaf_bytes + sizes.n_blocks * 4 * trees.N_BLOCK_FIELDS + windows
    return found + sizes.n_events * shape.row_bytes + sizes.n_tables * table_bytes


def sizes_of(model: StreamState) -> Sizes:
    """How much room there is."""
    return Sizes(len(model.events), len(model.forest.nodes), len(model.forest.blocks), len(model.bayes.cuts))


def resized(model: StreamState, shape: Shape, sizes: Sizes) -> StreamState:
    """The same, with that much room and that many classes, neither less than now but for the oldest events."""
    larger = new_model(shape, sizes)
    forest, before = larger.forest, model.forest
    for name in ("nodes", "leaves", "stats", "blocks", "counters", "kinds"):
        _lay(getattr(before, name), getattr(forest, name))
    n_before, n_now = len(before.blocks), len(forest.blocks)
    if n_now > n_before:  # the new blocks come first among the free ones
        forest.blocks[n_before:, trees.BLOCK_PREVIOUS] = np.arange(n_before + 1, n_now + 1)
        forest.blocks[-1, trees.BLOCK_PREVIOUS] = before.counters[trees.COUNTER_FREE_BLOCK]
        forest.counters[trees.COUNTER_FREE_BLOCK] = n_before
        forest.counters[trees.COUNTER_FREE_BLOCKS] += n_now - n_before
    time = int(before.counters[trees.COUNTER_TIME])
    numbers = np.arange(max(time - min(len(model.events), sizes.n_events), 0), time)
    now, then = numbers % sizes.n_events, numbers % len(model.events)
    larger.events[now] = model.events[then]
    for name in ("marks", "duels", "votes", "standby", "importances", "spread"):
        _lay(getattr(model, name), getattr(larger, name))
    for name in ("fills", "sums"):
        _lay(getattr(model.windows, name), getattr(larger.windows, name))
    for name in ("cuts", "logs"):
        _lay(getattr(model.bayes, name), getattr(larger.bayes, name))
    n_tables, n_free = len(model.bayes.cuts), int(model.bayes.free[0])
    for column in np.flatnonzero(shape.widths == DOUBLE).tolist():
        place = larger.doubles.places[column]
        larger.doubles.values[now, place] = _doubles_in(model, column)[then]
        larger.bayes.wide_cuts[:n_tables, place] = _cuts_in(model, column)
    more = np.arange(n_tables, len(larger.bayes.cuts))
    larger.bayes.free[0] = n_free + len(more)
    larger.bayes.free[1 : 1 + n_free + len(more)] = [*model.bayes.free[1 : 1 + n_free], *more]
    return larger


def widened(model: StreamState, shape: Shape, max_bytes: int) -> StreamState:
    """The same with more columns of 64 bits; the oldest events and some tables go where `max_bytes` is too little.

    Then events and tables each keep to the bytes that they have.
    """
    sizes, before = sizes_of(model), shape._replace(widths=model.doubles.widths)
    if n_bytes_with(shape, sizes) > max_bytes:
        n_tables = sizes.n_tables * before.table_bytes // shape.table_bytes
        model = _with_fewer_tables(model, n_tables)
        sizes = sizes._replace(n_events=sizes.n_events * before.row_bytes // shape.row_bytes, n_tables=n_tables)
    return resized(model, shape, sizes)


def _with_fewer_tables(model: StreamState, n_tables: int) -> StreamState:
    """The first tables alone; a leaf that loses its own gets another when it is asked to split the next time."""
    marks, bayes = model.marks.copy(), model.bayes
    marks[marks[:, leaves.TABLE] >= n_tables, leaves.TABLE] = trees.NO_INDEX
    free = bayes.free[1 : 1 + bayes.free[0]]
    free = free[free < n_tables]
    kept = np.zeros(1 + n_tables, np.int32)
    kept[0], kept[1 : 1 + len(free)] = len(free), free
    few = bayes._replace(**{name: getattr(bayes, name)[:n_tables] for name in ("cuts", "wide_cuts", "logs")}, free=kept)
    return model._replace(marks=marks, bayes=few)


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


def _lay(small: NDArray[Any], large: NDArray[Any]) -> None:
    large[tuple(slice(size) for size in small.shape)] = small


def renumbered(model: StreamState) -> None:
    """Number the events anew once there were very many, in place."""
    counters = model.forest.counters
    less = trees.renumber(model.forest, len(model.events))
    counters[room.LAST_SWEEP] = max(0, int(counters[room.LAST_SWEEP]) - less)


def arrays_of(model: StreamState) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    found: dict[str, NDArray[Any]] = {}
    for name, part in model._asdict().items():
        if isinstance(part, np.ndarray):
            found[name] = part
        else:
            found |= {f"{name}.{inner}": each for inner, each in part._asdict().items() if inner not in DERIVED}
    return found


def saved_without_doubles(arrays: Mapping[str, NDArray[Any]], n_columns: int) -> dict[str, NDArray[Any]]:
    """What a file from before columns could have 64 bits lacks; nothing where it has any of it."""
    if not arrays.keys().isdisjoint(("doubles.values", "doubles.widths", "bayes.wide_cuts")):
        return {}
    n_events, n_tables = (len(arrays[name]) if name in arrays else 0 for name in ("events", "bayes.cuts"))
    return {
        "doubles.values": np.zeros((n_events, 0)),
        "doubles.widths": np.full(n_columns, SINGLE, np.uint8),
        "bayes.wide_cuts": np.zeros((n_tables, 0, trees.MAX_CUTS)),
    }


def checked_widths(widths: NDArray[Any], is_categorical: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """A ValueError says that saved widths are none of these columns."""
    fits = widths.dtype == np.uint8 and widths.shape == is_categorical.shape
    if not fits or not np.isin(widths, (SINGLE, DOUBLE)).all() or (widths[is_categorical] != SINGLE).any():
        raise ValueError(f"its columns are {widths.tolist()} bytes wide, which is not what they can be")
    return widths.copy()
