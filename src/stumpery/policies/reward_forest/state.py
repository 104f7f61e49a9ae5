"""The reward forest's memory: how it grows, is laid out and shared anew, and how it follows the actions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.array_forest.scratch_kernels import new_scratch, scratch_size
from stumpery.drift import reward_drop_kernels as reward_drop
from stumpery.policies.reward_forest.capacity import (
    BLOCK_BYTES,
    MAX_EVENTS,
    MAX_EXCESS,
    MIN_NODE_SHARE,
    RewardForestCapacity,
    capacity_within,
    event_bytes_of,
    leaf_bytes_of,
    n_blocks_for,
    node_bytes_of,
)
from stumpery.policies.reward_forest.policy_kernels import (
    CLOCK_EVENTS,
    CLOCK_FIRST_STORED,
    CLOCK_NEXT_REBALANCING,
    INITIAL_WEIGHTS,
    N_SCORERS,
    RewardForestState,
    RewardForestWorkspace,
)
from stumpery.policies.reward_forest.scorers import binning_kernels as binning
from stumpery.policies.reward_forest.scorers import codes_kernels as feature_codes
from stumpery.policies.reward_forest.scorers import linear_kernels
from stumpery.policies.reward_forest.scorers.context_memory import BUCKET_BYTES, memory_with_actions, new_context_memory
from stumpery.policies.reward_forest.scorers.shrinkage_kernels import FeatureSums, SharedModel
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths
from stumpery.policies.reward_forest.trees.ring_kernels import EVENT_ACTION
from stumpery.system.allocation import reserve
from stumpery.types import Floats

NODE_RESERVE = 1.6  # times the nodes in use: trees grow on
MIN_EVENT_GROWTH = 1.05  # times the events: fewer more are not worth moving them


def new_shared_model(n_columns: int, features: Floats, strength: float) -> SharedModel:
    """The scorer that actions share; `features` has a row for each of them, or nothing."""
    reserve(2 * 4 * (n_columns + 1) * feature_codes.CODES_PER_COLUMN * features.shape[-1])
    return SharedModel(
        features,
        linear_kernels.new_linear((n_columns + 1) * feature_codes.CODES_PER_COLUMN, features.shape[-1]),
        strength,
    )


def new_state(
    n_trees: int,
    n_actions: int,
    is_categorical: NDArray[np.bool_],
    widths: Widths,
    sizes: RewardForestCapacity,
    shared: SharedModel,
) -> RewardForestState:
    """Nothing learned yet."""
    n_columns = len(is_categorical)
    n_codes = (n_columns + 1) * feature_codes.CODES_PER_COLUMN
    leaf_bytes, slots = leaf_bytes_of(n_actions), 3 * n_codes + sizes.n_slots
    reserve(
        sizes.n_events * ring.event_bytes(widths)
        + 16 * sizes.n_nodes
        + (sizes.n_nodes // 2 + n_trees) * leaf_bytes
        + sizes.n_blocks * BLOCK_BYTES
        + 2 * 4 * n_actions * slots
        + sizes.n_buckets * BUCKET_BYTES
    )
    return RewardForestState(
        trees.new_forest(n_trees, n_actions, is_categorical, sizes.n_nodes, sizes.n_blocks),
        ring.new_ring(sizes.n_events, widths),
        linear_kernels.new_linear(n_codes, n_actions),
        linear_kernels.new_linear(sizes.n_slots, n_actions),
        linear_kernels.new_linear(n_codes, n_actions),
        linear_kernels.new_linear(n_codes, n_actions),
        np.full((n_columns, binning.N_BINS - 1), np.inf),
        np.zeros((N_SCORERS - 1, N_SCORERS)),
        np.array(INITIAL_WEIGHTS),
        np.array([0.0, 0.0, binning.FIRST_BINNING, 0.0, 0.0]),
        shared,
        new_context_memory(sizes.n_buckets),
        np.zeros(reward_drop.N_DROP_FIELDS),
    )


def new_workspace(models: RewardForestState, n_trees: int) -> RewardForestWorkspace:
    """Room for a forest of this shape; what it holds between two events means nothing."""
    n_columns, n_actions = len(models.edges), models.forest.stats.shape[2]
    n_features = models.shared_model.linear.shape[2]
    n_slots = (n_columns + 1) * min(n_columns + 1, feature_codes.MAX_PAIRS_PER_CODE)
    return RewardForestWorkspace(
        trees.aligned_zeros((n_columns,), np.float64),
        trees.aligned_zeros((n_trees,), np.int32),
        trees.aligned_zeros((n_trees,), np.int32),
        trees.aligned_zeros((trees.N_STATS, n_actions), np.int32),
        trees.aligned_zeros((n_columns + 1,), np.int32),
        trees.aligned_zeros((n_slots,), np.int32),
        trees.aligned_zeros((max(n_slots, n_trees + n_columns + 1),), np.float64),
        trees.aligned_zeros((N_SCORERS, n_actions), np.float64),
        trees.aligned_zeros((N_SCORERS - 1, N_SCORERS), np.float64),
        trees.aligned_zeros((binning.BINNING_SAMPLE + binning.N_BINS - 1,), np.float64),
        FeatureSums(np.zeros(n_features), np.zeros(n_features)),
        new_scratch(n_actions, n_columns, ring.new_event_copies(models.ring), len(models.ring.bytes)),
    )


def has_shape(work: RewardForestWorkspace, models: RewardForestState) -> bool:
    """Whether this room is for a forest of this shape; the number of trees and columns never changes."""
    return (
        work.scratch.events.widths is models.ring.widths
        and len(work.scratch.event_numbers) == scratch_size(len(models.ring.bytes))
        and work.leaf_sums.shape[1] == models.forest.stats.shape[2]
        and work.sums.weights.shape[0] == models.shared_model.linear.shape[2]
    )


def capacity_of(models: RewardForestState) -> RewardForestCapacity:
    """How much room there is."""
    forest = models.forest
    n_buckets = len(models.context_memory.buckets)
    return RewardForestCapacity(
        len(models.ring.bytes), len(forest.nodes), len(forest.blocks), len(models.quadratic), n_buckets
    )


def stored_events(models: RewardForestState) -> NDArray[np.int64]:
    """Where the events are that the forest remembers, the oldest first."""
    time, n_kept = int(models.forest.counters[trees.COUNTER_TIME]), len(models.ring.bytes)
    n = min(time, n_kept, int(models.clock[CLOCK_EVENTS] - models.clock[CLOCK_FIRST_STORED]))
    return np.arange(time - max(n, 0), time) % n_kept


def arrays_of(models: RewardForestState) -> dict[str, NDArray[Any]]:
    """Every array by its name, live, and the sizes."""
    forest = {f"forest.{name}": part for name, part in models.forest._asdict().items() if name not in trees.NODE_VIEWS}
    shared = {"shared.features": models.shared_model.features, "shared.linear": models.shared_model.linear}
    familiar = {f"familiar.{name}": part for name, part in models.context_memory._asdict().items()}
    events = {"ring.bytes": models.ring.bytes, "ring.widths": models.ring.widths}
    whole = {name: part for name, part in models._asdict().items() if isinstance(part, np.ndarray)}
    return {**forest, **events, **whole, **shared, **familiar, "sizes": np.array(capacity_of(models))}


def max_capacity(models: RewardForestState, n_trees: int, max_bytes: int) -> RewardForestCapacity:
    """How much room there may be, with the pairs and contexts there are; a ring that has lost events keeps its size.

    What events and blocks take beyond the plan is taken from the nodes.
    A ValueError says that there is far too much already, as when actions were added to a forest that was full.
    """
    n_actions, n_features = models.forest.stats.shape[2], models.shared_model.linear.shape[2]
    most = capacity_within(max_bytes, n_trees, n_actions, n_features, models.ring.widths, capacity_of(models))
    n_bytes = sum(array.nbytes for array in arrays_of(models).values())
    if n_bytes > MAX_EXCESS * max_bytes:
        raise ValueError(
            f"max_bytes is {max_bytes}; {n_trees} trees with what they have learned need {n_bytes:,} for {n_actions} "
            f"actions, more than {MAX_EXCESS} times as much"
        )
    n_kept, event_bytes = len(models.ring.bytes), ring.event_bytes(models.ring.widths)
    has_lost = models.forest.counters[trees.COUNTER_TIME] > n_kept
    n_events = n_kept if has_lost else max(_beside(models, models.ring.widths, most), n_kept)
    n_blocks, node_bytes = max(len(models.forest.blocks), most.n_blocks), node_bytes_of(n_actions)
    more = (n_events - most.n_events) * event_bytes + (n_blocks - most.n_blocks) * BLOCK_BYTES  # than was planned
    n_nodes = max(len(models.forest.nodes), min(most.n_nodes, int(most.n_nodes - more / node_bytes)))
    return most._replace(n_events=n_events, n_nodes=n_nodes)


def _beside(models: RewardForestState, widths: Widths, most: RewardForestCapacity) -> int:
    """How many events there may be if blocks that were meant for more of them stay: they are never given back."""
    surplus = max(len(models.forest.blocks) - most.n_blocks, 0) * BLOCK_BYTES
    return most.n_events - math.ceil(surplus / ring.event_bytes(widths))


def grown(models: RewardForestState, most: RewardForestCapacity) -> RewardForestState:
    """The same, with twice the room, within `most`."""
    now = capacity_of(models)
    return resized(
        models, RewardForestCapacity(*(max(size, min(2 * size, limit)) for size, limit in zip(now, most, strict=True)))
    )


def resized(models: RewardForestState, sizes: RewardForestCapacity) -> RewardForestState:
    """The same, with that much room, which is no less than now."""
    return models._replace(
        forest=_with_room(models.forest, sizes),
        ring=ring.ring_over(_sized(models.ring.bytes, sizes.n_events), models.ring.widths),
    )


def widened(models: RewardForestState, widths: Widths, n_trees: int, max_bytes: int) -> RewardForestState:
    """The same, with wider columns; a ring that would take more than it may keeps the latest events."""
    n_actions, n_features = models.forest.stats.shape[2], models.shared_model.linear.shape[2]
    most = capacity_within(max_bytes, n_trees, n_actions, n_features, widths, capacity_of(models))
    n_now = len(models.ring.bytes)
    in_as_many_bytes = n_now * ring.event_bytes(models.ring.widths) // ring.event_bytes(widths)
    n_events = min(n_now, max(_beside(models, widths, most), in_as_many_bytes))
    return models._replace(
        ring=ring.with_layout(models.ring, widths, n_events, int(models.forest.counters[trees.COUNTER_TIME]))
    )


def plan_rebalancing(models: RewardForestState, most: RewardForestCapacity) -> None:
    """Say when memory is shared anew, in place: a lap after a ring that cannot grow is full."""
    n_events, clock = len(models.ring.bytes), models.clock
    can_grow = n_events < most.n_events or n_events == MAX_EVENTS
    clock[CLOCK_NEXT_REBALANCING] = 0.0 if can_grow else max(clock[CLOCK_EVENTS], n_events) + n_events


def is_rebalancing_due(models: RewardForestState) -> bool:
    """Whether it is time to see how many nodes the events need."""
    return bool(0.0 < models.clock[CLOCK_NEXT_REBALANCING] <= models.clock[CLOCK_EVENTS])


def rebalanced(models: RewardForestState, n_trees: int) -> RewardForestState:
    """The same, with more events where nodes do not need the room that they have.

    Nodes follow the events: there will be as many for each as now, and some to spare, or what a quarter of it all can
    hold. A longer ring does not have the events that were lost before: it begins with those of now.
    """
    forest, n_events = models.forest, len(models.ring.bytes)
    node_bytes, event_bytes = node_bytes_of(forest.stats.shape[2]), event_bytes_of(models.ring.widths, n_trees)
    needed = NODE_RESERVE * int(forest.counters[trees.COUNTER_NODES]) / n_events  # nodes for an event
    whole = n_events * event_bytes + len(forest.nodes) * node_bytes
    most = min(whole / (event_bytes + needed * node_bytes), (1.0 - MIN_NODE_SHARE) * whole / event_bytes, MAX_EVENTS)
    clock = models.clock.copy()
    clock[CLOCK_NEXT_REBALANCING] = 0.0
    if most < MIN_EVENT_GROWTH * n_events:
        return models._replace(clock=clock)
    n_more = int(most)
    n_nodes = int((whole - n_more * event_bytes) / node_bytes)
    n_blocks = max(n_blocks_for(n_trees, n_more), len(forest.blocks))  # a ring that was longer once had more
    sizes = capacity_of(models)._replace(n_events=n_more, n_nodes=n_nodes, n_blocks=n_blocks)
    clock[CLOCK_FIRST_STORED] = max(clock[CLOCK_FIRST_STORED], clock[CLOCK_EVENTS] - n_events)
    events = ring.with_layout(models.ring, models.ring.widths, n_more, int(forest.counters[trees.COUNTER_TIME]))
    return models._replace(forest=_with_room(forest, sizes), ring=events, clock=clock)


def _with_room(forest: ForestState, sizes: RewardForestCapacity) -> ForestState:
    """The same with that much room; nodes that were never in use may go, blocks may not."""
    nodes = _sized(forest.nodes, sizes.n_nodes)
    n_leaves = len(forest.leaves) - len(forest.nodes) // 2 + sizes.n_nodes // 2
    before = len(forest.blocks)
    blocks = _sized(forest.blocks, sizes.n_blocks)
    counters = forest.counters.copy()
    if sizes.n_blocks > before:  # the new blocks come first among the free ones
        blocks[before:, trees.BLOCK_PREVIOUS] = np.arange(before + 1, sizes.n_blocks + 1)
        blocks[-1, trees.BLOCK_PREVIOUS] = counters[trees.COUNTER_FREE_BLOCK]
        counters[trees.COUNTER_FREE_BLOCK] = before
        counters[trees.COUNTER_FREE_BLOCKS] += sizes.n_blocks - before
    return ForestState(
        nodes,
        *trees.node_views(nodes),
        _sized(forest.leaves, n_leaves),
        _sized(forest.stats, n_leaves),
        blocks,
        counters,
        forest.kinds,
    )


def _sized(array: NDArray[Any], n: int) -> NDArray[Any]:
    sized = trees.aligned_zeros((n, *array.shape[1:]), array.dtype.type)
    sized[: len(array)] = array[:n]
    return sized


def with_actions(models: RewardForestState, keep: Sequence[int | None], shared: SharedModel) -> RewardForestState:
    """The same with other actions: those of `keep`, by their old places, and a new one for each None.

    Events of an action that is gone stay in the leaves, as events of no action.
    """
    stats = _picked(models.forest.stats, keep)
    for place, old in enumerate(keep):
        if old is None:
            stats[:, :, place] = trees.INITIAL_STATS
    places = np.full(models.forest.stats.shape[2] + 1, trees.NO_INDEX, np.int32)  # the last: no action
    for place, old in enumerate(keep):
        if old is not None:
            places[old] = place
    events = ring.ring_over(_sized(models.ring.bytes, len(models.ring.bytes)), models.ring.widths)
    actions = events.floats[:, EVENT_ACTION]
    actions[:] = places[actions.astype(np.int64)]
    return models._replace(
        forest=models.forest._replace(stats=stats),
        ring=events,
        linear=_picked(models.linear, keep),
        quadratic=_picked(models.quadratic, keep),
        fast_linear=_picked(models.fast_linear, keep),
        residual=_picked(models.residual, keep),
        shared_model=shared,
        context_memory=memory_with_actions(models.context_memory, keep),
    )


def _picked(table: NDArray[Any], keep: Sequence[int | None]) -> NDArray[Any]:
    """The actions of `keep`, whole stretches of neighbours at once: one by one takes ten times as long."""
    picked = trees.aligned_zeros((*table.shape[:-1], len(keep)), table.dtype.type)
    start = 0
    while start < len(keep):
        old, end = keep[start], start + 1
        while old is not None and end < len(keep) and keep[end] == old + end - start:
            end += 1
        if old is not None:
            picked[..., start:end] = table[..., old : old + end - start]
        start = end
    return picked
