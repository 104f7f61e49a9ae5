"""Neural network over partly observed rows, its optimiser Adam, and the loop over rows that trains it.

Classifying a row is a Markov decision process (MDP): query a column, or report a class. The state is a row of which
some columns are observed. A query costs `depth_penalty`. A report pays 1 if it is right, and ends the episode. Legal
actions are queries of columns that have a value and are not observed yet, and reports of classes that have occurred.
The expected return of a policy is its accuracy less `depth_penalty` times its mean number of queries: Corollary 3.2 of
Chaouki, Read and Bifet. Needs NumPy and jax alone.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training.agent_state import (
    MAX_DEVIATION,
    UNSEEN,
    AdamState,
    AgentState,
    Chunk,
    ChunkResult,
    ColumnMoments,
    Spans,
    Weights,
)

ILLEGAL = -1e9  # value of an illegal action
MAX_MOMENT_ROWS = 2**20  # rows in the moments; a longer sum would lose precision in 32 bits
MAX_STEPS = 2**30  # of Adam: then the count is halved, so that it never overflows
TrainStep = Callable[[AgentState, Chunk], tuple[AgentState, tuple[Array, Array, Array]]]


def mask_illegal(queries: Array, reports: Array, may_query: Array, n_classes: Array) -> Array:
    """The Q-values or logits of all actions, queries first, with those of illegal actions masked."""
    is_class = jnp.arange(reports.shape[-1]) < n_classes
    return jnp.concatenate([jnp.where(may_query, queries, ILLEGAL), jnp.where(is_class, reports, ILLEGAL)], axis=-1)


def update_moments(moments: ColumnMoments, numbers: Array, known: Array) -> ColumnMoments:
    """The moments after one more row, some of whose numbers may be missing (Welford); old rows fade."""
    count = jnp.minimum(moments.count + known, MAX_MOMENT_ROWS)
    retention = jnp.where(known & (moments.count >= MAX_MOMENT_ROWS), 1.0 - 1.0 / MAX_MOMENT_ROWS, 1.0)
    deviation = jnp.where(known, numbers - moments.mean, 0.0)
    mean = moments.mean + deviation / jnp.maximum(count, 1.0)
    return ColumnMoments(count, mean, moments.squares * retention + deviation * jnp.where(known, numbers - mean, 0.0))


def standardise(moments: ColumnMoments, numbers: Array) -> Array:
    """Standardise numbers by the moments so far; a column without variance gives zeros."""
    variance = moments.squares / jnp.maximum(moments.count, 1.0)
    scale = jnp.where(variance > 0.0, jax.lax.rsqrt(jnp.maximum(variance, 1e-30)), 0.0)
    return jnp.clip((numbers - moments.mean) * scale, -MAX_DEVIATION, MAX_DEVIATION)


def embed(into: Array, spans: Spans, codes: Array, seen: Array) -> Array:
    """The sum of the embeddings of all spans that contain an observed code, (rows, width)."""
    n_columns = seen.shape[-1]
    if spans.index.shape[1]:  # many names and no numbers: gather the vectors
        ids = spans.index[jnp.arange(n_columns), jnp.maximum(codes, 0)]
        gathered: Array = jnp.where(seen[..., None], into[ids], 0.0)
        return gathered.sum(axis=-2)
    # A product with a 0/1 matrix copies codes to their spans: exact, and faster than gathering.
    member = (jnp.arange(n_columns)[:, None] == spans.column[None, :]).astype(jnp.float32)
    span_codes = jnp.where(seen, codes, UNSEEN).astype(jnp.float32) @ member
    is_in_span: Array = (span_codes >= spans.low) & (span_codes <= spans.high)
    return is_in_span.astype(jnp.float32) @ into


def hidden_layers(
    weights: Weights, spans: Spans, moments: ColumnMoments, codes: Array, numbers: Array, seen: Array
) -> Array:
    """The activations of the second hidden layer for a batch of partly observed rows, (rows, width)."""
    flags = jnp.concatenate([1.0 - seen, jnp.where(seen, standardise(moments, numbers), 0.0)], axis=-1)
    layer = jax.nn.relu(embed(weights.into, spans, codes, seen) + flags @ weights.flags + weights.first)
    return jax.nn.relu(layer @ weights.across + weights.second)


def heads(weights: Weights, layer: Array) -> tuple[Array, Array]:
    """The outputs for queries, (rows, columns), and for reports, (rows, classes)."""
    return layer @ weights.queries + weights.query_bias, layer @ weights.reports + weights.report_bias


def adam_step(weights: Weights, adam: AdamState, gradient: Weights, learning_rate: Array) -> tuple[Weights, AdamState]:
    """An optimiser step: Adam with the given learning rate."""
    count = jnp.where(adam.count < MAX_STEPS, adam.count, MAX_STEPS // 2) + 1
    mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, adam.mean, gradient)
    square = jax.tree.map(lambda old, new: 0.999 * old + 0.001 * new * new, adam.square, gradient)
    rate = learning_rate * jnp.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
    updated = jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
    return updated, AdamState(mean, square, count)


def for_each_row(step: TrainStep, state: AgentState, rows: Chunk, n: Array) -> tuple[AgentState, ChunkResult]:
    """Take a train step with each of the first n rows."""
    size = rows.labels.shape[0]
    values = jnp.zeros((size, *state.weights.report_bias.shape))
    result = ChunkResult(values, jnp.zeros(size, jnp.int32), jnp.zeros((size, 2)))

    def body(row: Array, carry: tuple[AgentState, ChunkResult]) -> tuple[AgentState, ChunkResult]:
        state, result = carry
        state, new = step(state, Chunk(*(table[row] for table in rows)))
        return state, ChunkResult(*(table.at[row].set(value) for table, value in zip(result, new, strict=True)))

    trained: tuple[AgentState, ChunkResult] = lax.fori_loop(0, n, body, (state, result))
    return trained
