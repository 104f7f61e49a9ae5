"""The agent of a deep tree after its warm-up: discretisation, network, replay memory and their growth."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema
from stumpery.reinforcement import inference_kernels as kernels
from stumpery.reinforcement import tree_extraction
from stumpery.reinforcement.discretisation import Discretisation
from stumpery.reinforcement.inference_kernels import InferenceNetwork
from stumpery.reinforcement.training.agent_state import (
    UNSEEN,
    AgentState,
    Chunk,
    ChunkResult,
    Spans,
    grow,
    named_arrays,
    new_agent_state,
)
from stumpery.system.interruption import defer_interrupts
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from stumpery.reinforcement.deep_tree import DeepTree

logger = logging.getLogger(__name__)

CHUNK_ROWS = 256  # rows per call of the compiled loop
SPAN_STEP = 16  # the capacity for spans is a multiple of it; each growth recompiles
TrainChunk = Callable[[AgentState, Spans, Chunk, Any], tuple[AgentState, ChunkResult]]  # trains on the first n rows
ClassProbabilities = Callable[[Floats], Floats]  # from the values of the reports, (rows, classes)


class TrainingMethod(NamedTuple):
    """How an agent trains on a chunk of rows, and turns report values into class probabilities."""

    train_chunk: TrainChunk
    class_probabilities: ClassProbabilities


class TrainingLog(NamedTuple):
    """Training log: predictions, queries and losses of each row.

    Args:
        probabilities: Class probabilities predicted just before the row was learned, (rows, classes).
        n_queries: Number of columns that the policy queried, (rows,).
        losses: Losses of the row's last update, (rows, 2): of queries and reports, or of actor and critic. NaN if the
            row made no update.
    """

    probabilities: Floats
    n_queries: Integers
    losses: Floats

    @classmethod
    def of(cls, n_rows: int, n_classes: int) -> "TrainingLog":
        """An empty log."""
        return cls(np.zeros((n_rows, n_classes)), np.zeros(n_rows, np.int64), np.full((n_rows, 2), np.nan))

    def part(self, rows: slice) -> "TrainingLog":
        """Some of its rows, as views."""
        return TrainingLog(self.probabilities[rows], self.n_queries[rows], self.losses[rows])


class Agent:
    """An agent: discretisation, state of the network and replay memory, and which columns were ever missing."""

    def __init__(self, seed: int, cells: Discretisation, state: AgentState, missed: NDArray[np.bool_]) -> None:
        self.seed = seed
        self.cells = cells
        self.state = state
        self.missed = missed
        self._network: InferenceNetwork | None = None

    @classmethod
    def of(cls, schema: Schema, rows: Floats, n_classes: int, options: "DeepTree") -> "Agent":
        """An untrained agent; numbers are discretised by the quantiles of `rows`."""
        cells = Discretisation.of(schema, rows, options.n_cells)
        n_spans = span_capacity(len(cells.extended(rows, cells.is_categorical).spans))
        n_columns = rows.shape[1]
        state = new_agent_state(options.seed, n_spans, n_columns, max(2, n_classes), options.width, options.memory)
        return cls(options.seed, cells, state, np.zeros(n_columns, bool))

    @property
    def spans(self) -> Spans:
        """The inputs of the network, padded to its capacity."""
        return self.cells.span_arrays(len(self.state.weights.into))

    @property
    def n_replay_rows(self) -> int:
        """The number of rows in the replay memory."""
        return min(int(self.state.memory.time), len(self.state.memory.labels))

    def learn(
        self,
        method: TrainingMethod,
        rows: Floats,
        labels: Integers,
        is_categorical: NDArray[np.bool_],
        log: TrainingLog,
    ) -> None:
        """Train on rows, chunk by chunk, growing the capacity for names and classes; fills `log` in place."""
        done = 0
        while done < len(rows):
            part = slice(done, done + CHUNK_ROWS)
            n = self._ensure_capacity(rows[part], labels[part], is_categorical)
            part = slice(done, done + n)
            n_known = int(self.state.n_classes)
            chunk = self.chunk(rows[part], labels[part], is_categorical)
            with defer_interrupts():  # the old state's arrays are donated to the new one
                self.state, result = method.train_chunk(self.state, self.spans, chunk, np.int32(n))
            write_log(result, labels[part], n_known, log.part(part), method.class_probabilities)
            done += n

    def chunk(self, rows: Floats, labels: Integers, is_categorical: NDArray[np.bool_]) -> Chunk:
        """Encode rows for the training loop; their new names are added to the discretisation."""
        self._network = None
        self.cells = self.cells.extended(rows, is_categorical)
        codes, numbers = self.cells.coded(rows)
        self.missed |= (codes == UNSEEN).any(axis=0)
        return Chunk(_padded(codes), _padded(numbers), _padded(labels.astype(np.int32)))

    def _ensure_capacity(self, rows: Floats, labels: Integers, is_categorical: NDArray[np.bool_]) -> int:
        """Grow the network if the first row needs it; returns how many of the rows fit."""
        n_spans, n_classes = len(self.state.weights.into), self.state.weights.reports.shape[1]
        first = self.cells.extended(rows[:1], is_categorical)
        needs_spans, needs_classes = len(first.spans) > n_spans, labels[0] >= n_classes
        if needs_spans or needs_classes:  # doubling: a thousand names compile only a few times
            n_spans = max(2 * n_spans, span_capacity(len(first.spans))) if needs_spans else n_spans
            n_classes = 2 * int(labels[0]) if needs_classes else n_classes
            logger.debug("growing the network to %d spans and %d classes", n_spans, n_classes)
            self.grow(n_spans, n_classes)
        n_labels = int(np.searchsorted(np.maximum.accumulate(labels), n_classes))
        return min(first.n_fitting(rows, n_spans), n_labels)

    def grow(self, n_spans: int, n_classes: int) -> None:
        """Enlarge the network to this capacity for spans and classes."""
        self.state = grow(self.state, self.seed, n_spans, n_classes)

    # Inference.

    def network(self) -> InferenceNetwork:
        """The network prepared for inference, cached until the next training."""
        if self._network is None:
            n_classes = int(self.state.n_classes)
            self._network = tree_extraction.inference_network(
                self.state.weights, self.spans, self.state.moments, self.cells, n_classes
            )
        return self._network

    def report_values(self, rows: Floats) -> tuple[Floats, Integers]:
        """The values of the reports where the policy stops with each row, and its number of queries."""
        codes, numbers = self.cells.coded(rows)
        standardised = tree_extraction.standardise(self.state.moments, numbers, slice(None))
        report_values = np.empty((len(rows), int(self.state.n_classes)))
        n_queries = np.empty(len(rows), np.int64)
        kernels.rollout(self.network(), codes, standardised, report_values, n_queries)
        return report_values, n_queries

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that is saved, by name."""
        arrays = {f"cells.{name}": array for name, array in self.cells.arrays().items()}
        arrays |= {f"learner.{name}": np.atleast_1d(np.asarray(array)) for name, array in named_arrays(self.state)}
        return arrays | {"missed": self.missed}


