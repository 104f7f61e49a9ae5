"""State and workspace of the reward forest: allocation, shapes, and other actions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.binning_kernels import new_scratch
from stumpery.array_forest.forest_kernels import Float32s, aligned_zeros
from stumpery.drift.reward_drop_kernels import new_detector
from stumpery.policies.reward_forest.capacity import BLOCK_BYTES, RewardForestCapacity, leaf_bytes_of
from stumpery.policies.reward_forest.policy_kernels import (
    CLOCK_EVENTS,
    CLOCK_FIRST_STORED,
    CLOCK_NEXT_BINNING,
    INITIAL_WEIGHTS,
    INITIAL_WEIGHTS_WITH_FEATURES,
    N_CLOCK_FIELDS,
    RewardForestState,
    RewardForestWorkspace,
)
from stumpery.policies.reward_forest.scorers.context_memory import (
    BUCKET_BYTES,
    memory_with_actions,
    new_context_memory,
)
from stumpery.policies.reward_forest.scorers.crossed import new_crossed_row
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedScorer
from stumpery.policies.reward_forest.scorers.frequent_categories import entry_bytes_of, new_category_table
from stumpery.policies.reward_forest.scorers.frequent_categories_kernels import ENTRIES_PER_BUCKET
from stumpery.policies.reward_forest.scorers.ridge import new_ridge, new_ridge_row, ridge_bytes, ridge_with_actions
from stumpery.policies.reward_forest.scorers.scorers_kernels import (
    CODES_PER_COLUMN,
    MAX_PAIRS_PER_CODE,
    MAX_STEP_COUNT,
    SLOT_HISTORY,
    SLOT_WEIGHT,
    new_linear,
)
from stumpery.policies.reward_forest.scorers.shared_model_kernels import FeatureSums, SharedModel
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths
from stumpery.policies.reward_forest.trees.ring_kernels import BINNING_SAMPLE, EVENT_ACTION, FIRST_BINNING, N_BINS
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

UNTRAINED_SQUARES = 50.0  # of a scorer that is new in the stacking: its weight is low until these decay


def new_shared_model(n_columns: int, features: Floats, strength: float) -> SharedModel:
    """The linear model that actions share; `features` has a row for each action, or is empty."""
    reserve(2 * 4 * (n_columns + 1) * CODES_PER_COLUMN * features.shape[-1])
    return SharedModel(features, new_linear((n_columns + 1) * CODES_PER_COLUMN, features.shape[-1]), strength)


def initial_weights_of(shared_model: SharedModel) -> tuple[float, ...]:
    """The weights of the scorers before any reward."""
    return INITIAL_WEIGHTS if shared_model.features.ndim == 1 else INITIAL_WEIGHTS_WITH_FEATURES


def new_state(
    n_trees: int,
    n_actions: int,
    is_categorical: NDArray[np.bool_],
    widths: Widths,
    capacity: RewardForestCapacity,
    shared_model: SharedModel,
    crossed: CrossedScorer,
) -> RewardForestState:
    """The state of a forest that has learned nothing."""
    n_columns = len(is_categorical)
    n_codes = (n_columns + 1) * CODES_PER_COLUMN
    reserve(
        capacity.n_events * ring.event_bytes(widths)
        + 16 * capacity.n_nodes
        + (capacity.n_nodes // 2 + n_trees) * leaf_bytes_of(n_actions)
        + capacity.n_blocks * BLOCK_BYTES
        + 2 * 4 * n_actions * (3 * n_codes + capacity.n_slots)
        + capacity.n_buckets * BUCKET_BYTES
        + capacity.n_categories * entry_bytes_of(n_actions)
        + ridge_bytes(capacity.n_ridge_features, n_columns, n_actions)
    )
    n_codes += capacity.n_categories
    clock = np.zeros(N_CLOCK_FIELDS)
    clock[CLOCK_NEXT_BINNING] = FIRST_BINNING
    initial_weights = initial_weights_of(shared_model)
    n_scorers = len(initial_weights)
    return RewardForestState(
        forest=trees.new_forest(n_trees, n_actions, is_categorical, capacity.n_nodes, capacity.n_blocks),
        ring=ring.new_ring(capacity.n_events, widths),
        linear=new_linear(n_codes, n_actions),
        quadratic=new_linear(capacity.n_slots, n_actions),
        fast_linear=new_linear(n_codes, n_actions),
        residual=new_linear(n_codes, n_actions),
        ridge=new_ridge(capacity.n_ridge_features, n_columns, n_actions),
        edges=np.full((n_columns, N_BINS - 1), np.inf),
        moments=np.zeros((n_scorers - 1, n_scorers)),
        weights=np.array(initial_weights),
        clock=clock,
        shared_model=shared_model,
        crossed=crossed,
        context_memory=new_context_memory(capacity.n_buckets),
        drift=new_detector(),
        categories=new_category_table(capacity.n_categories),
    )


def new_workspace(state: RewardForestState, n_trees: int) -> RewardForestWorkspace:
    """Scratch buffers for a state of this shape; their content is not used by the next event."""
    n_columns, n_actions = len(state.edges), state.forest.stats.shape[2]
    n_features = state.shared_model.linear.shape[2]
    n_codes = 2 * n_columns + 1  # a category without a code has two
    n_slots = (n_columns + 1) * min(n_columns + 1, MAX_PAIRS_PER_CODE) + n_columns * min(n_codes, MAX_PAIRS_PER_CODE)
    return RewardForestWorkspace(
        values=aligned_zeros((n_columns,), np.float64),
        hashes=aligned_zeros((n_columns,), np.uint64),
        row=aligned_zeros((n_columns,), np.float64),
        reached=aligned_zeros((n_trees,), np.int32),
        moving=aligned_zeros((n_trees,), np.int32),
        leaf_sums=aligned_zeros((trees.N_STATS, n_actions), np.int32),
        codes=aligned_zeros((n_codes,), np.int32),
        pair_codes=aligned_zeros((n_codes,), np.int32),
        slots=aligned_zeros((n_slots,), np.int32),
        rates=aligned_zeros((max(n_slots, n_trees + n_codes),), np.float64),
        predictions=aligned_zeros((len(state.weights), n_actions), np.float64),
        system=aligned_zeros(state.moments.shape, np.float64),
        sample=aligned_zeros((BINNING_SAMPLE + N_BINS - 1,), np.float64),
        ridge=new_ridge_row(state.ridge),
        crossed=new_crossed_row(state.crossed, n_columns, n_actions),
        sums=FeatureSums(np.zeros(n_features), np.zeros(n_features)),
        scratch=new_scratch(n_actions, n_columns, ring.new_event_copies(state.ring), len(state.ring.bytes)),
    )


def capacity_of(state: RewardForestState) -> RewardForestCapacity:
    """The present capacity."""
    forest, n_buckets = state.forest, len(state.context_memory.buckets)
    n_slots, n_categories = len(state.quadratic), ENTRIES_PER_BUCKET * len(state.categories.hashes)
    n_events, n_ridge_features = len(state.ring.bytes), len(state.ridge.weights)
    n_nodes, n_blocks = len(forest.nodes), len(forest.blocks)
    return RewardForestCapacity(n_events, n_nodes, n_blocks, n_slots, n_buckets, n_ridge_features, n_categories)


def stored_events(state: RewardForestState) -> Integers:
    """Indices in the ring of the stored events, the oldest first."""
    time, n_kept = int(state.forest.counters[trees.COUNTER_TIME]), len(state.ring.bytes)
    n = min(time, n_kept, int(state.clock[CLOCK_EVENTS] - state.clock[CLOCK_FIRST_STORED]))
    return np.arange(time - max(n, 0), time) % n_kept


def with_actions(
    state: RewardForestState, keep: Sequence[int | None], shared_model: SharedModel, crossed: CrossedScorer
) -> RewardForestState:
    """A state for other actions: those of `keep`, given by their old index, or None for a new one.

    Events of a removed action stay in the leaves, as events of no action.
    """
    stats = _columns_of(state.forest.stats, keep)
    new_index = np.full(state.forest.stats.shape[2] + 1, trees.NO_INDEX, np.int32)  # the last: no action
    for index, old in enumerate(keep):
        if old is None:
            stats[:, :, index] = trees.INITIAL_STATS
        else:
            new_index[old] = index
    events = ring.ring_over(trees.resized(state.ring.bytes, len(state.ring.bytes)), state.ring.widths)
    actions = events.floats[:, EVENT_ACTION]
    actions[:] = new_index[actions.astype(np.int64)]
    moments, weights = stacking_of(state.moments, state.weights, len(initial_weights_of(shared_model)))
    return state._replace(
        forest=state.forest._replace(stats=stats),
        ring=events,
        linear=_columns_of(state.linear, keep),
        quadratic=_columns_of(state.quadratic, keep),
        fast_linear=_columns_of(state.fast_linear, keep),
        residual=_columns_of(state.residual, keep),
        ridge=ridge_with_actions(state.ridge, keep),
        moments=moments,
        weights=weights,
        shared_model=shared_model,
        crossed=crossed,
        context_memory=memory_with_actions(state.context_memory, keep),
    )


def stacking_of(moments: Floats, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """The stacking for so many scorers: the last one may be new, with little weight at first, or have gone."""
    if n > len(weights):
        moments = np.insert(np.pad(moments, ((0, 1), (0, 0))), -1, 0.0, axis=1)
        moments[-1, -2] = UNTRAINED_SQUARES
        return moments, np.append(weights, 0.0)
    if n < len(weights):
        weights = weights[:n] + weights[n] / n
        return np.delete(moments[:-1], -2, axis=1), weights
    return moments, weights


def folded(linear: Float32s, n_slots: int) -> Float32s:
    """A hashed linear scorer with fewer slots, a power of two: those that now collide share their weighted mean."""
    while len(linear) > n_slots:
        halves = linear[: len(linear) // 2], linear[len(linear) // 2 :]
        linear = aligned_zeros(halves[0].shape, np.float32)
        history = linear[:, SLOT_HISTORY]
        for half in halves:
            history += half[:, SLOT_HISTORY]
        for half in halves:
            linear[:, SLOT_WEIGHT] += half[:, SLOT_WEIGHT] * (half[:, SLOT_HISTORY] / np.maximum(history, 1.0))
        np.minimum(history, MAX_STEP_COUNT, out=history)
    return linear


def _columns_of(table: NDArray[Any], keep: Sequence[int | None]) -> NDArray[Any]:
    """The actions of `keep`, runs of neighbours copied at once: one by one takes ten times as long."""
    columns = aligned_zeros((*table.shape[:-1], len(keep)), table.dtype.type)
    start = 0
    while start < len(keep):
        old, end = keep[start], start + 1
        while old is not None and end < len(keep) and keep[end] == old + end - start:
            end += 1
        if old is not None:
            columns[..., start:end] = table[..., old : old + end - start]
        start = end
    return columns
