"""Deep Q-learning (DQN) over partly observed rows: rollout, replay and update in one compiled loop.

Algorithm 1 of Chaouki, Read and Bifet. The exploring rollout takes queries only, until the whole row is observed
(truncated exploration). The replay memory stores the row and the rank of each column in its rollout: the states of a
rollout are the row with the columns of lower ranks observed, so one ring replaces the two buffers of the paper. Needs
NumPy and jax alone.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training import network
from stumpery.reinforcement.training.agent_state import (
    NOT_QUERIED,
    UNSEEN,
    AgentState,
    Chunk,
    ChunkResult,
    ReplayMemory,
    Spans,
    Weights,
)
from stumpery.reinforcement.training.network import ILLEGAL, mask_illegal

FAST_DECAY, SLOW_DECAY = 1 / 200, 1 / 2000  # decay rates of the two moving error rates
N_AFTER_DRIFT = 200  # latest rows that are still sampled after a drift was detected
MIN_PRIORITY = 1e-3  # so that every row can be sampled
N_EARLY_UPDATES = 8_000  # first updates; until then a row may have more of them


class DQNOptions(NamedTuple):
    """Numerical options; changing them needs no recompilation."""

    depth_penalty: Any
    epsilon: Any
    learning_rate: Any
    target_every: Any  # updates between two copies of the weights into the target network
    n_updates: Any  # per row; 0 during the warm-up
    n_early_updates: Any  # per row among the first N_EARLY_UPDATES


class DQNSettings(NamedTuple):
    """Options that decide what is compiled."""

    batch: int = 512
    double: bool = False
    all_reports: bool = True
    legal_targets: bool = True
    priority: float = 0.0
    drift: bool = False


def training_rollouts(
    state: AgentState, spans: Spans, row: Chunk, epsilon: Array, key: Array
) -> tuple[Array, Array, Array]:
    """Two rollouts of a row at once: the greedy policy's, and an exploring one.

    Returns the values of reports where the policy stops, its number of queries, and the ranks of the exploring rollout.
    """
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN
    codes, numbers = (jnp.broadcast_to(array, (2, n_columns)) for array in (row.codes, row.numbers))
    draws = jax.random.uniform(key, (n_columns + 1, n_columns + 1))

    def step(rank: Array, carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        seen, ranks, report_values, is_over = carry
        layer = network.hidden_layers(state.weights, spans, state.moments, codes, numbers, seen)
        queries, reports = network.heads(state.weights, layer)
        may_query = known & ~seen
        action = jnp.argmax(mask_illegal(queries[0], reports[0], may_query[0], state.n_classes))
        ends = ~is_over & (action >= n_columns)
        report_values = jnp.where(ends, reports[0], report_values)
        is_over = is_over | ends
        preferences = jnp.where(draws[rank, -1] < epsilon, draws[rank, :-1], queries[1])
        explored = jnp.argmax(jnp.where(may_query[1], preferences, ILLEGAL))
        is_active = jnp.stack([~is_over, may_query[1].any()])
        queried = (jnp.arange(n_columns) == jnp.stack([action, explored])[:, None]) & is_active[:, None]
        ranks = jnp.where(queried[1], rank.astype(jnp.int16), ranks)
        return seen | queried, ranks, report_values, is_over

    start = (
        jnp.zeros((2, n_columns), bool),
        jnp.full(n_columns, NOT_QUERIED, jnp.int16),
        jnp.zeros(state.weights.report_bias.shape),
        jnp.zeros((), bool),
    )
    seen, ranks, report_values, _ = lax.fori_loop(0, n_columns + 1, step, start)
    return report_values, seen[0].sum(), ranks


def replay_append(memory: ReplayMemory, row: Chunk, ranks: Array) -> ReplayMemory:
    """Append a row to the replay memory, in place of the oldest."""
    n_rows = memory.labels.shape[0]
    slot = memory.time % n_rows
    return ReplayMemory(
        codes=memory.codes.at[slot].set(row.codes),
        numbers=memory.numbers.at[slot].set(row.numbers),
        ranks=memory.ranks.at[slot].set(ranks),
        labels=memory.labels.at[slot].set(row.labels),
        priorities=memory.priorities.at[slot].set(1.0),  # the largest error of a value between 0 and 1
        filled=jnp.minimum(memory.filled + 1, n_rows),
        time=jnp.where(memory.time + 1 < 2 * n_rows, memory.time + 1, n_rows),
    )


def replay_sample(memory: ReplayMemory, draws: Array, priority: float) -> tuple[Array, Array]:
    """Sample slots of the replay memory, uniformly or by priority, and their importance weights."""
    n_rows = memory.labels.shape[0]
    if not priority:
        age = (draws * memory.filled).astype(jnp.int32)
        return (memory.time - 1 - age) % n_rows, jnp.ones_like(draws)
    age = (memory.time - 1 - jnp.arange(n_rows)) % n_rows
    masses = jnp.where(age < memory.filled, memory.priorities**priority, 0.0)
    cumulative = jnp.cumsum(masses)
    slots = jnp.minimum(jnp.searchsorted(cumulative, draws * cumulative[-1]), n_rows - 1)
    weight = lax.rsqrt(jnp.maximum(masses[slots], 1e-12))  # corrects half of the sampling bias
    return slots, weight / jnp.max(weight)


def update(
    state: AgentState, spans: Spans, options: DQNOptions, settings: DQNSettings, key: Array
) -> tuple[AgentState, Array]:
    """A gradient step on a sampled batch: the query loss on one half of its states, the report loss on the other."""
    row_draws, step_draws, report_draws = jax.random.uniform(key, (3, settings.batch))
    memory, half = state.memory, settings.batch // 2
    slots, weight = replay_sample(memory, row_draws, settings.priority)
    codes, numbers, ranks = memory.codes[slots], memory.numbers[slots], memory.ranks[slots]
    known = ranks < NOT_QUERIED
    n_known = known.sum(axis=1)
    n_states = n_known + (jnp.arange(settings.batch) >= half)  # after the last query a report is left
    step = jnp.floor(step_draws * n_states).astype(jnp.int16)[:, None]
    seen, queried, after = ranks < step, (ranks == step)[:half], (ranks <= step)[:half]
    has_query = n_known[:half] > 0
    classes = jnp.arange(state.weights.report_bias.shape[0])
    is_right = (memory.labels[slots][half:, None] == classes).astype(jnp.float32)
    if settings.all_reports:
        is_trained = (classes < state.n_classes) / state.n_classes
    else:
        is_trained = (jnp.floor(report_draws[half:, None] * state.n_classes) == classes).astype(jnp.float32)

    def outputs(weights: Weights, part: slice, seen: Array) -> tuple[Array, Array]:
        layer = network.hidden_layers(weights, spans, state.moments, codes[part], numbers[part], seen)
        return network.heads(weights, layer)

    def next_q_values(weights: Weights) -> Array:
        queries, reports = outputs(weights, slice(half), after)
        may_query = known[:half] & ~after if settings.legal_targets else jnp.ones_like(after)
        return mask_illegal(queries, reports, may_query, state.n_classes)

    target_values = next_q_values(state.target)
    actions = jnp.argmax(next_q_values(state.weights) if settings.double else target_values, axis=1)
    value = jnp.take_along_axis(target_values, actions[:, None], axis=1)[:, 0]
    if settings.legal_targets:
        value = jnp.clip(value, 0.0, 1.0)
    query_target = lax.stop_gradient(value - options.depth_penalty)

    def loss(weights: Weights) -> tuple[Array, tuple[Array, Array]]:
        queries, reports = outputs(weights, slice(None), seen)
        query_errors = (jnp.where(queried, queries[:half], 0.0).sum(axis=1) - query_target) ** 2 * has_query
        report_errors = ((reports[half:] - is_right) ** 2 * is_trained).sum(axis=1)
        errors = jnp.concatenate([query_errors, report_errors])
        losses = (errors * weight).reshape(2, half).mean(axis=1)
        return losses.sum(), (losses, errors)

    (_, (losses, errors)), gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
    weights, adam = network.adam_step(state.weights, state.adam, gradient, options.learning_rate)
    is_due = adam.count % options.target_every == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), weights, state.target)
    if settings.priority:
        memory = memory._replace(priorities=memory.priorities.at[slots].set(jnp.sqrt(errors) + MIN_PRIORITY))
    return state._replace(weights=weights, target=target, adam=adam, memory=memory), losses


def drift_reset(state: AgentState, is_wrong: Array) -> AgentState:
    """Drift detection: where the error rate has risen significantly, keep only the latest rows of the replay memory."""
    fast, slow = state.errors + (is_wrong - state.errors) * jnp.array([FAST_DECAY, SLOW_DECAY])
    bound = 4.0 * jnp.sqrt(jnp.maximum(slow * (1.0 - slow), 0.01) * FAST_DECAY / 2.0)
    memory = state.memory
    is_drift = (fast > slow + bound) & (memory.filled > 5 * N_AFTER_DRIFT)
    memory = memory._replace(filled=jnp.where(is_drift, N_AFTER_DRIFT, memory.filled))
    return state._replace(memory=memory, errors=jnp.stack([fast, jnp.where(is_drift, fast, slow)]))


def train_step(
    state: AgentState, spans: Spans, options: DQNOptions, settings: DQNSettings, row: Chunk
) -> tuple[AgentState, tuple[Array, Array, Array]]:
    """A train step with one row: rollout, replay append, drift reset, then `n_updates` updates."""
    key, rollout_key, update_key = jax.random.split(state.key, 3)
    report_values, n_queries, ranks = training_rollouts(state, spans, row, options.epsilon, rollout_key)
    is_class = jnp.arange(report_values.shape[0]) < state.n_classes
    is_wrong = jnp.argmax(jnp.where(is_class, report_values, ILLEGAL)) != row.labels
    state = state._replace(
        moments=network.update_moments(state.moments, row.numbers, row.codes != UNSEEN),
        n_classes=jnp.maximum(state.n_classes, row.labels + 1),
        memory=replay_append(state.memory, row, ranks),
        key=key,
    )
    if settings.drift:
        state = drift_reset(state, is_wrong.astype(jnp.float32))

    def body(turn: Array, carry: tuple[AgentState, Array]) -> tuple[AgentState, Array]:
        return update(carry[0], spans, options, settings, jax.random.fold_in(update_key, turn))

    is_early = state.adam.count < N_EARLY_UPDATES
    n_updates = jnp.where(is_early, options.n_early_updates, options.n_updates)
    state, losses = lax.fori_loop(0, n_updates, body, (state, jnp.full(2, jnp.nan)))
    return state, (report_values, n_queries, losses)


def train_chunk(
    state: AgentState, spans: Spans, options: DQNOptions, rows: Chunk, n: Array, settings: DQNSettings
) -> tuple[AgentState, ChunkResult]:
    """Train on the first n rows of a chunk."""
    return network.for_each_row(lambda state, row: train_step(state, spans, options, settings, row), state, rows, n)


run = jax.jit(train_chunk, static_argnames=("settings",), donate_argnames=("state",))


@partial(jax.jit, static_argnames=("settings",), donate_argnames=("state",))
def run_seeds(
    state: AgentState, spans: Spans, options: DQNOptions, rows: Chunk, n: Array, settings: DQNSettings
) -> tuple[AgentState, ChunkResult]:
    """Train several agents at once on the same rows."""
    trained: tuple[AgentState, ChunkResult] = jax.vmap(
        partial(train_chunk, settings=settings), in_axes=(0, None, None, None, None)
    )(state, spans, options, rows, n)
    return trained
