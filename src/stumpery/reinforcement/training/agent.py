"""A model that is past its warm-up: its cells, its network and memory, and room for what is still to come."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema
from stumpery.reinforcement import extraction
from stumpery.reinforcement import policy_kernels as kernels
from stumpery.reinforcement.cells import Cells
from stumpery.reinforcement.policy_kernels import TreePolicy
from stumpery.reinforcement.training.learner import UNSEEN, AgentState, Chunk, Found, Spans, grown, named, new_learner
from stumpery.system.interruption import defer_interrupts
from stumpery.types import Floats, Integers

CHUNK_ROWS = 256  # rows that one run of the compiled loop can take
STEP = 16  # in which room for spans grows; more room means compiling anew
Loop = Callable[[AgentState, Spans, Chunk, Any], tuple[AgentState, Found]]  # learns the first n rows
Chances = Callable[[Floats], Floats]  # of classes, from the worths of their reports


class Method(NamedTuple):
    """How a kind of learner learns, and what it says of classes."""

    loop: Loop
    probabilities: Chances


class TrainingLog(NamedTuple):
    """What learning showed of each row."""

    probabilities: Floats  # (rows, classes), just before the row was learned
    n_queries: Integers  # (rows,): columns that the policy looked at
    losses: Floats  # (rows, 2), in the row's last update: of queries and reports, or of actor and critic; else NaN

    @classmethod
    def of(cls, n_rows: int, n_classes: int) -> "TrainingLog":
        """Before anything was seen."""
        return cls(np.zeros((n_rows, n_classes)), np.zeros(n_rows, np.int64), np.full((n_rows, 2), np.nan))

    def part(self, rows: slice) -> "TrainingLog":
        """Some of the rows, to write to."""
        return TrainingLog(self.probabilities[rows], self.n_queries[rows], self.losses[rows])


class Agent:
    """What a network has learned, and how it goes on."""

    def __init__(self, seed: int, cells: Cells, learner: AgentState, missed: NDArray[np.bool_]) -> None:
        self.seed = seed
        self.cells = cells
        self.learner = learner
        self.missed = missed  # which columns were ever missing
        self._policy: TreePolicy | None = None

    @classmethod
    def of(cls, schema: Schema, rows: Floats, n_classes: int, recipe: Any) -> "Agent":
        """A beginner with room for the names and classes of these rows, on which its cells are cut."""
        cells = Cells.of(schema, rows, recipe.n_cells)
        n_spans = room(len(cells.knowing(rows, cells.is_categorical).spans))
        n_columns = rows.shape[1]
        learner = new_learner(recipe.seed, n_spans, n_columns, max(2, n_classes), recipe.width, recipe.memory)
        return cls(recipe.seed, cells, learner, np.zeros(n_columns, bool))

    @property
    def spans(self) -> Spans:
        """The features of the network."""
        return self.cells.span_arrays(len(self.learner.weights.into))

    @property
    def n_remembered(self) -> int:
        """How many rows are remembered."""
        return min(int(self.learner.memory.time), len(self.learner.memory.labels))

    def learn(
        self, method: Method, rows: Floats, labels: Integers, is_categorical: NDArray[np.bool_], watched: TrainingLog
    ) -> None:
        """Learn all rows, a stretch at a time and as many as there is room for."""
        done = 0
        while done < len(rows):
            part = slice(done, done + CHUNK_ROWS)
            n = self._make_room(rows[part], labels[part], is_categorical)
            part = slice(done, done + n)
            n_came = int(self.learner.n_classes)
            stretch = self.stretch(rows[part], labels[part], is_categorical)
            with defer_interrupts():  # the loop takes the old learner's arrays for the new one's
                self.learner, found = method.loop(self.learner, self.spans, stretch, np.int32(n))
            watch(found, labels[part], n_came, watched.part(part), method.probabilities)
            done += n

    def stretch(self, rows: Floats, labels: Integers, is_categorical: NDArray[np.bool_]) -> Chunk:
        """Rows for the loop, whose names and missing values are known from now on."""
        self._policy = None
        self.cells = self.cells.knowing(rows, is_categorical)
        codes, numbers = self.cells.coded(rows)
        self.missed |= (codes == UNSEEN).any(axis=0)
        return Chunk(_padded(codes), _padded(numbers), _padded(labels.astype(np.int32)))

    def _make_room(self, rows: Floats, labels: Integers, is_categorical: NDArray[np.bool_]) -> int:
        """How many of the rows there is room for; where there was none for the first, there is more now."""
        n_spans, n_classes = len(self.learner.weights.into), self.learner.weights.reports.shape[1]
        first = self.cells.knowing(rows[:1], is_categorical)
        needs_spans, needs_classes = len(first.spans) > n_spans, labels[0] >= n_classes
        if needs_spans or needs_classes:  # twice as much each time, so that a thousand names take few steps
            n_spans = max(2 * n_spans, room(len(first.spans))) if needs_spans else n_spans
            n_classes = 2 * int(labels[0]) if needs_classes else n_classes
            self.grow(n_spans, n_classes)
        n_within = int(np.searchsorted(np.maximum.accumulate(labels), n_classes))
        return min(first.n_within(rows, n_spans), n_within)

    def grow(self, n_spans: int, n_classes: int) -> None:
        """Take room for so many spans and classes."""
        self.learner = grown(self.learner, self.seed, n_spans, n_classes)

    # Asking.

    def policy(self) -> TreePolicy:
        """The network, prepared for asking."""
        if self._policy is None:
            n_classes = int(self.learner.n_classes)
            self._policy = extraction.prepared(
                self.learner.weights, self.spans, self.learner.moments, self.cells, n_classes
            )
        return self._policy

    def ask(self, rows: Floats) -> tuple[Floats, Integers]:
        """The worths of the reports where the policy ends with each row, and how many columns it looked at."""
        policy = self.policy()
        codes, numbers = self.cells.coded(rows)
        standard = extraction.standardised(self.learner.moments, numbers, slice(None))
        worths, n_queries = np.empty((len(rows), int(self.learner.n_classes))), np.empty(len(rows), np.int64)
        kernels.walk(policy, codes, standard, worths, n_queries)
        return worths, n_queries

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, by name."""
        found = {f"cells.{name}": array for name, array in self.cells.arrays().items()}
        found |= {f"learner.{name}": np.atleast_1d(np.asarray(array)) for name, array in named(self.learner)}
        return found | {"missed": self.missed}


def watch(found: Found, labels: Integers, n_came: int, watched: TrainingLog, probabilities: Chances) -> None:
    """Write what the loop saw; a class has no probability before it came."""
    n, n_classes = len(labels), watched.probabilities.shape[1]
    came = np.maximum(np.maximum.accumulate(np.append(0, labels + 1))[:-1], n_came)
    worths = np.full((n, n_classes), -np.inf)
    known = np.asarray(found.probabilities)[:n, :n_classes]
    worths[:, : known.shape[1]] = np.where(np.arange(known.shape[1]) < came[:, np.newaxis], known, -np.inf)
    watched.probabilities[:n] = probabilities(worths)
    watched.n_queries[:n] = np.asarray(found.n_queries)[:n]
    watched.losses[:n] = np.asarray(found.losses)[:n]


def room(n_spans: int) -> int:
    """Room for so many spans, and for a quarter more to come."""
    return -(-5 * n_spans // (4 * STEP)) * STEP


def _padded(array: NDArray[Any]) -> NDArray[Any]:
    """A stretch of rows in an array of one length, so that one program serves all."""
    padded = np.zeros((CHUNK_ROWS, *array.shape[1:]), array.dtype)
    padded[: len(array)] = array
    return padded
