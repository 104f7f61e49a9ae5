"""Advantage actor-critic over partly observed rows, in one compiled loop. Needs NumPy and jax alone.

Algorithm 2 of Chaouki, Read and Bifet, with three readings. Line 25 stands inside the `if` of line 13: a segment goes
on until it has `n_step` steps or the episode ends. What follows a segment that is not the last is valued at its own
last state. The advantage weighs the actor's loss and is not itself moved by it. The entropy loss has the sign that is
printed: sum(p log p) is least for a uniform policy, so adding it to the loss keeps the policy from concentrating.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training import chunks as stretches
from stumpery.reinforcement.training import network
from stumpery.reinforcement.training.dqn import remembered
from stumpery.reinforcement.training.learner import MISSING_RANK, UNSEEN, AgentState, Chunk, Found, Spans, Weights
from stumpery.reinforcement.training.mdp import worths


class Rule(NamedTuple):
    """The numbers among the options."""

    depth_penalty: Any
    entropy: Any
    learning_rate: Any
    learns: Any  # 1, or 0 while rows are only remembered


class Segment(NamedTuple):
    """Some steps of an episode, in order; those after its end do not count."""

    seen: Array  # (steps, columns)
    actions: Array  # (steps,)
    rewards: Array  # (steps,)
    counts: Array  # (steps,) bool


def judged(
    weights: Weights, learner: AgentState, spans: Spans, row: Chunk, seen: Array, known: Array
) -> tuple[Array, Array, Array]:
    """For states of one row: the logits of all actions, illegal ones out of reach, the values, and the reports."""
    codes, numbers = (jnp.broadcast_to(each, seen.shape) for each in (row.codes, row.numbers))
    layer = network.hidden(weights, spans, learner.moments, codes, numbers, seen)
    queries, reports = network.heads(weights, layer)
    logits = worths(queries, reports, known & ~seen, jnp.maximum(learner.n_classes, 1))
    return logits, layer @ weights.value + weights.value_bias, reports


def tested(learner: AgentState, spans: Spans, row: Chunk) -> tuple[Array, Array]:
    """The logits of the reports where the greedy policy ends, and its number of queries."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN

    def step(_: Array, carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        seen, probabilities, is_over = carried
        logits, _, reports = judged(learner.weights, learner, spans, row, seen[None], known)
        action = jnp.argmax(logits[0])
        ends = ~is_over & (action >= n_columns)
        is_over = is_over | ends
        looked = (jnp.arange(n_columns) == action) & ~is_over
        return seen | looked, jnp.where(ends, reports[0], probabilities), is_over

    start = (jnp.zeros(n_columns, bool), jnp.zeros(learner.weights.report_bias.shape), jnp.zeros((), bool))
    seen, probabilities, _ = lax.fori_loop(0, n_columns + 1, step, start)
    return probabilities, seen.sum()


def acted(
    learner: AgentState, spans: Spans, rule: Rule, row: Chunk, start: tuple[Array, Array], keys: Array
) -> tuple[Segment, Array, Array]:
    """Play a step for each key by drawing actions; gives them, what is seen then, and whether the episode is over."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN

    def step(carried: tuple[Array, Array], key: Array) -> tuple[tuple[Array, Array], Segment]:
        seen, is_over = carried
        logits, _, _ = judged(learner.weights, learner, spans, row, seen[None], known)
        action = jax.random.categorical(key, logits[0])
        ends = action >= n_columns
        reward = jnp.where(ends, (action - n_columns == row.labels).astype(jnp.float32), -rule.depth_penalty)
        looked = (jnp.arange(n_columns) == action) & ~is_over
        return (seen | looked, is_over | ends), Segment(seen, action, reward, ~is_over)

    (seen, is_over), segment = lax.scan(step, start, keys)
    return segment, seen, is_over


def update(
    learner: AgentState, spans: Spans, rule: Rule, row: Chunk, segment: Segment, seen: Array, is_over: Array
) -> tuple[AgentState, Array]:
    """One step down the losses of actor, critic and entropy over a segment."""
    known = row.codes != UNSEEN
    n_steps = jnp.maximum(segment.counts.sum(), 1)
    ahead = judged(learner.weights, learner, spans, row, seen[None], known)[1][0]

    def back(after: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, counts = step
        here = jnp.where(counts, reward + after, after)
        return here, here

    start = jnp.where(is_over, 0.0, ahead)
    _, returns = lax.scan(back, start, (segment.rewards, segment.counts), reverse=True)

    def loss(weights: Weights) -> tuple[Array, Array]:
        logits, values, _ = judged(weights, learner, spans, row, segment.seen, known)
        probabilities = jax.nn.log_softmax(logits)
        advantage = lax.stop_gradient(returns) - values
        taken = jnp.take_along_axis(probabilities, segment.actions[:, None], axis=1)[:, 0]
        critic = 0.5 * advantage**2
        actor = -taken * lax.stop_gradient(advantage)
        entropy = (jnp.exp(probabilities) * probabilities).sum(axis=1)
        parts = jnp.stack([actor, critic, rule.entropy * entropy]) * segment.counts
        means = parts.sum(axis=1) / n_steps
        return means.sum(), means[:2]

    (_, losses), gradient = jax.value_and_grad(loss, has_aux=True)(learner.weights)
    weights, adam = network.stepped(learner.weights, learner.adam, gradient, rule.learning_rate)
    moves = segment.counts.any()
    weights, adam = jax.tree.map(
        lambda new, old: jnp.where(moves, new, old), (weights, adam), (learner.weights, learner.adam)
    )
    return learner._replace(weights=weights, adam=adam), jnp.where(moves, losses, jnp.nan)


def learned(
    learner: AgentState, spans: Spans, rule: Rule, n_step: int, row: Chunk
) -> tuple[AgentState, tuple[Array, Array, Array]]:
    """Test one row, then play its episode and learn from it, segment by segment."""
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN
    probabilities, n_queries = tested(learner, spans, row)
    key, draws = jax.random.split(learner.key)
    ranks = jnp.where(known, 0, MISSING_RANK).astype(jnp.int16)
    learner = learner._replace(
        moments=network.noticed(learner.moments, row.numbers, known),
        n_classes=jnp.maximum(learner.n_classes, row.labels + 1),
        memory=remembered(learner.memory, row, ranks),
        key=key,
    )

    def one(turn: Array, carried: tuple[AgentState, Array, Array, Array]) -> tuple[AgentState, Array, Array, Array]:
        learner, seen, is_over, losses = carried
        keys = jax.random.split(jax.random.fold_in(draws, turn), n_step)
        segment, seen, ended = acted(learner, spans, rule, row, (seen, is_over), keys)
        learner, new = update(learner, spans, rule, row, segment, seen, ended)
        return learner, seen, ended, jnp.where(is_over, losses, new)

    n_segments = rule.learns * -(-(n_columns + 1) // n_step)
    start = (learner, jnp.zeros(n_columns, bool), jnp.zeros((), bool), jnp.full(2, jnp.nan))
    learner, _, _, losses = lax.fori_loop(0, n_segments, one, start)
    return learner, (probabilities, n_queries, losses)


def along(
    learner: AgentState, spans: Spans, rule: Rule, rows: Chunk, n: Array, n_step: int
) -> tuple[AgentState, Found]:
    """Learn the first n of the rows, one after the other."""
    return stretches.along(lambda learner, row: learned(learner, spans, rule, n_step, row), learner, rows, n)


run = jax.jit(along, static_argnames=("n_step",), donate_argnames=("learner",))
