"""Rows of a stretch, one after the other, inside one compiled loop."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training.learner import AgentState, Chunk, Found

Step = Callable[[AgentState, Chunk], tuple[AgentState, tuple[Array, Array, Array]]]


def along(step: Step, learner: AgentState, rows: Chunk, n: Array) -> tuple[AgentState, Found]:
    """Take the step with each of the first n rows; give the learner and what was found."""
    size = rows.labels.shape[0]
    found = Found(
        jnp.zeros((size, *learner.weights.report_bias.shape)), jnp.zeros(size, jnp.int32), jnp.zeros((size, 2))
    )

    def one(place: Array, carried: tuple[AgentState, Found]) -> tuple[AgentState, Found]:
        learner, found = carried
        learner, new = step(learner, Chunk(*(table[place] for table in rows)))
        return learner, Found(*(table.at[place].set(value) for table, value in zip(found, new, strict=True)))

    done: tuple[AgentState, Found] = lax.fori_loop(0, n, one, (learner, found))
    return done
