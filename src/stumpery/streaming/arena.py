"""The arena of a stream's trees: arrays that grow within `max_bytes`, and runs that go on after each growth."""

import logging
from functools import partial
from typing import Any

import numpy as np

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.arena import Arena
from stumpery.array_forest.precision import needs_double
from stumpery.array_forest.precision_kernels import DOUBLE
from stumpery.encoding.chunks import Rows, chunks
from stumpery.streaming import state as states
from stumpery.streaming.capacity import Capacity, StreamShape, max_capacity
from stumpery.streaming.trees.eviction_kernels import COUNTER_LAST_EVICTION
from stumpery.streaming.trees.hoeffding_kernels import GROWS, LEARNS, run
from stumpery.streaming.trees.state_kernels import StreamState, StreamWorkspace
from stumpery.types import Floats, RandomState

logger = logging.getLogger(__name__)


class StreamArena(Arena[StreamState, StreamWorkspace]):
    """The owner of the state of a stream's trees, which grows within `max_bytes`."""

    def __init__(
        self, max_bytes: int, shape: StreamShape, rng: RandomState, seed: int, state: StreamState | None = None
    ) -> None:
        self.max_bytes, self.shape = max_bytes, shape
        self._rng, self._seed = rng, np.uint64(seed)
        if state is None:
            state = states.new_state(shape, max_capacity(max_bytes, shape).initial(shape))
        super().__init__(state, states.new_workspace, states.is_workspace_for)
        self._limit: Capacity | None = None  # computed where it is needed first
        self._is_full = False

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

    def run_kernel(self, rule: Floats, rows: Rows, labels: Floats, weights: Floats, outputs: Floats, does: int) -> None:
        """Predict or learn rows in chunks, in place; arrays of another length than the rows are not read."""
        for part, chunk in chunks(rows):
            arrays = [array[part] if len(array) == len(rows) else array for array in (labels, weights, outputs)]
            if does & LEARNS:
                states.renumber_events(self.state)
            before = self.state.forest.counters[COUNTER_LAST_EVICTION]
            self.run(chunk, partial(self._process, rule, [chunk, *arrays], does), outputs.shape[1])
            if self.state.forest.counters[COUNTER_LAST_EVICTION] != before:
                logger.debug("old events were evicted: %d are stored", self.n_events)

    def _process(self, rule: Floats, arrays: list[Floats], does: int, state: Any, workspace: Any, start: int) -> int:
        """Run the kernel over a chunk's rows from `start` on; it may stop where it is allowed to ask for memory."""
        grows = GROWS if does & LEARNS and self._can_grow() else 0
        n = len(arrays[0])
        rest: list[Any] = [array[start:] if len(array) == n else array for array in arrays] if start else [*arrays]
        rest.append(does | grows)
        return int(run(state, workspace, rule, self._rng, self._seed, *rest))

    def grow(self, row: Floats) -> None:
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
        self._limit, self._is_full = states.growth_limit(state, shape, self.max_bytes), False

    def _can_grow(self) -> bool:
        if not self._is_full:
            capacity, limit = states.capacity_of(self.state), self._growth_limit()
            self._is_full = not any(size < most for size, most in zip(capacity[:3], limit[:3], strict=True))
        return not self._is_full

    def _growth_limit(self) -> Capacity:
        if self._limit is None:
            self._limit = states.growth_limit(self.state, self.shape, self.max_bytes)
        return self._limit