def write_log(
    result: ChunkResult, labels: Integers, n_known: int, log: TrainingLog, class_probabilities: ClassProbabilities
) -> None:
    """Write the result of a chunk to the log; a class has probability 0 before it occurred."""
    n, n_classes = len(labels), log.probabilities.shape[1]
    n_before = np.maximum(np.maximum.accumulate(np.append(0, labels + 1))[:-1], n_known)
    values = np.full((n, n_classes), -np.inf)
    logged = np.asarray(result.report_values)[:n, :n_classes]
    values[:, : logged.shape[1]] = np.where(np.arange(logged.shape[1]) < n_before[:, np.newaxis], logged, -np.inf)
    log.probabilities[:n] = class_probabilities(values)
    log.n_queries[:n] = np.asarray(result.n_queries)[:n]
    log.losses[:n] = np.asarray(result.losses)[:n]


def span_capacity(n_spans: int) -> int:
    """Capacity for this many spans and a quarter more."""
    return -(-5 * n_spans // (4 * SPAN_STEP)) * SPAN_STEP


def _padded(array: NDArray[Any]) -> NDArray[Any]:
    """Rows padded with zeros to CHUNK_ROWS, so that the loop is compiled for one shape."""
    padded = np.zeros((CHUNK_ROWS, *array.shape[1:]), array.dtype)
    padded[: len(array)] = array
    return padded
