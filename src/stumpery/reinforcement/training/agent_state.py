"""The agent state as named arrays: network, target network, optimiser state and replay memory. Needs NumPy alone.

A row consists of small codes: the index of a name among its column's names, or of a number's cell among its column's
cells; UNSEEN where it is missing or not observed. An input of the network is a span of codes of one column: a single
code for a name, all codes from a certain cell upwards for a number. Further inputs are a flag for each column that is
not observed, and the standardised numbers.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = Any  # a NumPy array between two runs, a jax array within
UNSEEN = -1
UNUSED_SPAN = np.inf  # lower end of a span that is not in use
MAX_DEVIATION = 10.0  # standard deviations at which standardised numbers are clipped
NOT_QUERIED = 32767  # rank of a column that was missing, so that no query reached it


class Spans(NamedTuple):
    """The inputs of the network: column, lowest and highest code of each."""

    column: Array  # (spans,) int32
    low: Array  # (spans,) float32, UNUSED_SPAN where the span is not in use yet
    high: Array  # (spans,) float32
    index: Array  # (columns, codes) int32: the span of a name's code, where vectors are gathered; else (columns, 0)


class ColumnMoments(NamedTuple):
    """Count, mean and sum of squared deviations of every column's numbers so far."""

    count: Array  # (columns,) float32, as the others
    mean: Array
    squares: Array


class Weights(NamedTuple):
    """A multi-layer perceptron whose outputs are the queries, the reports and, for a critic, the value."""

    into: Array  # (spans, width) float32, as all others
    flags: Array  # (2 * columns, width): of what is not observed, and of the numbers
    first: Array  # (width,)
    across: Array  # (width, width)
    second: Array  # (width,)
    queries: Array  # (width, columns)
    query_bias: Array  # (columns,)
    reports: Array  # (width, classes)
    report_bias: Array  # (classes,)
    value: Array  # (width,)
    value_bias: Array  # ()


class AdamState(NamedTuple):
    """Optimiser state of Adam: moving averages of gradients and squared gradients (Kingma and Ba 2015)."""

    mean: Weights
    square: Weights
    count: Array  # of steps; it does not overflow, see `network.adam_step`


class ReplayMemory(NamedTuple):
    """Replay memory: a ring of rows and of the order in which their columns were queried."""

    codes: Array  # (rows, columns) int16
    numbers: Array  # (rows, columns) float32
    ranks: Array  # (rows, columns) int16: position of a column's query in the rollout, or NOT_QUERIED
    labels: Array  # (rows,) int32
    priorities: Array  # (rows,) float32: absolute error of the network at the row's last update
    filled: Array  # number of latest rows that may be sampled
    time: Array  # rows appended, wrapped around below twice the capacity


class AgentState(NamedTuple):
    """Everything that training changes."""

    weights: Weights
    target: Weights
    adam: AdamState
    memory: ReplayMemory
    moments: ColumnMoments
    n_classes: Array
    errors: Array  # (2,) float32: error rates over few and over many rows
    key: Array  # (2,) uint32, random state of jax


class Chunk(NamedTuple):
    """Rows to learn from, padded to a fixed number."""

    codes: Array  # (rows, columns) int16
    numbers: Array  # (rows, columns) float32
    labels: Array  # (rows,) int32


class ChunkResult(NamedTuple):
    """What the training loop measured at each row."""

    report_values: Array  # (rows, classes): values or logits of the reports where the policy stops, before learning
    n_queries: Array  # (rows,): columns that the policy queried
    losses: Array  # (rows, 2): of queries and reports, or of actor and critic, in the row's last update


def glorot_uniform(rng: np.random.Generator, shape: tuple[int, ...], n_in: int, n_out: int) -> Array:
    """Glorot uniform initialisation (Glorot and Bengio 2010)."""
    limit = (6.0 / (n_in + n_out)) ** 0.5
    return rng.uniform(-limit, limit, shape).astype(np.float32)


