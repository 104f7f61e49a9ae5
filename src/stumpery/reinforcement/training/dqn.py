"""DQN over partly observed rows: walk, remember, sample and update in one compiled loop. Needs NumPy and jax alone.

Algorithm 1 of Chaouki, Read and Bifet. A row is walked by queries alone until all of it is observed (truncated
exploration). What is remembered of a walk is the row and the rank of each column in it: the states of the walk are the
row with the columns of ranks below a step, so one ring holds what the paper keeps in two.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training import chunks as stretches
from stumpery.reinforcement.training import network
from stumpery.reinforcement.training.learner import (
    MISSING_RANK,
    UNSEEN,
    AgentState,
    Chunk,
    Found,
    Memory,
    Spans,
    Weights,
)
from stumpery.reinforcement.training.mdp import ILLEGAL, worths

FAST, SLOW = 1 / 200, 1 / 2000  # how quickly the two shares of wrong reports forget
N_AFTER_CHANGE = 200  # rows that are still sampled once the stream was seen to change
LEAST_PRIORITY = 1e-3


class Rule(NamedTuple):
    """The numbers among the options."""

    depth_penalty: Any
    epsilon: Any
    learning_rate: Any
    target_every: Any  # updates between two copies of the network
    n_updates: Any  # for each row; none while rows are only walked and remembered


class Kind(NamedTuple):
    """The options that decide what is compiled."""

    batch: int = 512
    double: bool = False
    all_reports: bool = True
    priority: float = 0.0
    drift: bool = False


def walked(learner: AgentState, spans: Spans, row: Chunk, epsilon: Array, key: Array) -> tuple[Array, Array, Array]:
    """Walk a row twice at once: as the policy would, and exploring.

    Gives the worths of reports where the policy ends, its number of queries, and the ranks of the exploring walk.
    """
    n_columns = row.codes.shape[0]
    known = row.codes != UNSEEN
    codes, numbers = (jnp.broadcast_to(each, (2, n_columns)) for each in (row.codes, row.numbers))
    draws = jax.random.uniform(key, (n_columns + 1, n_columns + 1))

    def step(place: Array, carried: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        seen, ranks, probabilities, is_over = carried
        layer = network.hidden(learner.weights, spans, learner.moments, codes, numbers, seen)
        queries, reports = network.heads(learner.weights, layer)
        may_query = known & ~seen
        action = jnp.argmax(worths(queries[0], reports[0], may_query[0], learner.n_classes))
        ends = ~is_over & (action >= n_columns)
        probabilities = jnp.where(ends, reports[0], probabilities)
        is_over = is_over | ends
        wanted = jnp.where(draws[place, -1] < epsilon, draws[place, :-1], queries[1])
        tried = jnp.argmax(jnp.where(may_query[1], wanted, ILLEGAL))
        looks = jnp.stack([~is_over, may_query[1].any()])
        looked = (jnp.arange(n_columns) == jnp.stack([action, tried])[:, None]) & looks[:, None]
        ranks = jnp.where(looked[1], place.astype(jnp.int16), ranks)
        return seen | looked, ranks, probabilities, is_over

    start = (
        jnp.zeros((2, n_columns), bool),
        jnp.full(n_columns, MISSING_RANK, jnp.int16),
        jnp.zeros(learner.weights.report_bias.shape),
        jnp.zeros((), bool),
    )
    seen, ranks, probabilities, _ = lax.fori_loop(0, n_columns + 1, step, start)
    return probabilities, seen[0].sum(), ranks


def remembered(memory: Memory, row: Chunk, ranks: Array) -> Memory:
    """The memory with one more row in place of the oldest."""
    n_rows = memory.labels.shape[0]
    place = memory.time % n_rows
    return Memory(
        codes=memory.codes.at[place].set(row.codes),
        numbers=memory.numbers.at[place].set(row.numbers),
        ranks=memory.ranks.at[place].set(ranks),
        labels=memory.labels.at[place].set(row.labels),
        priorities=memory.priorities.at[place].set(1.0),  # the most wrong that a value between 0 and 1 can be
        filled=jnp.minimum(memory.filled + 1, n_rows),
        time=jnp.where(memory.time + 1 < 2 * n_rows, memory.time + 1, n_rows),
    )


def sampled(memory: Memory, draws: Array, priority: float) -> tuple[Array, Array]:
    """Places of remembered rows, uniformly or by how wrong the network was about them, and their weights."""
    n_rows = memory.labels.shape[0]
    if not priority:
        back = (draws * memory.filled).astype(jnp.int32)
        return (memory.time - 1 - back) % n_rows, jnp.ones_like(draws)
    age = (memory.time - 1 - jnp.arange(n_rows)) % n_rows
    probabilities = jnp.where(age < memory.filled, memory.priorities**priority, 0.0)
    upto = jnp.cumsum(probabilities)
    places = jnp.minimum(jnp.searchsorted(upto, draws * upto[-1]), n_rows - 1)
    weight = lax.rsqrt(jnp.maximum(probabilities[places], 1e-12))  # half of the bias is taken back
    return places, weight / jnp.max(weight)


def update(learner: AgentState, spans: Spans, rule: Rule, kind: Kind, key: Array) -> tuple[AgentState, Array]:
    """One step down the loss of a batch: half of its states for their query, half for their reports."""
    pick, at, report = jax.random.uniform(key, (3, kind.batch))
    memory, half = learner.memory, kind.batch // 2
    places, weight = sampled(memory, pick, kind.priority)
    codes, numbers, ranks = memory.codes[places], memory.numbers[places], memory.ranks[places]
    known = ranks < MISSING_RANK
    n_known = known.sum(axis=1)
    n_states = n_known + (jnp.arange(kind.batch) >= half)  # after the last query there is still a report
    step = jnp.floor(at * n_states).astype(jnp.int16)[:, None]
    seen, queried, after = ranks < step, (ranks == step)[:half], (ranks <= step)[:half]
    has_query = n_known[:half] > 0
    classes = jnp.arange(learner.weights.report_bias.shape[0])
    is_right = (memory.labels[places][half:, None] == classes).astype(jnp.float32)
    if kind.all_reports:
        told = (classes < learner.n_classes) / learner.n_classes
    else:
        told = (jnp.floor(report[half:, None] * learner.n_classes) == classes).astype(jnp.float32)

    def outputs(weights: Weights, which: slice, seen: Array) -> tuple[Array, Array]:
        layer = network.hidden(weights, spans, learner.moments, codes[which], numbers[which], seen)
        return network.heads(weights, layer)

    def next_worths(weights: Weights) -> Array:
        return worths(*outputs(weights, slice(half), after), known[:half] & ~after, learner.n_classes)

    of_target = next_worths(learner.target)
    chosen = jnp.argmax(next_worths(learner.weights) if kind.double else of_target, axis=1)
    value = jnp.take_along_axis(of_target, chosen[:, None], axis=1)[:, 0]
    goal = lax.stop_gradient(jnp.clip(value, 0.0, 1.0) - rule.depth_penalty)

    def loss(weights: Weights) -> tuple[Array, tuple[Array, Array]]:
        queries, reports = outputs(weights, slice(None), seen)
        of_query = (jnp.where(queried, queries[:half], 0.0).sum(axis=1) - goal) ** 2 * has_query
        of_report = ((reports[half:] - is_right) ** 2 * told).sum(axis=1)
        misses = jnp.concatenate([of_query, of_report])
        both = (misses * weight).reshape(2, half).mean(axis=1)
        return both.sum(), (both, misses)

    (_, (losses, misses)), gradient = jax.value_and_grad(loss, has_aux=True)(learner.weights)
    weights, adam = network.stepped(learner.weights, learner.adam, gradient, rule.learning_rate)
    is_due = adam.count % rule.target_every == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), weights, learner.target)
    if kind.priority:
        memory = memory._replace(priorities=memory.priorities.at[places].set(jnp.sqrt(misses) + LEAST_PRIORITY))
    return learner._replace(weights=weights, target=target, adam=adam, memory=memory), losses


def recovered(learner: AgentState, is_wrong: Array) -> AgentState:
    """Follow the share of wrong reports; where it has risen beyond chance, forget all but the latest rows."""
    fast, slow = learner.errors + (is_wrong - learner.errors) * jnp.array([FAST, SLOW])
    bound = 4.0 * jnp.sqrt(jnp.maximum(slow * (1.0 - slow), 0.01) * FAST / 2.0)
    memory = learner.memory
    changed = (fast > slow + bound) & (memory.filled > 5 * N_AFTER_CHANGE)
    memory = memory._replace(filled=jnp.where(changed, N_AFTER_CHANGE, memory.filled))
    return learner._replace(memory=memory, errors=jnp.stack([fast, jnp.where(changed, fast, slow)]))


def learned(
    learner: AgentState, spans: Spans, rule: Rule, kind: Kind, row: Chunk
) -> tuple[AgentState, tuple[Array, Array, Array]]:
    """Test, walk and remember one row, then update."""
    key, walk, draws = jax.random.split(learner.key, 3)
    probabilities, n_queries, ranks = walked(learner, spans, row, rule.epsilon, walk)
    is_class = jnp.arange(probabilities.shape[0]) < learner.n_classes
    is_wrong = jnp.argmax(jnp.where(is_class, probabilities, ILLEGAL)) != row.labels
    learner = learner._replace(
        moments=network.noticed(learner.moments, row.numbers, row.codes != UNSEEN),
        n_classes=jnp.maximum(learner.n_classes, row.labels + 1),
        memory=remembered(learner.memory, row, ranks),
        key=key,
    )
    if kind.drift:
        learner = recovered(learner, is_wrong.astype(jnp.float32))

    def again(turn: Array, carried: tuple[AgentState, Array]) -> tuple[AgentState, Array]:
        return update(carried[0], spans, rule, kind, jax.random.fold_in(draws, turn))

    learner, losses = lax.fori_loop(0, rule.n_updates, again, (learner, jnp.full(2, jnp.nan)))
    return learner, (probabilities, n_queries, losses)


def along(learner: AgentState, spans: Spans, rule: Rule, rows: Chunk, n: Array, kind: Kind) -> tuple[AgentState, Found]:
    """Learn the first n of the rows, one after the other."""
    return stretches.along(lambda learner, row: learned(learner, spans, rule, kind, row), learner, rows, n)


run = jax.jit(along, static_argnames=("kind",), donate_argnames=("learner",))


@partial(jax.jit, static_argnames=("kind",), donate_argnames=("learner",))
def run_seeds(
    learner: AgentState, spans: Spans, rule: Rule, rows: Chunk, n: Array, kind: Kind
) -> tuple[AgentState, Found]:
    """The same for several learners at once."""
    found: tuple[AgentState, Found] = jax.vmap(partial(along, kind=kind), in_axes=(0, None, None, None, None))(
        learner, spans, rule, rows, n
    )
    return found
