"""The network that sees a partly observed row, and how it is trained. Only NumPy and jax are needed here."""

import jax
import jax.numpy as jnp
from jax import Array

from stumpery.reinforcement.training.learner import FARTHEST, UNSEEN, Adam, Moments, Spans, Weights

LONG_STREAM = 2**20  # rows, after which a 32-bit count and sum would soon stand still
MOST_STEPS = 2**30


def noticed(moments: Moments, numbers: Array, known: Array) -> Moments:
    """The moments after one more row, of whose numbers some are known (Welford); after very many, old rows fade."""
    count = jnp.minimum(moments.count + known, LONG_STREAM)
    kept = jnp.where(known & (moments.count >= LONG_STREAM), 1.0 - 1.0 / LONG_STREAM, 1.0)
    off = jnp.where(known, numbers - moments.mean, 0.0)
    mean = moments.mean + off / jnp.maximum(count, 1.0)
    return Moments(count, mean, moments.squares * kept + off * jnp.where(known, numbers - mean, 0.0))


def standardised(moments: Moments, numbers: Array) -> Array:
    """Numbers as deviations from their means so far; a column without any spread counts for nothing."""
    variance = moments.squares / jnp.maximum(moments.count, 1.0)
    scale = jnp.where(variance > 0.0, jax.lax.rsqrt(jnp.maximum(variance, 1e-30)), 0.0)
    return jnp.clip((numbers - moments.mean) * scale, -FARTHEST, FARTHEST)


def embedded(into: Array, spans: Spans, codes: Array, seen: Array) -> Array:
    """The sum of the vectors of all spans that hold an observed code, (rows, width)."""
    n_columns = seen.shape[-1]
    if spans.place.shape[1]:  # names alone, and many: pick the vectors
        ids = spans.place[jnp.arange(n_columns), jnp.maximum(codes, 0)]
        picked: Array = jnp.where(seen[..., None], into[ids], 0.0)
        return picked.sum(axis=-2)
    # A product with ones and zeros spreads codes over spans: exact, and quicker than picking columns.
    member = (jnp.arange(n_columns)[:, None] == spans.column[None, :]).astype(jnp.float32)
    spread = jnp.where(seen, codes, UNSEEN).astype(jnp.float32) @ member
    held: Array = (spread >= spans.low) & (spread <= spans.high)
    return held.astype(jnp.float32) @ into


def hidden(weights: Weights, spans: Spans, moments: Moments, codes: Array, numbers: Array, seen: Array) -> Array:
    """The second hidden layer for a batch of partly observed rows, (rows, width)."""
    rest = jnp.concatenate([1.0 - seen, jnp.where(seen, standardised(moments, numbers), 0.0)], axis=-1)
    one = jax.nn.relu(embedded(weights.into, spans, codes, seen) + rest @ weights.flags + weights.first)
    return jax.nn.relu(one @ weights.across + weights.second)


def heads(weights: Weights, layer: Array) -> tuple[Array, Array]:
    """What every query and every report is worth, (rows, columns) and (rows, classes)."""
    return layer @ weights.queries + weights.query_bias, layer @ weights.reports + weights.report_bias


def stepped(weights: Weights, adam: Adam, gradient: Weights, rate: Array) -> tuple[Weights, Adam]:
    """One step of Adam down a gradient."""
    count = jnp.where(adam.count < MOST_STEPS, adam.count, MOST_STEPS // 2) + 1
    mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, adam.mean, gradient)
    square = jax.tree.map(lambda old, new: 0.999 * old + 0.001 * new * new, adam.square, gradient)
    pace = rate * jnp.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
    moved = jax.tree.map(lambda w, m, s: w - pace * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
    return moved, Adam(mean, square, count)
