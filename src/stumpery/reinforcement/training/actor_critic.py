"""Advantage actor-critic (A2C) over partly observed rows, in one compiled loop. Needs NumPy and jax alone.

Algorithm 2 of Chaouki, Read and Bifet, interpreted in three points. Line 25 stands inside the `if` of line 13: a
segment continues until it has `n_step` steps or the episode ends. A segment that is not the last bootstraps from the
value of its last state. The advantage is a constant in the actor's loss. The entropy loss has the printed sign:
sum(p log p) is smallest for a uniform policy, so adding it to the loss keeps the policy from concentrating.
"""

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
    Spans,
    Weights,
)
from stumpery.reinforcement.training.dqn import replay_append
from stumpery.reinforcement.training.network import mask_illegal


class ActorCriticOptions(NamedTuple):
    """Numerical options; changing them needs no recompilation."""

    depth_penalty: Any
    entropy: Any
    learning_rate: Any
    learns: Any  # 1, or 0 during the warm-up


class EpisodeSegment(NamedTuple):
    """Consecutive steps of an episode; `counts` masks those after its end."""

    seen: Array  # (steps, columns)
    actions: Array  # (steps,)
    rewards: Array  # (steps,)
    counts: Array  # (steps,) bool


def evaluate_states(
    weights: Weights, state: AgentState, spans: Spans, row: Chunk, seen: Array, known: Array
) -> tuple[Array, Array, Array]:
    """Logits of all actions with illegal ones masked, state values, and logits of reports, for states of one row."""
    codes, numbers = (jnp.broadcast_to(array, seen.shape) for array in (row.codes, row.numbers))
    layer = network.hidden_layers(weights, spans, state.moments, codes, numbers, seen)
    queries, reports = network.heads(weights, layer)
    logits = mask_illegal(queries, reports, known & ~seen, jnp.maximum(state.n_classes, 1))
    return logits, layer @ weights.value + weights.value_bias, reports


def greedy_rollout(state: AgentState, spans: Spans, row: Chunk) -> tuple[Array, Array]:
    """The logits of reports where the greedy policy stops, and its number of queries."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN

    def step(_: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        seen, report_logits, is_over = carry
        logits, _, reports = evaluate_states(state.weights, state, spans, row, seen[None], known)
        action = jnp.argmax(logits[0])
        ends = ~is_over & (action >= n_columns)
        is_over = is_over | ends
        queried = (jnp.arange(n_columns) == action) & ~is_over
        return seen | queried, jnp.where(ends, reports[0], report_logits), is_over

    start = (jnp.zeros(n_columns, bool), jnp.zeros(state.weights.report_bias.shape), jnp.zeros((), bool))
    seen, report_logits, _ = lax.fori_loop(0, n_columns + 1, step, start)
    return report_logits, seen.sum()


def play_segment(
    state: AgentState, spans: Spans, options: ActorCriticOptions, row: Chunk, start: tuple[Array, Array], keys: Array
) -> tuple[EpisodeSegment, Array, Array]:
    """Draw an action for each key; returns the steps, the columns observed then, and whether the episode is over."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN

    def step(carry: tuple[Array, Array], key: Array) -> tuple[tuple[Array, Array], EpisodeSegment]:
        seen, is_over = carry
        logits, _, _ = evaluate_states(state.weights, state, spans, row, seen[None], known)
        action = jax.random.categorical(key, logits[0])
        ends = action >= n_columns
        reward = jnp.where(ends, (action - n_columns == row.labels).astype(jnp.float32), -options.depth_penalty)
        queried = (jnp.arange(n_columns) == action) & ~is_over
        return (seen | queried, is_over | ends), EpisodeSegment(seen, action, reward, ~is_over)

    (seen, is_over), segment = lax.scan(step, start, keys)
    return segment, seen, is_over


def update(
    state: AgentState,
    spans: Spans,
    options: ActorCriticOptions,
    row: Chunk,
    segment: EpisodeSegment,
    seen: Array,
    is_over: Array,
) -> tuple[AgentState, Array]:
    """A gradient step on the losses of actor, critic and entropy over a segment."""
    known = row.codes != UNSEEN
    n_steps = jnp.maximum(segment.counts.sum(), 1)
    next_value = evaluate_states(state.weights, state, spans, row, seen[None], known)[1][0]

    def add_reward(following: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, counts = step
        total = jnp.where(counts, reward + following, following)
        return total, total

    start = jnp.where(is_over, 0.0, next_value)
    _, returns = lax.scan(add_reward, start, (segment.rewards, segment.counts), reverse=True)

    def loss(weights: Weights) -> tuple[Array, Array]:
        logits, values, _ = evaluate_states(weights, state, spans, row, segment.seen, known)
        log_probabilities = jax.nn.log_softmax(logits)
        advantage = lax.stop_gradient(returns) - values
        taken = jnp.take_along_axis(log_probabilities, segment.actions[:, None], axis=1)[:, 0]
        critic = 0.5 * advantage**2
        actor = -taken * lax.stop_gradient(advantage)
        entropy = (jnp.exp(log_probabilities) * log_probabilities).sum(axis=1)
        parts = jnp.stack([actor, critic, options.entropy * entropy]) * segment.counts
        means = parts.sum(axis=1) / n_steps
        return means.sum(), means[:2]

    (_, losses), gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
    weights, adam = network.adam_step(state.weights, state.adam, gradient, options.learning_rate)
    is_active = segment.counts.any()
    weights, adam = jax.tree.map(
        lambda new, old: jnp.where(is_active, new, old), (weights, adam), (state.weights, state.adam)
    )
    return state._replace(weights=weights, adam=adam), jnp.where(is_active, losses, jnp.nan)


def train_step(
    state: AgentState, spans: Spans, options: ActorCriticOptions, n_step: int, row: Chunk
) -> tuple[AgentState, tuple[Array, Array, Array]]:
    """A train step with one row: test the greedy policy, then play an episode and update after each segment."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN
    report_logits, n_queries = greedy_rollout(state, spans, row)
    key, draws = jax.random.split(state.key)
    ranks = jnp.where(known, 0, NOT_QUERIED).astype(jnp.int16)
    state = state._replace(
        moments=network.update_moments(state.moments, row.numbers, known),
        n_classes=jnp.maximum(state.n_classes, row.labels + 1),
        memory=replay_append(state.memory, row, ranks),
        key=key,
    )

    def body(turn: Array, carry: tuple[AgentState, Array, Array, Array]) -> tuple[AgentState, Array, Array, Array]:
        state, seen, is_over, losses = carry
        keys = jax.random.split(jax.random.fold_in(draws, turn), n_step)
        segment, seen, ended = play_segment(state, spans, options, row, (seen, is_over), keys)
        state, new = update(state, spans, options, row, segment, seen, ended)
        return state, seen, ended, jnp.where(is_over, losses, new)

    n_segments = options.learns * -(-(n_columns + 1) // n_step)
    start = (state, jnp.zeros(n_columns, bool), jnp.zeros((), bool), jnp.full(2, jnp.nan))
    state, _, _, losses = lax.fori_loop(0, n_segments, body, start)
    return state, (report_logits, n_queries, losses)


def train_chunk(
    state: AgentState, spans: Spans, options: ActorCriticOptions, rows: Chunk, n: Array, n_step: int
) -> tuple[AgentState, ChunkResult]:
    """Train on the first n rows of a chunk."""
    return network.for_each_row(lambda state, row: train_step(state, spans, options, n_step, row), state, rows, n)


run = jax.jit(train_chunk, static_argnames=("n_step",), donate_argnames=("state",))
