"""What training changes, as named arrays: a network, its twin, its moments, a memory of rows. NumPy alone.

A row comes as small codes: the place of a name among its column's names, or of a number among its column's cells;
UNSEEN where it is missing or not observed. A feature of the network is a span of codes of one column: a single code
for a name, all codes from some cell upwards for a number. Beside the spans stand a flag for each column that is not
observed, and the numbers themselves, standardised.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = Any  # NumPy's between two runs, jax's inside
UNSEEN = -1
NEVER = np.inf  # the low end of a span that is not in use
FARTHEST = 10.0  # deviations from its mean at which a number counts as no farther
MISSING_RANK = 32767  # in a walk, of a column that was not there to query


class Spans(NamedTuple):
    """The features: from which code to which of which column."""

    column: Array  # (spans,) int32
    low: Array  # (spans,) float32, NEVER where the span is not in use yet
    high: Array  # (spans,) float32
    place: Array  # (columns, codes) int32: which span a name's code is, where vectors are picked; else (columns, 0)


class Moments(NamedTuple):
    """Count, mean and squared deviations of every column's numbers so far."""

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


class Adam(NamedTuple):
    """Running means of gradients and of their squares (Kingma and Ba 2015)."""

    mean: Weights
    square: Weights
    count: Array  # of steps; it never runs over, see `network.stepped`


class Memory(NamedTuple):
    """A ring of rows and of how each was walked."""

    codes: Array  # (rows, columns) int16
    numbers: Array  # (rows, columns) float32
    ranks: Array  # (rows, columns) int16: when a column was queried, MISSING_RANK where there was nothing to query
    labels: Array  # (rows,) int32
    priorities: Array  # (rows,) float32: how wrong the network was about a row of late
    filled: Array  # how many of the latest rows may be sampled
    time: Array  # rows that came; from twice as many as there is room for it starts anew at that room


class AgentState(NamedTuple):
    """All that training changes."""

    weights: Weights
    target: Weights
    adam: Adam
    memory: Memory
    moments: Moments
    n_classes: Array
    errors: Array  # (2,) float32: the share of wrong reports, over few rows and over many
    key: Array  # (2,) uint32


class Chunk(NamedTuple):
    """Rows to learn, padded to a fixed number."""

    codes: Array  # (rows, columns) int16
    numbers: Array  # (rows, columns) float32
    labels: Array  # (rows,) int32


class Found(NamedTuple):
    """What the loop saw of each row."""

    probabilities: (
        Array  # (rows, classes): what each report was worth where the policy ended, before the row was learned
    )
    n_queries: Array  # (rows,): how many columns the policy looked at
    losses: Array  # (rows, 2): of queries and reports, or of actor and critic, in the row's last update


def glorot(rng: np.random.Generator, shape: tuple[int, ...], n_in: int, n_out: int) -> Array:
    """Uniform initial weights as Glorot and Bengio 2010 draw them."""
    reach = (6.0 / (n_in + n_out)) ** 0.5
    return rng.uniform(-reach, reach, shape).astype(np.float32)


def new_weights(rng: np.random.Generator, n_spans: int, n_columns: int, n_classes: int, width: int) -> Weights:
    """A fresh network."""
    n_in, n_out = n_spans + 2 * n_columns, n_columns + n_classes
    return Weights(
        into=glorot(rng, (n_spans, width), n_in, width),
        flags=glorot(rng, (2 * n_columns, width), n_in, width),
        first=np.zeros(width, np.float32),
        across=glorot(rng, (width, width), width, width),
        second=np.zeros(width, np.float32),
        queries=glorot(rng, (width, n_columns), width, n_out),
        query_bias=np.zeros(n_columns, np.float32),
        reports=glorot(rng, (width, n_classes), width, n_out),
        report_bias=np.zeros(n_classes, np.float32),
        value=glorot(rng, (width,), width, 1),
        value_bias=np.zeros((), np.float32),
    )


def new_learner(seed: int, n_spans: int, n_columns: int, n_classes: int, width: int, n_rows: int) -> AgentState:
    """A learner that knows nothing, with room for so many spans, classes and remembered rows."""
    rng = np.random.default_rng(seed)
    weights = new_weights(rng, n_spans, n_columns, n_classes, width)
    memory = Memory(
        codes=np.zeros((n_rows, n_columns), np.int16),
        numbers=np.zeros((n_rows, n_columns), np.float32),
        ranks=np.full((n_rows, n_columns), MISSING_RANK, np.int16),
        labels=np.zeros(n_rows, np.int32),
        priorities=np.ones(n_rows, np.float32),
        filled=np.zeros((), np.int32),
        time=np.zeros((), np.int32),
    )
    return AgentState(
        weights=weights,
        target=mapped(weights, np.copy),
        adam=Adam(mapped(weights, np.zeros_like), mapped(weights, np.zeros_like), np.zeros((), np.int32)),
        memory=memory,
        moments=Moments(*(np.zeros(n_columns, np.float32) for _ in range(3))),
        n_classes=np.zeros((), np.int32),
        errors=np.zeros(2, np.float32),
        key=rng.integers(2**32, size=2, dtype=np.uint32),
    )


def grown(learner: AgentState, seed: int, n_spans: int, n_classes: int) -> AgentState:
    """The same learner with room for more spans and classes; what it knows stays as it is."""
    width, n_columns = learner.weights.queries.shape
    rng = np.random.default_rng([seed, n_spans, n_classes])
    fresh = new_weights(rng, n_spans, n_columns, n_classes, width)
    zeros = mapped(fresh, np.zeros_like)
    adam = Adam(_over(zeros, learner.adam.mean), _over(zeros, learner.adam.square), learner.adam.count)
    return learner._replace(weights=_over(fresh, learner.weights), target=_over(fresh, learner.target), adam=adam)


def _over(larger: Weights, smaller: Weights) -> Weights:
    """A copy of the larger network with the smaller one in its corner."""
    found = mapped(larger, np.copy)
    for into, old in zip(found, smaller, strict=True):
        into[tuple(map(slice, old.shape))] = np.asarray(old)  # NumPy would hide an interruption of jax's own copying
    return found


def mapped(weights: Weights, function: Any) -> Weights:
    """A function of every array of a network."""
    return Weights(*map(function, weights))


def named(bundle: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every array of nested bundles, by a dotted name."""
    for name, value in bundle._asdict().items():
        if hasattr(value, "_asdict"):
            yield from named(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def filled(bundle: Any, arrays: dict[str, NDArray[Any]], prefix: str = "") -> Any:
    """A bundle like this one, of the arrays with these names."""
    return type(bundle)(
        *(
            filled(value, arrays, f"{prefix}{name}.") if hasattr(value, "_asdict") else arrays[prefix + name]
            for name, value in bundle._asdict().items()
        )
    )
