"""Base class of decision trees built by deep reinforcement learning: learning, prediction, extraction, files."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import InvalidInput
from stumpery.labels.classes import Label, checked_classes, class_array, encode_classes
from stumpery.options import check_bool, check_number, check_whole, shown
from stumpery.reinforcement import saved_agent, tree_extraction
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.training.agent import Agent, TrainingLog, TrainingMethod
from stumpery.reinforcement.training.agent_state import AgentState, Chunk, ChunkResult, Spans
from stumpery.river import register_virtual_subclass
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check
from stumpery.system.extras import need
from stumpery.types import Floats, Integers

MAX_CATEGORIES = 30_000  # codes are 16-bit integers


@dataclass(kw_only=True, eq=False)
class DeepTree(DeclaredColumns):
    """Decision tree built by deep reinforcement learning: a policy queries columns one by one, then reports a class.

    Base class of `DQNTree` and `ActorCriticTree`. A row is a dict, in which an absent key is a missing value, or an
    array; many rows are a frame, a list of dicts or a matrix. Missing values, and names never learned, cannot be
    queried. During the warm-up the most frequent class is predicted.

    Args:
        depth_penalty: Price of one query, in units of accuracy, 0 to 1.
        learning_rate: Learning rate of the optimiser, above 0 and at most 1.
        width: Number of hidden units, from 1 to 4096.
        warm_up: Number of rows that define the cells of numbers, from 1 to 1,000,000.
        n_cells: Cells per numerical column, from 1 to 240, cut at quantiles; None gives the network the numbers.
        max_categories: Number of categories of a column that are told apart, from 1 to 30,000.
        memory: Capacity of the replay memory in rows, from 1 to 10,000,000.
        schema: The columns; None infers them from the first rows.
        seed: Seed of the network and of the rollouts, from 0 to 2^63 - 1.
    """

    depth_penalty: float = 0.001
    learning_rate: float = 0.001
    width: int = 32
    warm_up: int = 200
    n_cells: int | None = 32
    max_categories: int = 256
    memory: int = 50_000
    schema: Schema | None = None
    seed: int = 0

    _supervised: ClassVar[bool] = True  # as river asks
    _multiclass: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("depth_penalty", self.depth_penalty, 0, 1)
        check_number("learning_rate", self.learning_rate, 0, 1, above=True)
        check_whole("width", self.width, 1, 4096)
        check_whole("warm_up", self.warm_up, 1, 1_000_000)
        if self.n_cells is not None:
            check_whole("n_cells", self.n_cells, 1, 240)
        check_whole("max_categories", self.max_categories, 1, MAX_CATEGORIES)
        check_whole("memory", self.memory, 1, 10_000_000)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        register_virtual_subclass(type(self), "Classifier")
        self._encoder: OnlineEncoder | None = None
        self._classes: list[Label] = []
        self._warm_up_rows: list[tuple[Floats, Integers]] = []  # and their labels
        self._counts: Floats = np.zeros(0)  # of classes in the warm-up
        self._agent: Agent | None = None  # from the end of the warm-up on
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise InvalidInput(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._start(self.schema)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes that occurred so far."""
        return tuple(self._classes)

    def _start(self, schema: Schema) -> None:
        self._encoder = OnlineEncoder.from_schema(schema, self.max_categories)
        self._set_option("schema", self._encoder.schema)

    # Learning.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from one row and its class."""
        self.learn_logged([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, equal to a loop of `learn_one`; an invalid row raises and changes nothing.

        After an interrupt the first rows are learned, and the model can be used and trained further.
        """
        self.learn_logged(X, y)

    def test_then_learn(self, X: Any, y: Any) -> Floats:  # noqa: N803
        """Prequential prediction: class probabilities of each row just before it is learned, (rows, classes)."""
        return self.learn_logged(X, y).probabilities

    def learn_logged(self, X: Any, y: Any) -> TrainingLog:  # noqa: N803
        """Learn from many rows like `learn_many`; returns predictions, queries and losses as a `TrainingLog`."""
        encoder, rows, classes, labels = self._encode(X, y)
        log = TrainingLog.of(len(rows), len(classes))
        if encoder is not None and len(rows):
            self._extend(encoder, classes)
            try:
                n = self._collect_warm_up(rows, labels, log)
                if self._agent is not None:
                    rest = log.part(slice(n, None))
                    self._agent.learn(self._method, rows[n:], labels[n:], encoder.is_categorical, rest)
            finally:
                self._drop_unlearned_classes()
        return log

    def _encode(self, X: Any, y: Any) -> tuple[OnlineEncoder | None, Floats, list[Label], Integers]:  # noqa: N803
        """The encoder and classes extended by these rows, the encoded rows and labels; changes nothing."""
        need("jax", "deep")
        classes, codes = encode_classes(y, self._classes)
        n = frames.n_rows(X, "X")
        if n != len(codes):
            raise InvalidInput(f"there are {n} rows and {len(codes)} labels")
        if n == 0:
            return self._encoder, np.zeros((0, 1)), self._classes, np.zeros(0, np.int64)
        encoder = OnlineEncoder.from_rows(X, self.max_categories) if self._encoder is None else self._encoder
        encoder, rows = encoder.extend(X)
        return encoder, rows[:], classes, codes.astype(np.int64)

    def _extend(self, encoder: OnlineEncoder, classes: list[Label]) -> None:
        """Adopt an extended encoder and classes; a column without values so far may become one of names."""
        if self._encoder is not None and (encoder.is_categorical != self._encoder.is_categorical).any():
            late = encoder.is_categorical & ~self._encoder.is_categorical
            self._warm_up_rows = [(np.where(late, 0.0, rows), labels) for rows, labels in self._warm_up_rows]
        self._encoder, self._classes = encoder, classes
        self._set_option("schema", encoder.schema)

    def _collect_warm_up(self, rows: Floats, labels: Integers, log: TrainingLog) -> int:
        """Store the rows that belong to the warm-up, and end it with its last one; returns how many there were."""
        if self._agent is not None or self._encoder is None:
            return 0
        n = min(self.warm_up - int(self._counts.sum()), len(rows))
        ones = (labels[:n, np.newaxis] == np.arange(len(self._classes))).astype(np.float64)
        counts = np.append(self._counts, np.zeros(len(self._classes) - len(self._counts)))
        before = counts + np.cumsum(ones, axis=0) - ones
        log.probabilities[:n] = before / np.maximum(before.sum(axis=1, keepdims=True), 1.0)
        self._warm_up_rows.append((rows[:n].copy(), labels[:n]))
        self._counts = counts + ones.sum(axis=0)
        if self._counts.sum() == self.warm_up:
            self._end_warm_up(self._encoder)
        return n

    def _end_warm_up(self, encoder: OnlineEncoder) -> None:
        """Make the agent and fill its replay memory with the rows of the warm-up."""
        rows, labels = (np.concatenate(blocks) for blocks in zip(*self._warm_up_rows, strict=True))
        agent = Agent.of(encoder.schema, rows, int(labels.max()) + 1, self)
        agent.learn(self._method, rows, labels, encoder.is_categorical, TrainingLog.of(len(rows), len(self._classes)))
        self._agent, self._warm_up_rows = agent, []

    def _drop_unlearned_classes(self) -> None:
        """Drop classes whose first row was not learned because of an interrupt."""
        n_learned = len(np.trim_zeros(self._counts, "b"))
        if self._agent is not None:
            n_learned = int(self._agent.state.n_classes)
        self._classes, self._counts = self._classes[:n_learned], self._counts[:n_learned]

    # Predicting.

    def predict_proba_one(self, x: Any) -> dict[Label, float]:
        """The probability of each class that occurred so far."""
        return dict(zip(self._classes, self.predict_proba_many([x])[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Label | None:
        """The reported class; None before the first row was learned."""
        label: Label | None = self.predict_many([x]).tolist()[0]
        return label

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes` where the policy reports, (rows, classes)."""
        n = frames.n_rows(X, "X")
        if self._encoder is None or not self._classes:
            return np.zeros((n, len(self._classes)))
        single = isinstance(X, list) and n == 1
        rows = self._encoder.encode_one(X[0]).reshape(1, -1) if single else self._encoder.encode_many(X)[:]
        if self._agent is None:
            return np.tile(self._counts / self._counts.sum(), (n, 1))
        return self._class_probabilities(self._agent.report_values(rows)[0])

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The reported class of each row."""
        probabilities = self.predict_proba_many(X)
        if not self._classes:
            return np.full(len(probabilities), None, dtype=object)
        labels: NDArray[Any] = class_array(self._classes)[probabilities.argmax(axis=1)]
        return labels

    def depths_many(self, X: Any) -> Integers:  # noqa: N803
        """The depth of each row: how many columns the policy queries."""
        if self._encoder is None or self._agent is None:
            return np.zeros(frames.n_rows(X, "X"), np.int64)
        return self._agent.report_values(self._encoder.encode_many(X)[:])[1]

    def tree(self, X: Any = None, *, merge: bool = True, max_nodes: int = 500_000) -> PolicyTree:  # noqa: N803
        """Extract the policy as an explicit decision tree: all of it, or the branches that the rows X take.

        Nodes count the rows of X, or of the replay memory. With `merge`, a query whose branches all report the same
        class becomes a leaf. A tree of more than `max_nodes` nodes raises a ValueError.
        """
        check_bool("merge", merge)
        check_whole("max_nodes", max_nodes, 1, 2**31)
        if self._encoder is None or not self._classes:
            raise InvalidInput("nothing has been learned yet: there is no tree")
        if self._agent is None:
            return saved_agent.single_leaf(self._encoder, self.classes, self._counts)
        agent, cells = self._agent, self._agent.cells
        if cells.as_they_are and cells.is_number.any():
            raise InvalidInput(
                "n_cells is None: numbers are not discretised, so no finite tree equals the policy; set n_cells"
            )
        if X is None:
            codes = np.asarray(agent.state.memory.codes)[: agent.n_replay_rows]
        else:
            codes = cells.coded(self._encoder.encode_many(X)[:]).codes
        missed = agent.missed if X is None else None
        nodes = tree_extraction.extract_tree(agent.network(), cells, codes, missed, max_nodes)
        tree = PolicyTree(self._encoder, cells, self.classes, nodes)
        return tree.merged() if merge else tree

    # Files.

    def _options(self) -> Options:
        return {**super()._options(), "_classes": list(self._classes)}

    def _arrays(self) -> Arrays:
        arrays: Arrays = {} if self._encoder is None else {"seen": self._encoder.seen}
        if self._warm_up_rows:
            rows, labels = zip(*self._warm_up_rows, strict=True)
            arrays |= {"waiting.rows": np.concatenate(rows), "waiting.labels": np.concatenate(labels)}
        return arrays if self._agent is None else arrays | self._agent.arrays()

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._classes = checked_classes(learned.pop("_classes"))
        n_classes = len(self._classes)
        if self._encoder is None:
            check(not arrays and not n_classes, "there are arrays or classes but no columns")
            return
        self._encoder = saved_agent.checked_rows(self._encoder, arrays)
        self._warm_up_rows = saved_agent.checked_warm_up(arrays, len(self._encoder.seen), n_classes, self.warm_up)
        self._agent = saved_agent.checked_agent(arrays, self._encoder.is_categorical, n_classes, self)
        labels = np.concatenate([np.zeros(0, np.int64), *(labels for _, labels in self._warm_up_rows)])
        self._counts = np.bincount(labels, minlength=n_classes).astype(float)
        check(not arrays, f"unknown arrays {sorted(arrays)}")

    # Defined by subclasses.

    @abstractmethod
    def _train_chunk(self, state: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, ChunkResult]:
        """Train on the first n rows of a chunk."""

    @abstractmethod
    def _class_probabilities(self, report_values: Floats) -> Floats:
        """Class probabilities from the values of reports, -inf for classes that have not occurred, (rows, classes)."""

    @property
    def _method(self) -> TrainingMethod:
        return TrainingMethod(self._train_chunk, self._class_probabilities)