def new_weights(rng: np.random.Generator, n_spans: int, n_columns: int, n_classes: int, width: int) -> Weights:
    """A randomly initialised network."""
    n_in, n_out = n_spans + 2 * n_columns, n_columns + n_classes
    return Weights(
        into=glorot_uniform(rng, (n_spans, width), n_in, width),
        flags=glorot_uniform(rng, (2 * n_columns, width), n_in, width),
        first=np.zeros(width, np.float32),
        across=glorot_uniform(rng, (width, width), width, width),
        second=np.zeros(width, np.float32),
        queries=glorot_uniform(rng, (width, n_columns), width, n_out),
        query_bias=np.zeros(n_columns, np.float32),
        reports=glorot_uniform(rng, (width, n_classes), width, n_out),
        report_bias=np.zeros(n_classes, np.float32),
        value=glorot_uniform(rng, (width,), width, 1),
        value_bias=np.zeros((), np.float32),
    )


def new_agent_state(seed: int, n_spans: int, n_columns: int, n_classes: int, width: int, n_rows: int) -> AgentState:
    """The initial state, with capacity for the given numbers of spans, classes and replay rows."""
    rng = np.random.default_rng(seed)
    weights = new_weights(rng, n_spans, n_columns, n_classes, width)
    memory = ReplayMemory(
        codes=np.zeros((n_rows, n_columns), np.int16),
        numbers=np.zeros((n_rows, n_columns), np.float32),
        ranks=np.full((n_rows, n_columns), NOT_QUERIED, np.int16),
        labels=np.zeros(n_rows, np.int32),
        priorities=np.ones(n_rows, np.float32),
        filled=np.zeros((), np.int32),
        time=np.zeros((), np.int32),
    )
    return AgentState(
        weights=weights,
        target=map_weights(weights, np.copy),
        adam=AdamState(
            map_weights(weights, np.zeros_like), map_weights(weights, np.zeros_like), np.zeros((), np.int32)
        ),
        memory=memory,
        moments=ColumnMoments(*(np.zeros(n_columns, np.float32) for _ in range(3))),
        n_classes=np.zeros((), np.int32),
        errors=np.zeros(2, np.float32),
        key=rng.integers(2**32, size=2, dtype=np.uint32),
    )


def grow(state: AgentState, seed: int, n_spans: int, n_classes: int) -> AgentState:
    """The same state with capacity for more spans and classes; the weights learned so far stay."""
    width, n_columns = state.weights.queries.shape
    rng = np.random.default_rng([seed, n_spans, n_classes])
    larger = new_weights(rng, n_spans, n_columns, n_classes, width)
    zeros = map_weights(larger, np.zeros_like)
    adam = AdamState(_enlarged(zeros, state.adam.mean), _enlarged(zeros, state.adam.square), state.adam.count)
    weights, target = _enlarged(larger, state.weights), _enlarged(larger, state.target)
    return state._replace(weights=weights, target=target, adam=adam)


def _enlarged(larger: Weights, smaller: Weights) -> Weights:
    """A copy of the larger network whose leading weights are those of the smaller one."""
    copy = map_weights(larger, np.copy)
    for new, old in zip(copy, smaller, strict=True):
        new[tuple(map(slice, old.shape))] = np.asarray(old)  # NumPy would hide an interrupt of jax's own copying
    return copy


def map_weights(weights: Weights, function: Any) -> Weights:
    """Apply a function to every array of a network."""
    return Weights(*map(function, weights))


def named_arrays(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every array of nested NamedTuples, with its dotted name."""
    for name, value in record._asdict().items():
        if hasattr(value, "_asdict"):
            yield from named_arrays(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def from_named_arrays(record: Any, arrays: dict[str, NDArray[Any]], prefix: str = "") -> Any:
    """A nested NamedTuple with the structure of `record`, made of named arrays."""
    return type(record)(
        *(
            from_named_arrays(value, arrays, f"{prefix}{name}.") if hasattr(value, "_asdict") else arrays[prefix + name]
            for name, value in record._asdict().items()
        )
    )
