"""Memory of the reward forest: growth within `max_bytes`, and reallocation between events and nodes."""

import logging
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.arena import Arena
from stumpery.array_forest.forest_kernels import CATEGORICAL, COUNTER_NODES, COUNTER_TIME, ForestState, resized
from stumpery.drift.reward_drop_kernels import DROP_CONCEPT_START, DROP_N_DRIFTS
from stumpery.errors import InvalidInput
from stumpery.policies.reward_forest.capacity import (
    BLOCK_BYTES,
    MAX_EVENTS,
    MAX_EXCESS,
    MIN_NODE_SHARE,
    RewardForestCapacity,
    capacity_within,
    event_bytes_of,
    n_blocks_for,
    node_bytes_of,
)
from stumpery.policies.reward_forest.policy_kernels import (
    CLOCK_EVENTS,
    CLOCK_FIRST_STORED,
    CLOCK_NEXT_REBALANCING,
    RewardForestState,
    RewardForestWorkspace,
)
from stumpery.policies.reward_forest.saving import arrays_of
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedScorer
from stumpery.policies.reward_forest.scorers.frequent_categories import n_entries_within, new_category_table
from stumpery.policies.reward_forest.scorers.frequent_categories_kernels import OTHER_CODE
from stumpery.policies.reward_forest.scorers.shared_model_kernels import SharedModel
from stumpery.policies.reward_forest.state import capacity_of, new_state, new_workspace
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths
from stumpery.types import Floats

NODE_RESERVE = 1.6  # times the nodes in use: trees grow on
MIN_EVENT_GROWTH = 1.05  # times the events: fewer more are not worth moving them

logger = logging.getLogger(__name__)


class RewardForestArena(Arena[RewardForestState, RewardForestWorkspace]):
    """The owner of a reward forest's state, which grows up to a maximum capacity within `max_bytes`."""

    def __init__(self, state: RewardForestState, n_trees: int, max_bytes: int) -> None:
        super().__init__(state, partial(new_workspace, n_trees=n_trees))
        self.n_trees, self._max_bytes = n_trees, max_bytes
        self._set_limit()

    @property
    def n_drifts(self) -> int:
        """The number of drifts detected so far."""
        return int(self.state.drift[DROP_N_DRIFTS])

    def renumber(self) -> None:
        """Renumber the events once there were very many, in place."""
        state = self.state
        if state.forest.counters[COUNTER_TIME] < trees.MAX_EVENT_NUMBER:
            return
        start = int(state.drift[DROP_CONCEPT_START])
        difference = trees.renumber(state.forest, len(state.ring.bytes), start)
        state.drift[DROP_CONCEPT_START] = max(start - difference, trees.NO_INDEX)

    def _set_limit(self) -> None:
        """Set the maximum capacity, and whether anything is below it; called whenever the state has been replaced."""
        self._limit = max_capacity(self.state, self.n_trees, self._max_bytes)
        self.may_grow = capacity_of(self.state).is_below(self._limit)

    def plan(self) -> None:
        """Plan the next rebalancing: one lap after a ring that cannot grow is full; in place."""
        n_events, clock = len(self.state.ring.bytes), self.state.clock
        can_grow = n_events < self._limit.n_events or n_events == MAX_EVENTS
        clock[CLOCK_NEXT_REBALANCING] = 0.0 if can_grow else max(clock[CLOCK_EVENTS], n_events) + n_events

    def grow(self, row: Floats) -> None:
        """Grow the arrays for an event: wider columns, frequent categories, more events, or twice the capacity."""
        before = self.state
        is_uncoded = (before.forest.kinds == CATEGORICAL) & (row > OTHER_CODE)
        widths = np.maximum(ring.widths_of(np.where(is_uncoded, OTHER_CODE, row)[None]), before.ring.widths)
        is_wider = (widths > before.ring.widths).any()
        if is_wider and before.forest.counters[COUNTER_TIME] == 0:
            is_categorical = before.forest.kinds == CATEGORICAL
            n_actions, models = before.forest.stats.shape[2], (before.shared_model, before.crossed)
            self.state = initial_state(self.n_trees, n_actions, is_categorical, widths, *models, self._max_bytes)
        elif is_wider:
            self.state = widened(before, widths, self.n_trees, self._max_bytes)
        elif is_uncoded.any() and not len(before.categories.hashes):
            self.state = with_categories(before, self._max_bytes)
        elif is_rebalancing_due(before):
            self.state = rebalanced(before, self.n_trees)
        else:
            self.state = grown(before, self._limit)
        self._set_limit()
        if len(self.state.ring.bytes) != len(before.ring.bytes) or self.state.forest.counters[COUNTER_TIME] == 0:
            self.plan()
        logger.debug("memory of the reward forest: %s of %s", capacity_of(self.state), self._limit)

    def replace(self, state: RewardForestState) -> None:
        """Take a state for other actions."""
        before, self.state = self.state, state
        try:
            self._set_limit()
        except ValueError:
            self.state = before
            raise
        if state.forest.counters[COUNTER_TIME] < len(state.ring.bytes):  # a ring that is full has its plan
            self.plan()


