"""Training loop: the train step for each row of a chunk, compiled as one jax program."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from stumpery.reinforcement.training.agent_state import AgentState, Chunk, ChunkResult

TrainStep = Callable[[AgentState, Chunk], tuple[AgentState, tuple[Array, Array, Array]]]


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
