"""The memory of a stream's trees: how much there may be, and how it grows."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.allocation import reserve
from stumpery.trees import bayes_kernels, drift_kernels
from stumpery.trees import forest_kernels as trees
from stumpery.trees import leaves_kernels as leaves
from stumpery.trees import room_kernels as room
from stumpery.trees.forest_kernels import BLOCK
from stumpery.trees.hoeffding_kernels import Work
from stumpery.trees.leaves_kernels import N_GUESSERS, N_MARKS, N_ROWS, Model
from stumpery.trees.scratch_kernels import MAX_EVENTS as MOST_LOOKED_AT
from stumpery.trees.scratch_kernels import n_places, new_scratch

FIRST_EVENTS, FIRST_NODES, FIRST_TABLES = 4096, 256, 16
FEW_CLASSES = 16  # for which memory is planned, or twice, four times, ... as many
MAX_EVENTS = 2**20
LEAST_EVENTS = 256
FEW_BYTES = 64  # that a model holds beside
MAX_TABLES = 4096
FOR_EVENTS = 0.85  # of the memory; the rest is for nodes and leaves


class Shape(NamedTuple):
    """What a model is made for; it changes only with the classes."""

    n_trees: int
    is_name: NDArray[np.bool_]
    n_values: int  # classes, or moments of numbers
    times: float  # how often a tree sees an event on average
    grace_period: int
    has_tables: bool

    @property
    def n_roots(self) -> int:
        """Trees, and places in the background for as many."""
        return self.n_trees if self.n_trees == 1 else 2 * self.n_trees

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return len(self.is_name)


class Sizes(NamedTuple):
    """How many events, nodes, blocks and tables there is room for."""

    n_events: int
    n_nodes: int
    n_blocks: int
    n_tables: int

    def first(self, shape: "Shape") -> Self:
        """Where to start: little, and the same whatever the classes are."""
        some = Sizes(FIRST_EVENTS, shape.n_roots + FIRST_NODES, FIRST_EVENTS // 8 * shape.n_trees, FIRST_TABLES)
        return type(self)(*(min(size, limit) for size, limit in zip(some, self, strict=True)))

    def doubled(self, most: "Sizes") -> Self:
        """Twice as much, within `most`."""
        return type(self)(*(max(size, min(2 * size, limit)) for size, limit in zip(self, most, strict=True)))

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], max_bytes: int) -> "Sizes":
        """The sizes of saved arrays; a ValueError says that they are none, or more than they may be."""
        names = ("events", "forest.nodes", "forest.blocks", "bayes.cuts")
        found = Sizes(*(len(arrays[name]) if name in arrays and arrays[name].ndim else 0 for name in names))
        if 0 in found[:3] or sum(array.nbytes for array in arrays.values()) > 2 * max_bytes:
            raise ValueError(
                f"its arrays have room for {tuple(found)}, which does not fit its max_bytes of {max_bytes}"
            )
        return found


def sizes_within(max_bytes: int, shape: Shape) -> Sizes:
    """The most that fits: a quarter for tables if there are any, of the rest `FOR_EVENTS` for events."""
    n_values = FEW_CLASSES
    while n_values < shape.n_values:
        n_values *= 2
    table_bytes = 4 * (shape.n_columns * trees.MAX_CUTS + 1)
    table_bytes += 4 * n_values * int(np.where(shape.is_name, trees.N_CODES, bayes_kernels.N_PLACES).sum())
    n_tables = min(int(max_bytes / 4 / table_bytes), MAX_TABLES) if shape.has_tables else 0
    own = 8 * drift_kernels.N_SIZES * (drift_kernels.N_BUCKETS + 2) * shape.n_trees + 8 * shape.n_columns + 1024
    left = 0.97 * max_bytes - n_tables * table_bytes - own
    leaf_bytes = 4 * (trees.N_LEAF_FIELDS + N_ROWS * n_values + N_MARKS + N_GUESSERS)
    node_bytes = 16 + leaf_bytes / 2
    first_bytes = shape.n_roots * (16 + leaf_bytes)
    per_event = shape.n_trees * max(shape.times, 1.0) * 1.5 / BLOCK
    event_bytes = 4 * (shape.n_columns + 2) + per_event * 4 * trees.N_BLOCK_FIELDS
    n_events = min(int((left - first_bytes) * FOR_EVENTS / event_bytes), MAX_EVENTS)
    n_nodes = int((left - first_bytes) * (1.0 - FOR_EVENTS) / node_bytes)
    if n_events < LEAST_EVENTS or n_nodes < 4 * shape.n_roots:
        events, nodes = LEAST_EVENTS * event_bytes / FOR_EVENTS, 4 * shape.n_roots * node_bytes / (1.0 - FOR_EVENTS)
        least = max(events, nodes) + first_bytes
        needed = int((least + own) / 0.97 * (4 / 3 if shape.has_tables else 1)) + 1
        raise ValueError(
            f"max_bytes is {max_bytes}; {shape.n_trees} trees over {shape.n_columns} columns and "
            f"{n_values} classes need about {needed:,}"
        )
    n_nodes = shape.n_roots + min(n_nodes, int(shape.n_trees * max(shape.times, 1.0) * n_events / 2)) // 2 * 2
    return Sizes(n_events, n_nodes, int(n_events * per_event) + shape.n_roots, n_tables)


def limits(model: Model | None, shape: Shape, max_bytes: int) -> Sizes:
    """How far a model may grow: as it was planned, or not at all where it has outgrown the plan for its classes."""
    most = sizes_within(max_bytes, shape)
    if model is None:
        return most
    sizes = sizes_of(model)
    return most if all(size <= limit for size, limit in zip(sizes, most, strict=True)) else sizes


def fitted(model: Model, shape: Shape, max_bytes: int) -> Sizes:
    """As much room as a model has, with fewer events where a new shape would take more than `max_bytes`."""
    sizes = sizes_of(model)
    needed = sum(array.nbytes for array in arrays_of(new_model(shape, sizes)).values()) + FEW_BYTES
    n_events = sizes.n_events - max(needed - max_bytes, 0) // (4 * (shape.n_columns + 2)) - 1
    if n_events < LEAST_EVENTS and needed > max_bytes:
        raise ValueError(f"max_bytes is {max_bytes}; these trees with {shape.n_values} classes need about {needed:,}")
    return sizes._replace(n_events=n_events) if needed > max_bytes else sizes


def new_work(model: Model, n_outputs: int) -> Work:
    """Room for trees of this shape; what it holds between two events means nothing.

    A leaf of a forest may note an event several times, so there is room for as many as are ever looked at.
    """
    n_trees, n_values, width = len(model.standby), model.forest.stats.shape[2], model.events.shape[1]
    reached = trees.lined((n_trees if n_trees == 1 else 2 * n_trees,), np.int32)
    copies = trees.lined((n_places(MOST_LOOKED_AT), width), np.float32)
    scratch = new_scratch(max(n_values, 3), width, copies, MOST_LOOKED_AT)
    return Work(reached, reached[:n_trees], trees.lined((n_trees,), np.int32), np.zeros(n_outputs), scratch)


def has_shape(work: Work, model: Model, n_outputs: int) -> bool:
    """Whether this room is for trees of this shape; their number never changes."""
    width, n_values = model.events.shape[1], max(model.forest.stats.shape[2], 3)
    same = len(work.one) == n_outputs and work.scratch.totals.shape[1] == n_values
    return same and work.scratch.events.shape[1] == width


def new_model(shape: Shape, sizes: Sizes) -> Model:
    """Nothing learned yet."""
    reserve(bytes_of(shape, sizes))
    roots = shape.n_roots
    forest = trees.new_forest(roots, shape.n_values, shape.is_name, sizes.n_nodes, sizes.n_blocks)
    counters = np.full(room.N_COUNTERS, trees.NOTHING, np.int64)
    counters[: trees.N_COUNTERS] = forest.counters
    counters[room.LAST_SWEEP] = 0
    n_leaves = len(forest.leaves)
    forest.leaves[:roots, trees.NEXT_CHECK] = shape.grace_period
    marks = np.zeros((n_leaves, N_MARKS), np.int32)
    marks[:, leaves.TABLE] = trees.NOTHING
    return Model(
        forest._replace(counters=counters, stats=np.zeros((n_leaves, N_ROWS, shape.n_values), np.float32)),
        trees.new_events(sizes.n_events, shape.n_columns),
        marks,
        np.zeros((n_leaves, N_GUESSERS), np.float32),
        bayes_kernels.new_bayes(sizes.n_tables, shape.n_values, shape.is_name),
        drift_kernels.new_windows(shape.n_trees),
        np.zeros((shape.n_trees, 2)),
        np.zeros(shape.n_trees, np.int32),
        np.zeros(shape.n_columns),
        np.zeros(leaves.N_MOMENTS),
    )


def bytes_of(shape: Shape, sizes: Sizes) -> int:
    """What a model takes, as it is planned."""
    n_leaves = sizes.n_nodes // 2 + shape.n_roots
    leaf_bytes = 4 * (trees.N_LEAF_FIELDS + N_ROWS * shape.n_values + N_MARKS + N_GUESSERS)
    n_places = int(np.where(shape.is_name, trees.N_CODES, bayes_kernels.N_PLACES).sum())
    table_bytes = 4 * (shape.n_columns * trees.MAX_CUTS + 1) + 4 * shape.n_values * n_places
    windows = 8 * drift_kernels.N_SIZES * (drift_kernels.N_BUCKETS + 2) * shape.n_trees
    found = 16 * sizes.n_nodes + n_leaves * leaf_bytes + sizes.n_blocks * 4 * trees.N_BLOCK_FIELDS + windows
    return found + sizes.n_events * 4 * (shape.n_columns + 2) + sizes.n_tables * table_bytes


def sizes_of(model: Model) -> Sizes:
    """How much room there is."""
    return Sizes(len(model.events), len(model.forest.nodes), len(model.forest.blocks), len(model.bayes.cuts))


def resized(model: Model, shape: Shape, sizes: Sizes) -> Model:
    """The same, with that much room and that many classes, neither less than now but for the oldest events."""
    larger = new_model(shape, sizes)
    forest, before = larger.forest, model.forest
    for name in ("nodes", "leaves", "stats", "blocks", "counters", "kinds"):
        _lay(getattr(before, name), getattr(forest, name))
    n_before, n_now = len(before.blocks), len(forest.blocks)
    if n_now > n_before:  # the new blocks come first among the free ones
        forest.blocks[n_before:, trees.BEFORE] = np.arange(n_before + 1, n_now + 1)
        forest.blocks[-1, trees.BEFORE] = before.counters[trees.FREE_BLOCK]
        forest.counters[trees.FREE_BLOCK] = n_before
        forest.counters[trees.N_FREE_BLOCKS] += n_now - n_before
    time = int(before.counters[trees.TIME])
    numbers = np.arange(max(time - min(len(model.events), sizes.n_events), 0), time)
    larger.events[numbers % sizes.n_events] = model.events[numbers % len(model.events)]
    for name in ("marks", "duels", "votes", "standby", "importances", "spread"):
        _lay(getattr(model, name), getattr(larger, name))
    for name in ("fills", "sums"):
        _lay(getattr(model.windows, name), getattr(larger.windows, name))
    for name in ("cuts", "logs"):
        _lay(getattr(model.bayes, name), getattr(larger.bayes, name))
    n_tables, n_free = len(model.bayes.cuts), int(model.bayes.free[0])
    more = np.arange(n_tables, len(larger.bayes.cuts))
    larger.bayes.free[0] = n_free + len(more)
    larger.bayes.free[1 : 1 + n_free + len(more)] = [*model.bayes.free[1 : 1 + n_free], *more]
    return larger


def _lay(small: NDArray[Any], large: NDArray[Any]) -> None:
    large[tuple(slice(size) for size in small.shape)] = small


def renumbered(model: Model) -> None:
    """Number the events anew once there were very many, in place."""
    counters = model.forest.counters
    less = trees.renumber(model.forest, len(model.events))
    counters[room.LAST_SWEEP] = max(0, int(counters[room.LAST_SWEEP]) - less)


def arrays_of(model: Model) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    found: dict[str, NDArray[Any]] = {}
    for name, part in model._asdict().items():
        if isinstance(part, np.ndarray):
            found[name] = part
        else:
            found |= {f"{name}.{inner}": each for inner, each in part._asdict().items() if inner not in trees.VIEWS}
    return found
