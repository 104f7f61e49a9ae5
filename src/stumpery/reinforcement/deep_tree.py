"""What all trees learned by a network share: river's verbs, columns that open up, the extracted tree, files."""

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online import OnlineEncoder
from stumpery.labels.classes import Label, class_array, encode_classes
from stumpery.options import check_bool, check_number, check_whole, shown
from stumpery.reinforcement import deep_files, extraction
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.training.agent import Agent, Method, TrainingLog
from stumpery.reinforcement.training.learner import AgentState, Chunk, Found, Spans
from stumpery.reseeding import RiverClone
from stumpery.river import register_virtual_subclass
from stumpery.system.extras import need
from stumpery.types import Floats, Integers, State

MOST_NAMES = 30_000


@dataclass(kw_only=True, eq=False)
class DeepTree(DeclaredColumns, RiverClone):
    """A policy that looks at a row column by column and then reports its class: a decision tree.

    The columns are those of `schema`, or of the first rows to learn from. A row is a dict, in which an absent key is a
    missing value, or an array; many are a frame, a list of dicts or a matrix. Numbers are cut into `n_cells` cells at
    quantiles of the first `warm_up` rows; until these have come the commonest class is predicted. With `n_cells=None`
    numbers are used as they are. Values that are missing, and names never learned, are not there to query.
    """

    depth_penalty: float = 0.001
    learning_rate: float = 0.001
    width: int = 32
    warm_up: int = 1000
    n_cells: int | None = 32
    max_names: int = 256
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
        check_whole("max_names", self.max_names, 1, MOST_NAMES)
        check_whole("memory", self.memory, 1, 10_000_000)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        register_virtual_subclass(type(self), "Classifier")
        self._rows: OnlineEncoder | None = None
        self._classes: list[Label] = []
        self._waiting: list[tuple[Floats, Integers]] = []  # rows of the warm-up, and their labels
        self._counts: Floats = np.zeros(0)  # how often each class came in the warm-up
        self._trainee: Agent | None = None  # once the rows of the warm-up were walked
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise ValueError(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._start(self.schema)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes that came so far."""
        return tuple(self._classes)

    @property
    def n_bytes(self) -> int:
        """The memory that the model's arrays hold."""
        return sum(array.nbytes for array in self._arrays().values())

    def _start(self, schema: Schema) -> None:
        self._rows = OnlineEncoder.under(schema, self.max_names)
        self.schema = schema

    # Learning.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the class of a row."""
        self.follow([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`.

        Where this is interrupted, the first rows were learned, and the model can be used and go on.
        """
        self.follow(X, y)

    def test_then_learn(self, X: Any, y: Any) -> Floats:  # noqa: N803
        """The probabilities of `classes` for every row just before it was learned, (rows, classes)."""
        return self.follow(X, y).probabilities

    def follow(self, X: Any, y: Any) -> TrainingLog:  # noqa: N803
        """Learn many rows in one compiled loop, and see how that went."""
        known, rows, classes, labels = self._checked(X, y)
        watched = TrainingLog.of(len(rows), len(classes))
        if known is not None and len(rows):
            self._take(known, classes)
            try:
                n = self._wait(rows, labels, watched)
                if self._trainee is not None:
                    rest = watched.part(slice(n, None))
                    self._trainee.learn(self._method, rows[n:], labels[n:], known.is_categorical, rest)
            finally:
                self._drop_unlearned()
        return watched

    def _checked(self, X: Any, y: Any) -> tuple[OnlineEncoder | None, Floats, list[Label], Integers]:  # noqa: N803
        """Rows and labels, encoded, and what knows their names and classes; nothing has changed yet."""
        need("jax", "deep")
        classes, codes = encode_classes(y, self._classes)
        n = frames.n_rows(X, "X")
        if n != len(codes):
            raise ValueError(f"there are {n} rows and {len(codes)} labels")
        if n == 0:
            return self._rows, np.zeros((0, 1)), self._classes, np.zeros(0, np.int64)
        known = OnlineEncoder.of(X, self.max_names) if self._rows is None else self._rows
        known, rows = known.knowing(X)
        return known, rows[:], classes, codes.astype(np.int64)

    def _take(self, known: OnlineEncoder, classes: list[Label]) -> None:
        """Know more names, kinds and classes; a column that was always missing may turn out to hold names."""
        if self._rows is not None and (known.is_categorical != self._rows.is_categorical).any():
            late = known.is_categorical & ~self._rows.is_categorical
            self._waiting = [(np.where(late, 0.0, rows), labels) for rows, labels in self._waiting]
        self._rows, self._classes = known, classes
        self.__dict__["schema"] = known.schema

    def _wait(self, rows: Floats, labels: Integers, watched: TrainingLog) -> int:
        """Let rows of the warm-up wait, and begin once all have come; gives how many of these rows were among them."""
        if self._trainee is not None or self._rows is None:
            return 0
        n = min(self.warm_up - int(self._counts.sum()), len(rows))
        ones = (labels[:n, np.newaxis] == np.arange(len(self._classes))).astype(np.float64)
        counts = np.append(self._counts, np.zeros(len(self._classes) - len(self._counts)))
        before = counts + np.cumsum(ones, axis=0) - ones
        watched.probabilities[:n] = before / np.maximum(before.sum(axis=1, keepdims=True), 1.0)
        self._waiting.append((rows[:n].copy(), labels[:n]))
        self._counts = counts + ones.sum(axis=0)
        if self._counts.sum() == self.warm_up:
            self._begin(self._rows)
        return n

    def _begin(self, known: OnlineEncoder) -> None:
        """Walk the rows of the warm-up; what has done so is the trainee."""
        rows, labels = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
        trainee = Agent.of(known.schema, rows, int(labels.max()) + 1, self)
        trainee.learn(self._method, rows, labels, known.is_categorical, TrainingLog.of(len(rows), len(self._classes)))
        self._trainee, self._waiting = trainee, []

    def _drop_unlearned(self) -> None:
        """Drop classes whose first row was not reached, as learning was interrupted."""
        n_came = len(np.trim_zeros(self._counts, "b"))
        if self._trainee is not None:
            n_came = int(self._trainee.learner.n_classes)
        self._classes, self._counts = self._classes[:n_came], self._counts[:n_came]

    # Predicting.

    def predict_proba_one(self, x: Any) -> dict[Label, float]:
        """The probability of each class that came so far."""
        return dict(zip(self._classes, self.predict_proba_many([x])[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Label | None:
        """The class that is reported, or None before the first came."""
        found: Label | None = self.predict_many([x]).tolist()[0]
        return found

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """What the policy holds of each of `classes` where it reports, (rows, classes)."""
        n = frames.n_rows(X, "X")
        if self._rows is None or not self._classes:
            return np.zeros((n, len(self._classes)))
        rows = self._rows.one(X[0]).reshape(1, -1) if isinstance(X, list) and n == 1 else self._rows.many(X)[:]
        if self._trainee is None:
            return np.tile(self._counts / self._counts.sum(), (n, 1))
        return self._probabilities(self._trainee.ask(rows)[0])

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class that is reported for each row."""
        probabilities = self.predict_proba_many(X)
        if not self._classes:
            return np.full(len(probabilities), None, dtype=object)
        found: NDArray[Any] = class_array(self._classes)[probabilities.argmax(axis=1)]
        return found

    def depths_many(self, X: Any) -> Integers:  # noqa: N803
        """How many columns the policy looks at for each row."""
        if self._rows is None or self._trainee is None:
            return np.zeros(frames.n_rows(X, "X"), np.int64)
        return self._trainee.ask(self._rows.many(X)[:])[1]

    def tree(self, X: Any = None, *, merge: bool = True, max_nodes: int = 500_000) -> PolicyTree:  # noqa: N803
        """The policy as an explicit tree: all of it, or the part that the rows X take.

        Rows are counted at every node: those of X, or the remembered ones. With `merge`, a query whose branches all
        report the same class becomes that report.
        """
        check_bool("merge", merge)
        check_whole("max_nodes", max_nodes, 1, 2**31)
        if self._rows is None or not self._classes:
            raise ValueError("nothing has been learned yet: there is no tree")
        if self._trainee is None:
            return deep_files.single_leaf(self._rows, self.classes, self._counts)
        trainee, cells = self._trainee, self._trainee.cells
        if cells.as_they_are and cells.is_number.any():
            raise ValueError("numbers are used as they are, so no finite tree is the policy; give n_cells to cut them")
        if X is None:
            codes = np.asarray(trainee.learner.memory.codes)[: trainee.n_remembered]
        else:
            codes = cells.coded(self._rows.many(X)[:]).codes
        missed = trainee.missed if X is None else None
        nodes = extraction.extracted(trainee.policy(), cells, codes, missed, max_nodes)
        tree = PolicyTree(self._rows, cells, self.classes, nodes)
        return tree.merged() if merge else tree

    # Files.

    def state(self) -> State:
        """The recipe and the arrays."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        options["_classes"] = list(self._classes)
        if self.schema is not None:
            options["schema"] = self.schema.state().options
        return State(options, self._arrays())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        classes = options.pop("_classes")
        if options.get("schema") is not None:
            points = {"points": arrays.pop("schema.points")}
            options["schema"] = Schema.from_state(State(options["schema"], points))
        model = cls(**options)
        model._classes = deep_files.checked_classes(classes)
        if model._rows is None:
            if arrays or classes:
                raise ValueError("it has arrays or classes but no columns")
            return model
        model._rows = deep_files.checked_rows(model._rows, arrays)
        model._waiting = deep_files.checked_waiting(arrays, len(model._rows.seen), len(classes), model.warm_up)
        model._trainee = deep_files.checked_trainee(arrays, model._rows.is_categorical, len(classes), model)
        labels = [labels for _, labels in model._waiting]
        model._counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *labels]), minlength=len(classes)).astype(
            float
        )
        if arrays:
            raise ValueError(f"it has arrays {sorted(arrays)}, which it should not have")
        return model

    def _arrays(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        if self._rows is not None and self.schema is not None:
            found |= {f"schema.{name}": array for name, array in self.schema.state().arrays.items()}
            found["seen"] = self._rows.seen
        if self._waiting:
            rows, labels = zip(*self._waiting, strict=True)
            found |= {"waiting.rows": np.concatenate(rows), "waiting.labels": np.concatenate(labels)}
        return found if self._trainee is None else found | self._trainee.arrays()

    # What a kind of learner brings.

    @abstractmethod
    def _loop(self, learner: AgentState, spans: Spans, rows: Chunk, n: Any) -> tuple[AgentState, Found]:
        """Learn the first n rows."""

    @abstractmethod
    def _probabilities(self, worths: Floats) -> Floats:
        """Chances of classes from what their reports are worth, -inf for classes that had not come."""

    @property
    def _method(self) -> Method:
        return Method(self._loop, self._probabilities)
