"""The arena of a stream's trees: arrays that grow within `max_bytes`, and runs that go on after each growth."""

import logging
from typing import Any, NamedTuple

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.precision import needs_double
from stumpery.array_forest.precision_kernels import DOUBLE
from stumpery.array_forest.workspaces import WorkspacePool, pinned_memory
from stumpery.encoding.chunks import Rows, chunks
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.streaming import state as states
from stumpery.streaming.capacity import Capacity, StreamShape, max_capacity
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.hoeffding_kernels import GROWS, LEARNS, PREDICTS, run
from stumpery.streaming.trees.state_kernels import RULE_CRITERION, StreamState
from stumpery.types import Floats, RandomState

logger = logging.getLogger(__name__)


class RowBuffers(NamedTuple):
    """What the kernel takes for a single row, kept for the next one: no allocation, and nothing is pinned again."""

    memory: Any  # the state and a workspace, pinned
    rows: Floats  # (1, columns)
    labels: Floats  # (1,)
    weights: Floats  # (1,)
    outputs: Floats  # (1, outputs)


class StreamArena:
    """The arrays of trees, which are replaced by larger ones where the kernel stops for want of memory."""

    def __init__(
        self,
        max_bytes: int,
        shape: StreamShape,
        rule: Floats,
        rng: RandomState,
        seed: int,
        state: StreamState | None = None,
    ) -> None:
        self.max_bytes, self.shape = max_bytes, shape
        self._rule, self._rng, self._seed = rule, rng, np.uint64(seed)
        if state is None:
            state = states.new_state(shape, max_capacity(max_bytes, shape).initial(shape))
        self._limit: Capacity | None = None  # computed where it is needed first
        self.state = state

    @property
    def state(self) -> StreamState:
        """The arrays; they change as the kernel runs."""
        return self._state

    @state.setter
    def state(self, state: StreamState) -> None:
        self._state = state
        self._buffers: WorkspacePool[RowBuffers] = WorkspacePool()
        self._may_grow: bool | None = None

    @property
    def n_outputs(self) -> int:
        """The length of a prediction: one number, or a probability for each class."""
        return 1 if self._rule[RULE_CRITERION] == VARIANCE else self.shape.n_values

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
        buffers = self._buffers.take(self._new_buffers)
        encoder.encode_into(row, buffers.rows)
        self._run_row(buffers, PREDICTS)
        outputs: list[float] = buffers.outputs[0].tolist()
        self._buffers.give_back(buffers)
        return outputs

    def learn_row(self, encoder: OnlineEncoder, row: Any, label: float, weight: float) -> bool:
        """Learn one ordinary row; False if the encoder refuses to write it, and nothing changed."""
        buffers = self._buffers.take(self._new_buffers)
        is_written = encoder.write_plain(row, buffers.rows)
        if is_written:
            buffers.labels[0], buffers.weights[0] = label, weight
            states.renumber_events(self._state)
            if self._run_row(buffers, LEARNS | (GROWS if self._can_grow() else 0)) == 0:  # memory must grow first
                self.run(*buffers[1:], LEARNS)
                return True
        self._buffers.give_back(buffers)
        return is_written

    def _run_row(self, buffers: RowBuffers, does: int) -> int:
        memory, rows, labels, weights, outputs = buffers
        n: int = run(memory, self._rule, self._rng, self._seed, rows, labels, weights, outputs, does)
        return n

    def _new_buffers(self) -> RowBuffers:
        memory = pinned_memory(self._state, states.new_workspace(self._state, self.n_outputs))
        return RowBuffers(
            memory, np.empty((1, self.shape.n_columns)), np.empty(1), np.empty(1), np.empty((1, self.n_outputs))
        )

    def run(self, rows: Rows, labels: Floats, weights: Floats, outputs: Floats, does: int) -> None:
        """Predict or learn rows in chunks, in place; arrays of another length than the rows are not read."""
        for part, chunk in chunks(rows):
            arrays = [array[part] if len(array) == len(rows) else array for array in (labels, weights, outputs)]
            self._run_chunk([chunk, *arrays], does)

    def _run_chunk(self, arrays: list[Any], does: int) -> None:
        """Run the kernel over a chunk, and again where it has stopped for want of memory."""
        if does & LEARNS:
            states.renumber_events(self.state)
        n, n_done = len(arrays[0]), 0
        while n_done < n:
            grows = GROWS if does & LEARNS and self._can_grow() else 0
            rest = [array[n_done:] if len(array) == n else array for array in arrays] if n_done else list(arrays)
            rest.append(does | grows)
            buffers = self._buffers.take(self._new_buffers)
            n_done += run(buffers.memory, self._rule, self._rng, self._seed, *rest)
            self._buffers.give_back(buffers)
            if n_done < n:
                self._grow(arrays[0][n_done])

    def _grow(self, row: Floats) -> None:
        """Make room for one more event with these values: wider columns, or twice the capacity."""
        is_wider = needs_double(row) & (self.shape.widths != DOUBLE)
        if is_wider.any():
            shape = self.shape._replace(widths=np.where(is_wider, DOUBLE, self.shape.widths).astype(np.uint8))
            logger.debug("columns %s become 64 bits wide", np.flatnonzero(is_wider).tolist())
            self._replace(states.widened(self.state, shape, self.max_bytes), shape)
        else:
            capacity = states.capacity_of(self.state).doubled(self._growth_limit())
            logger.debug("memory grows to %s", capacity)
            self.state = states.resized(self.state, self.shape, capacity)

    def _replace(self, state: StreamState, shape: StreamShape) -> None:
        self.state, self.shape = state, shape
        self._limit = states.growth_limit(state, shape, self.max_bytes)

    def _can_grow(self) -> bool:
        if self._may_grow is None:
            capacity, limit = states.capacity_of(self._state), self._growth_limit()
            self._may_grow = any(size < most for size, most in zip(capacity[:3], limit[:3], strict=True))
        return self._may_grow

    def _growth_limit(self) -> Capacity:
        if self._limit is None:
            self._limit = states.growth_limit(self.state, self.shape, self.max_bytes)
        return self._limit