def initial_state(
    n_trees: int,
    n_actions: int,
    is_categorical: NDArray[np.bool_],
    widths: Widths,
    shared_model: SharedModel,
    crossed: CrossedScorer,
    max_bytes: int,
) -> RewardForestState:
    """The state of a forest that has learned nothing, for events whose columns take so many bytes."""
    n_features = shared_model.linear.shape[2]
    capacity = capacity_within(max_bytes, n_trees, n_actions, n_features, widths).initial(n_trees)
    return new_state(n_trees, n_actions, is_categorical, widths, capacity, shared_model, crossed)


def max_capacity(state: RewardForestState, n_trees: int, max_bytes: int) -> RewardForestCapacity:
    """The maximum capacity, with the slots and buckets of now; a ring that has lost events keeps its size.

    What events and blocks take beyond the plan is taken from the nodes. A ValueError says that there is far too much
    already, as when actions were added to a forest that was full.
    """
    n_actions, n_features = state.forest.stats.shape[2], state.shared_model.linear.shape[2]
    limit = capacity_within(max_bytes, n_trees, n_actions, n_features, state.ring.widths, capacity_of(state))
    n_bytes = sum(array.nbytes for array in arrays_of(state).values())
    if n_bytes > MAX_EXCESS * max_bytes:
        raise InvalidInput(
            f"max_bytes is {max_bytes}; {n_trees} trees with what they have learned need {n_bytes:,} for {n_actions} "
            f"actions, more than {MAX_EXCESS} times as much"
        )
    n_kept, event_bytes = len(state.ring.bytes), ring.event_bytes(state.ring.widths)
    has_lost = state.forest.counters[COUNTER_TIME] > n_kept
    n_events = n_kept if has_lost else max(_max_events(state, state.ring.widths, limit), n_kept)
    n_blocks, node_bytes = max(len(state.forest.blocks), limit.n_blocks), node_bytes_of(n_actions)
    unplanned = (n_events - limit.n_events) * event_bytes + (n_blocks - limit.n_blocks) * BLOCK_BYTES
    n_nodes = max(len(state.forest.nodes), min(limit.n_nodes, int(limit.n_nodes - unplanned / node_bytes)))
    return limit._replace(n_events=n_events, n_nodes=n_nodes)


def _max_events(state: RewardForestState, widths: Widths, limit: RewardForestCapacity) -> int:
    """The maximum of events if surplus blocks stay, which are never given back."""
    surplus = max(len(state.forest.blocks) - limit.n_blocks, 0) * BLOCK_BYTES
    return limit.n_events - math.ceil(surplus / ring.event_bytes(widths))


def grown(state: RewardForestState, limit: RewardForestCapacity) -> RewardForestState:
    """The state with twice the capacity, within a limit."""
    doubled = [max(n, min(2 * n, max_events)) for n, max_events in zip(capacity_of(state), limit, strict=True)]
    return with_capacity(state, RewardForestCapacity(*doubled))


def with_capacity(state: RewardForestState, capacity: RewardForestCapacity) -> RewardForestState:
    """The state with a larger capacity of events, nodes and blocks."""
    events = ring.ring_over(resized(state.ring.bytes, capacity.n_events), state.ring.widths)
    return state._replace(forest=_forest_with_capacity(state.forest, capacity), ring=events)


