"""Memory plan of a stream's trees: the capacity for events, nodes, blocks and tables within `max_bytes`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import DOUBLE, SINGLE
from stumpery.array_forest.forest_kernels import GAPS_PER_BLOCK
from stumpery.drift import adaptive_window_kernels as adaptive_windows
from stumpery.errors import InvalidInput
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.state_kernels import N_FLAGS, N_LEAF_PREDICTORS, N_STAT_ROWS

INITIAL_EVENTS, INITIAL_NODES, INITIAL_TABLES = 4096, 256, 16
PLANNED_CLASSES = 16  # memory is planned for this number of classes, or twice, four times, ... as many
MAX_EVENTS = 2**20
MIN_EVENTS = 256
MAX_TABLES = 4096
EVENTS_SHARE = 0.85  # of the memory; the rest is for nodes and leaves


class StreamShape(NamedTuple):
    """The shape of a model's arrays; it changes with the classes, and with columns that turn out to need more."""

    n_trees: int
    is_categorical: NDArray[np.bool_]
    n_values: int  # in a row of a leaf's statistics: classes, or moments of numbers
    times: float  # mean number of times that a tree learns an event
    grace_period: int
    has_tables: bool  # for naive Bayes
    widths: NDArray[np.uint8]  # of the columns, in bytes

    @property
    def n_roots(self) -> int:
        """The trees, and in a forest as many background trees."""
        return self.n_trees if self.n_trees == 1 else 2 * self.n_trees

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.is_categorical)

    @property
    def n_doubles(self) -> int:
        """The number of columns of 64 bits."""
        return int((self.widths == DOUBLE).sum())

    @property
    def row_bytes(self) -> int:
        """The size of a stored event."""
        return SINGLE * (self.n_columns + 2) + DOUBLE * self.n_doubles

    @property
    def table_bytes(self) -> int:
        """The size of a naive Bayes table, as planned."""
        n_bins = int(np.where(self.is_categorical, forests.MAX_CODES, naive_bayes.N_BINS).sum())
        n_cuts = SINGLE * self.n_columns + DOUBLE * self.n_doubles
        return n_cuts * forests.MAX_THRESHOLDS + 4 * (1 + n_bins * planned_classes(self.n_values))

    @property
    def leaf_bytes(self) -> int:
        """The size of a leaf."""
        return 4 * (forests.N_LEAF_FIELDS + N_STAT_ROWS * self.n_values + N_FLAGS + N_LEAF_PREDICTORS)

    @property
    def window_bytes(self) -> int:
        """The size of the drift detectors."""
        return 8 * adaptive_windows.N_SIZES * (adaptive_windows.MAX_BUCKETS + 2) * self.n_trees

    def is_like(self, other: "StreamShape") -> bool:
        """Whether another shape has the same kinds of columns and as many classes."""
        return self.n_values == other.n_values and bool((self.is_categorical == other.is_categorical).all())


class Capacity(NamedTuple):
    """The number of events, nodes, blocks and tables that arrays have capacity for."""

    n_events: int
    n_nodes: int
    n_blocks: int
    n_tables: int

    def initial(self, shape: StreamShape) -> Self:
        """The capacity to start with: small, and independent of the number of classes."""
        small = Capacity(
            INITIAL_EVENTS, shape.n_roots + INITIAL_NODES, INITIAL_EVENTS // 8 * shape.n_trees, INITIAL_TABLES
        )
        return type(self)(*(min(size, limit) for size, limit in zip(small, self, strict=True)))

    def doubled(self, maximum: Self) -> Self:
        """Twice the capacity, within `most`."""
        return type(self)(*(max(size, min(2 * size, limit)) for size, limit in zip(self, maximum, strict=True)))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], max_bytes: int) -> Self:
        """The capacity of saved arrays; a ValueError says that there is none, or that it exceeds `max_bytes`."""
        names = ("events", "forest.nodes", "forest.blocks", "bayes.cuts")
        capacity = cls(*(len(arrays[name]) if name in arrays and arrays[name].ndim else 0 for name in names))
        if 0 in capacity[:3] or sum(array.nbytes for array in arrays.values()) > 2 * max_bytes:
            raise InvalidInput(
                f"its arrays have the capacity {tuple(capacity)}, which does not match its max_bytes of {max_bytes}"
            )
        return capacity


def planned_classes(n_values: int) -> int:
    """The number of classes that memory is planned for."""
    n_planned = PLANNED_CLASSES
    while n_planned < n_values:
        n_planned *= 2
    return n_planned


def max_capacity(max_bytes: int, shape: StreamShape) -> Capacity:
    """The capacity that fits: a quarter of the bytes for tables if any, `EVENTS_SHARE` of the rest for events.

    What is enough for columns of 32 bits is enough when some turn out to need 64.
    """
    n_values = planned_classes(shape.n_values)
    shape = shape._replace(n_values=n_values)
    n_tables = min(int(max_bytes / 4 / shape.table_bytes), MAX_TABLES) if shape.has_tables else 0
    fixed_bytes = shape.window_bytes + 8 * shape.n_columns + 1024
    left = 0.97 * max_bytes - n_tables * shape.table_bytes - fixed_bytes
    node_bytes = 16 + shape.leaf_bytes / 2
    root_bytes = shape.n_roots * (16 + shape.leaf_bytes)
    per_event = shape.n_trees * max(shape.times, 1.0) * 1.5 / GAPS_PER_BLOCK
    event_bytes = shape.row_bytes + per_event * 4 * forests.N_BLOCK_FIELDS
    n_events = min(int((left - root_bytes) * EVENTS_SHARE / event_bytes), MAX_EVENTS)
    n_nodes = int((left - root_bytes) * (1.0 - EVENTS_SHARE) / node_bytes)
    if shape.n_doubles == 0 and (n_events < MIN_EVENTS or n_nodes < 4 * shape.n_roots):
        events, nodes = MIN_EVENTS * event_bytes / EVENTS_SHARE, 4 * shape.n_roots * node_bytes / (1.0 - EVENTS_SHARE)
        least = max(events, nodes) + root_bytes
        needed = int((least + fixed_bytes) / 0.97 * (4 / 3 if shape.has_tables else 1)) + 1
        raise InvalidInput(
            f"max_bytes is {max_bytes}; {shape.n_trees} trees over {shape.n_columns} columns and "
            f"{n_values} classes need about {needed:,}"
        )
    n_nodes = shape.n_roots + min(n_nodes, int(shape.n_trees * max(shape.times, 1.0) * n_events / 2)) // 2 * 2
    return Capacity(n_events, n_nodes, int(n_events * per_event) + shape.n_roots, n_tables)
