"""How much memory a stream's trees may take: events, nodes, blocks and tables within `max_bytes`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK
from stumpery.array_forest.precision_kernels import DOUBLE, SINGLE
from stumpery.drift import adaptive_window_kernels as adaptive_windows
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.leaf_predictors_kernels import N_FLAGS, N_LEAF_PREDICTORS, N_STAT_ROWS

INITIAL_EVENTS, INITIAL_NODES, INITIAL_TABLES = 4096, 256, 16
PLANNED_CLASSES = 16  # for which memory is planned, or twice, four times, ... as many
MAX_EVENTS = 2**20
MIN_EVENTS = 256
MAX_TABLES = 4096
EVENTS_SHARE = 0.85  # of the memory; the rest is for nodes and leaves


class StreamShape(NamedTuple):
    """What a model is made for; it changes only with the classes and with columns that need 64 bits."""

    n_trees: int
    is_categorical: NDArray[np.bool_]
    n_values: int  # classes, or moments of numbers
    times: float  # how often a tree sees an event on average
    grace_period: int
    has_tables: bool
    widths: NDArray[np.uint8]  # of the columns, in bytes

    @property
    def n_roots(self) -> int:
        """Trees, and places in the background for as many."""
        return self.n_trees if self.n_trees == 1 else 2 * self.n_trees

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return len(self.is_categorical)

    @property
    def n_doubles(self) -> int:
        """Columns of 64 bits."""
        return int((self.widths == DOUBLE).sum())

    @property
    def row_bytes(self) -> int:
        """What a remembered row takes."""
        return SINGLE * (self.n_columns + 2) + DOUBLE * self.n_doubles

    @property
    def table_bytes(self) -> int:
        """What a table for naive Bayes takes."""
        n_places = int(np.where(self.is_categorical, forests.MAX_CODES, naive_bayes.N_BINS).sum())
        n_cuts = SINGLE * self.n_columns + DOUBLE * self.n_doubles
        return n_cuts * forests.MAX_CUTS + 4 * (1 + n_places * planned_classes(self.n_values))


class Capacity(NamedTuple):
    """How many events, nodes, blocks and tables there is room for."""

    n_events: int
    n_nodes: int
    n_blocks: int
    n_tables: int

    def first(self, shape: "StreamShape") -> Self:
        """Where to start: little, and the same whatever the classes are."""
        some = Capacity(
            INITIAL_EVENTS, shape.n_roots + INITIAL_NODES, INITIAL_EVENTS // 8 * shape.n_trees, INITIAL_TABLES
        )
        return type(self)(*(min(size, limit) for size, limit in zip(some, self, strict=True)))

    def doubled(self, most: "Capacity") -> Self:
        """Twice as much, within `most`."""
        return type(self)(*(max(size, min(2 * size, limit)) for size, limit in zip(self, most, strict=True)))

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], max_bytes: int) -> "Capacity":
        """The sizes of saved arrays; a ValueError says that they are none, or more than they may be."""
        names = ("events", "forest.nodes", "forest.blocks", "bayes.cuts")
        found = Capacity(*(len(arrays[name]) if name in arrays and arrays[name].ndim else 0 for name in names))
        if 0 in found[:3] or sum(array.nbytes for array in arrays.values()) > 2 * max_bytes:
            raise ValueError(
                f"its arrays have room for {tuple(found)}, which does not fit its max_bytes of {max_bytes}"
            )
        return found


def planned_classes(n_values: int) -> int:
    """For how many classes memory is planned."""
    n_planned = PLANNED_CLASSES
    while n_planned < n_values:
        n_planned *= 2
    return n_planned


def max_capacity(max_bytes: int, shape: StreamShape) -> Capacity:
    """The most that fits: a quarter for tables if there are any, of the rest `FOR_EVENTS` for events.

    What is enough for columns of 32 bits is enough when some turn out to need 64.
    """
    n_values = planned_classes(shape.n_values)
    n_tables = min(int(max_bytes / 4 / shape.table_bytes), MAX_TABLES) if shape.has_tables else 0
    own = 8 * adaptive_windows.N_SIZES * (adaptive_windows.MAX_BUCKETS + 2) * shape.n_trees + 8 * shape.n_columns + 1024
    left = 0.97 * max_bytes - n_tables * shape.table_bytes - own
    leaf_bytes = 4 * (forests.N_LEAF_FIELDS + N_STAT_ROWS * n_values + N_FLAGS + N_LEAF_PREDICTORS)
    node_bytes = 16 + leaf_bytes / 2
    first_bytes = shape.n_roots * (16 + leaf_bytes)
    per_event = shape.n_trees * max(shape.times, 1.0) * 1.5 / GAPS_PER_BLOCK
    event_bytes = shape.row_bytes + per_event * 4 * forests.N_BLOCK_FIELDS
    n_events = min(int((left - first_bytes) * EVENTS_SHARE / event_bytes), MAX_EVENTS)
    n_nodes = int((left - first_bytes) * (1.0 - EVENTS_SHARE) / node_bytes)
    if shape.n_doubles == 0 and (n_events < MIN_EVENTS or n_nodes < 4 * shape.n_roots):
        events, nodes = MIN_EVENTS * event_bytes / EVENTS_SHARE, 4 * shape.n_roots * node_bytes / (1.0 - EVENTS_SHARE)
        least = max(events, nodes) + first_bytes
        needed = int((least + own) / 0.97 * (4 / 3 if shape.has_tables else 1)) + 1
        raise ValueError(
            f"max_bytes is {max_bytes}; {shape.n_trees} trees over {shape.n_columns} columns and "
            f"{n_values} classes need about {needed:,}"
        )
    n_nodes = shape.n_roots + min(n_nodes, int(shape.n_trees * max(shape.times, 1.0) * n_events / 2)) // 2 * 2
    return Capacity(n_events, n_nodes, int(n_events * per_event) + shape.n_roots, n_tables)
