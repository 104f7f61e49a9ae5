"""The arena of a stream's trees: arrays that grow within `max_bytes`; a run continues after each growth."""

import logging
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.arena import Arena
from stumpery.array_forest.binning_kernels import DOUBLE
from stumpery.array_forest.precision import needs_double
from stumpery.encoding.chunks import Rows, chunks
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.streaming import state as states
from stumpery.streaming.capacity import Capacity, StreamShape, max_capacity
from stumpery.streaming.trees.hoeffding_kernels import GROWS, LEARNS, PREDICTS, run
from stumpery.streaming.trees.split_search_kernels import VARIANCE
from stumpery.streaming.trees.state_kernels import COUNTER_LAST_EVICTION, OPTION_CRITERION, StreamState, StreamWorkspace
from stumpery.types import Floats, RandomState

logger = logging.getLogger(__name__)

StreamMemory = forests.ForestMemory[StreamState, StreamWorkspace]


class RowBuffers(NamedTuple):
    """What the kernel takes for a single row, kept for the next one: no allocation, and nothing is pinned again."""

    memory: StreamMemory  # pinned
    rows: Floats  # (1, columns)
    labels: Floats  # (1,)
    weights: Floats  # (1,)
    outputs: Floats  # (1, outputs)


class StreamArena(Arena[StreamState, StreamWorkspace]):
    """The owner of the state of a stream's trees, which grows within `max_bytes`."""

    def __init__(
        self,
        max_bytes: int,
        shape: StreamShape,
        options: Floats,
        rng: RandomState,
        seed: int,
        state: StreamState | None = None,
    ) -> None:
        self.max_bytes, self.shape = max_bytes, shape
        self._options, self._rng, self._seed = options, rng, np.uint64(seed)
        if state is None:
            state = states.new_state(shape, max_capacity(max_bytes, shape).initial(shape))
        super().__init__(state, states.new_workspace)
        self._limit: Capacity | None = None  # computed where it is needed first
        self._may_grow: bool | None = None

    @property
    def n_outputs(self) -> int:
        """The length of a prediction: one number, or a probability for each class."""
        return 1 if self._options[OPTION_CRITERION] == VARIANCE else self.shape.n_values

    @property
    def n_events(self) -> int:
        """The number of stored events."""
        return min(int(self.state.forest.counters[forests.COUNTER_TIME]), len(self.state.events))

    def check_shape(self, shape: StreamShape) -> None:
        """Refuse a shape that does not fit into `max_bytes`; nothing changes."""
        if not shape.is_like(self.shape):
            max_capacity(self.max_bytes, shape)
            states.reduced_capacity(self.state, shape, self.max_bytes)

    def reshape(self, shape: StreamShape) -> None:
        """Take another shape, for more classes or other columns; the oldest events go where memory is short."""
        turned = shape.is_categorical & ~self.shape.is_categorical  # columns without a value before
        self.state.forest.kinds[turned] = forests.CATEGORICAL
        self.state.events[:, :-2][:, turned] = 0.0
        capacity = states.reduced_capacity(self.state, shape, self.max_bytes)
        if capacity.n_events < len(self.state.events):
            logger.info("%d events are kept instead of %d", capacity.n_events, len(self.state.events))
        self._replace(states.resized(self.state, shape, capacity), shape)

    def predict_row(self, encoder: OnlineEncoder, row: Any) -> list[float]:
        """The outputs of one row of any kind."""
        buffers = self._pool.take(self._new_buffers)
        encoder.encode_into(row, buffers.rows)
        self._run_row(buffers, PREDICTS)
        outputs: list[float] = buffers.outputs[0].tolist()
        self._pool.give_back(buffers)
        return outputs

    def learn_row(self, encoder: OnlineEncoder, row: Any, label: float, weight: float) -> bool:
        """Learn one ordinary row; False if the encoder refuses to write it, and nothing changed."""
        buffers = self._pool.take(self._new_buffers)
        is_written = encoder.write_plain(row, buffers.rows)
        if is_written:
            buffers.labels[0], buffers.weights[0] = label, weight
            states.renumber_events(self._state)
            if self._run_row(buffers, LEARNS | (GROWS if self._can_grow() else 0)) == 0:  # memory must grow first
                self.run_kernel(buffers.rows, buffers.labels, buffers.weights, buffers.outputs, LEARNS)
                return True
        self._pool.give_back(buffers)
        return is_written

    def _run_row(self, buffers: RowBuffers, mode: int) -> int:
        memory, rows, labels, weights, outputs = buffers
        n: int = run(memory, self._options, self._rng, self._seed, rows, labels, weights, outputs, mode)
        return n

    def _new_buffers(self) -> RowBuffers:
        rows, outputs = np.empty((1, self.shape.n_columns)), np.empty((1, self.n_outputs))
        return RowBuffers(self._new_memory(), rows, np.empty(1), np.empty(1), outputs)

    def run_kernel(self, rows: Rows, labels: Floats, weights: Floats, outputs: Floats, mode: int) -> None:
        """Predict or learn rows in chunks, in place; arrays of another length than the rows are not read."""
        for part, chunk in chunks(rows):
            arrays = [array[part] if len(array) == len(rows) else array for array in (labels, weights, outputs)]
            if mode & LEARNS:
                states.renumber_events(self.state)
            before = self.state.forest.counters[COUNTER_LAST_EVICTION]
            self.run(chunk, partial(self._process, [chunk, *arrays], mode))
            if self.state.forest.counters[COUNTER_LAST_EVICTION] != before:
                logger.debug("old events were evicted: %d are stored", self.n_events)

    def _process(self, arrays: list[Floats], mode: int, memory: StreamMemory, start: int) -> int:
        """Run the kernel over a chunk's rows from `start` on; it stops early only where the arrays can grow."""
        n = len(arrays[0])
        rest: list[Any] = [array[start:] if len(array) == n else array for array in arrays] if start else [*arrays]
        rest.append(mode | (GROWS if mode & LEARNS and self._can_grow() else 0))
        return int(run(memory, self._options, self._rng, self._seed, *rest))

    def grow(self, row: Floats) -> None:
        """Grow the arrays for one more event with these values: wider columns, or twice the capacity."""
        is_wider = needs_double(row) & (self.shape.widths != DOUBLE)
        if is_wider.any():
            shape = self.shape._replace(widths=np.where(is_wider, DOUBLE, self.shape.widths).astype(np.uint8))
            logger.debug("columns %s become 64 bits wide", np.flatnonzero(is_wider).tolist())
            self._replace(states.widened(self.state, shape, self.max_bytes), shape)
        else:
            capacity = states.capacity_of(self.state).doubled(self._growth_limit())
            logger.debug("memory grows to %s", capacity)
            self.state, self._may_grow = states.resized(self.state, self.shape, capacity), None

    def _replace(self, state: StreamState, shape: StreamShape) -> None:
        self.state, self.shape = state, shape
        self._limit, self._may_grow = states.growth_limit(state, shape, self.max_bytes), None

    def _can_grow(self) -> bool:
        if self._may_grow is None:
            capacity, limit = states.capacity_of(self._state), self._growth_limit()
            self._may_grow = any(size < most for size, most in zip(capacity[:3], limit[:3], strict=True))
        return self._may_grow

    def _growth_limit(self) -> Capacity:
        if self._limit is None:
            self._limit = states.growth_limit(self.state, self.shape, self.max_bytes)
        return self._limit