def widened(state: RewardForestState, widths: Widths, n_trees: int, max_bytes: int) -> RewardForestState:
    """The state with wider columns; a ring that would become too large keeps the latest events."""
    n_actions, n_features = state.forest.stats.shape[2], state.shared_model.linear.shape[2]
    limit = capacity_within(max_bytes, n_trees, n_actions, n_features, widths, capacity_of(state))
    n_now = len(state.ring.bytes)
    in_as_many_bytes = n_now * ring.event_bytes(state.ring.widths) // ring.event_bytes(widths)
    n_events = min(n_now, max(_max_events(state, widths, limit), in_as_many_bytes))
    time = int(state.forest.counters[COUNTER_TIME])
    return state._replace(ring=ring.with_layout(state.ring, widths, n_events, time))


def with_categories(state: RewardForestState, max_bytes: int) -> RewardForestState:
    """The state with a table of frequent categories, and rows for them in the linear and residual scorers."""
    n_actions, n_bytes = state.forest.stats.shape[2], sum(array.nbytes for array in arrays_of(state).values())
    n_entries = n_entries_within(max_bytes, n_bytes, n_actions)
    n_rows = len(state.linear) + n_entries
    return state._replace(
        linear=resized(state.linear, n_rows),
        fast_linear=resized(state.fast_linear, n_rows),
        residual=resized(state.residual, n_rows),
        categories=new_category_table(n_entries),
    )


def is_rebalancing_due(state: RewardForestState) -> bool:
    """Whether it is time to see how many nodes the events need."""
    return bool(0.0 < state.clock[CLOCK_NEXT_REBALANCING] <= state.clock[CLOCK_EVENTS])


def rebalanced(state: RewardForestState, n_trees: int) -> RewardForestState:
    """The state with more events where nodes do not need their memory.

    There will be as many nodes for each event as now, and some to spare, but at least a quarter of the memory is for
    nodes. A longer ring does not have the events that were lost before: it begins with those of now.
    """
    forest, n_events = state.forest, len(state.ring.bytes)
    node_bytes, event_bytes = node_bytes_of(forest.stats.shape[2]), event_bytes_of(state.ring.widths, n_trees)
    needed = NODE_RESERVE * int(forest.counters[COUNTER_NODES]) / n_events  # nodes for an event
    whole = n_events * event_bytes + len(forest.nodes) * node_bytes
    max_events = min(
        whole / (event_bytes + needed * node_bytes), (1.0 - MIN_NODE_SHARE) * whole / event_bytes, MAX_EVENTS
    )
    clock = state.clock.copy()
    clock[CLOCK_NEXT_REBALANCING] = 0.0
    if max_events < MIN_EVENT_GROWTH * n_events:
        return state._replace(clock=clock)
    n_more = int(max_events)
    n_nodes = int((whole - n_more * event_bytes) / node_bytes)
    n_blocks = max(n_blocks_for(n_trees, n_more), len(forest.blocks))  # a ring that was longer once had more
    capacity = capacity_of(state)._replace(n_events=n_more, n_nodes=n_nodes, n_blocks=n_blocks)
    clock[CLOCK_FIRST_STORED] = max(clock[CLOCK_FIRST_STORED], clock[CLOCK_EVENTS] - n_events)
    events = ring.with_layout(state.ring, state.ring.widths, n_more, int(forest.counters[COUNTER_TIME]))
    return state._replace(forest=_forest_with_capacity(forest, capacity), ring=events, clock=clock)


def _forest_with_capacity(forest: ForestState, capacity: RewardForestCapacity) -> ForestState:
    """The trees with another capacity; nodes that were never in use may go, blocks may not."""
    nodes = resized(forest.nodes, capacity.n_nodes)
    n_leaves = len(forest.leaves) - len(forest.nodes) // 2 + capacity.n_nodes // 2
    before = len(forest.blocks)
    blocks = resized(forest.blocks, capacity.n_blocks)
    counters = forest.counters.copy()
    if capacity.n_blocks > before:  # the new blocks come first among the free ones
        blocks[before:, trees.BLOCK_PREVIOUS] = np.arange(before + 1, capacity.n_blocks + 1)
        blocks[-1, trees.BLOCK_PREVIOUS] = counters[trees.COUNTER_FREE_BLOCK]
        counters[trees.COUNTER_FREE_BLOCK] = before
        counters[trees.COUNTER_FREE_BLOCKS] += capacity.n_blocks - before
    return ForestState(
        nodes,
        *trees.node_views(nodes),
        resized(forest.leaves, n_leaves),
        resized(forest.stats, n_leaves),
        blocks,
        counters,
        forest.kinds,
    )
