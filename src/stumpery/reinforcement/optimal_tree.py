"""Optimal decision tree by dynamic programming, for small problems."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online_encoder import N_FIRST_ROWS, OnlineEncoder
from stumpery.errors import InvalidInput
from stumpery.labels.classes import Label, checked_classes, class_array, encode_classes
from stumpery.options import check_number, check_whole, shown
from stumpery.reinforcement import optimal_tree_kernels as kernels
from stumpery.reinforcement.discretisation import Discretisation
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.policy_tree_nodes import LEAF, NO_CHILD, TreeNodes
from stumpery.river import register_virtual_subclass
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import MAX_EVENT_COUNT, check, check_within
from stumpery.types import Floats, Integers

MAX_NAMES = 10_000  # per column
MAX_MEAN_CLASSES = 10  # class counts may take this many times `max_states`
RowCounts = dict[tuple[int, ...], list[float]]  # class counts by the codes of a complete row


class OptimalSolution(NamedTuple):
    """The optimal tree, its value per row, and the class counts of its nodes, (nodes, classes)."""

    tree: PolicyTree
    value: float
    counts: Floats


@dataclass(kw_only=True, eq=False)
class OptimalTree(DeclaredColumns):
    """Optimal decision tree by dynamic programming: maximises accuracy less `depth_penalty` times expected depth.

    Every value of a column is a category; a missing value is one, too, whose query costs nothing. Rows are counted, and
    all partly observed rows are valued when the tree is needed. The tree is optimal on the rows learned: corollary 3.2
    of Chaouki, Read and Bifet, "Online Decision Tree Construction with Deep Reinforcement Learning".

    Args:
        depth_penalty: Price of one query, in units of accuracy, 0 to 1. The default .001 counts accuracy almost alone.
        max_states: Largest number of states, 2 to 100,000,000: the product of one more than each column's categories.
            Rows that need more, or ten times as many class counts, are refused. The solver takes up to 100 bytes per
            state, so 500 MB by default.
        schema: Columns of a row; None infers them from the first rows.

    >>> rows = [{"left": left, "right": right} for left in "01" for right in "01"]
    >>> model = OptimalTree(depth_penalty=0.01)
    >>> model.learn_many(rows, [row["left"] != row["right"] for row in rows])  # no single split gains anything
    >>> model.predict_one({"left": "0", "right": "1"}), model.value, model.tree().n_leaves
    (True, 0.98, 4)
    """

    depth_penalty: float = 0.001
    max_states: int = 5_000_000
    schema: Schema | None = None

    _supervised: ClassVar[bool] = True  # as river asks
    _multiclass: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("depth_penalty", self.depth_penalty, 0, 1)
        check_whole("max_states", self.max_states, 2, 100_000_000)
        register_virtual_subclass(type(self), "Classifier")
        self._encoder: OnlineEncoder | None = None
        self._classes: list[Label] = []
        self._table: RowCounts = {}
        self._solution: OptimalSolution | None = None
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise InvalidInput(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._encoder = _categorical_encoder(self.schema)

    def _start(self, schema: Schema) -> None:
        self._encoder = _categorical_encoder(schema)
        self._set_option("schema", self._encoder.schema)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes that occurred so far."""
        return tuple(self._classes)

    @property
    def value(self) -> float:
        """The objective: accuracy on the rows learned less `depth_penalty` times expected depth."""
        return self._solved.value

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from one row and its class: count it."""
        self.learn_many([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Learn from many rows; an invalid row raises and changes nothing."""
        classes, labels = encode_classes(y, self._classes)
        n = frames.n_rows(X, "X")
        if n != len(labels):
            raise InvalidInput(f"there are {n} rows and {len(labels)} labels")
        if not n:
            return
        encoder = self._encoder
        if encoder is None:
            first = Schema.infer(X[:N_FIRST_ROWS] if hasattr(X, "__getitem__") else X)
            encoder = _categorical_encoder(Schema.of(dict.fromkeys(first.names, "categorical")))
        encoder, rows = encoder.extend(X)
        codes = rows[:].astype(np.int64)
        has_missing = (codes == 0).any(axis=0) | self._has_missing(codes.shape[1])
        n_states = float(np.prod(_n_categories(encoder) + has_missing + 1.0))
        self._check_size(n_states, len(classes))
        self._encoder, self._classes = encoder, classes
        self._set_option("schema", encoder.schema)
        self._solution = None
        for row, label in zip(map(tuple, codes.tolist()), labels.astype(int).tolist(), strict=True):
            counts = self._table.setdefault(row, [])
            counts += [0.0] * (len(classes) - len(counts))
            counts[label] += 1.0

    def predict_one(self, x: Any) -> Label | None:
        """The reported class; None before the first row was learned."""
        return self._solved.tree.predict_one(x) if self._table else None

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The reported class of each row."""
        if not self._table:
            return np.full(frames.n_rows(X, "X"), None, dtype=object)
        labels: NDArray[Any] = class_array(self._classes)[self.predict_proba_many(X).argmax(axis=1)]
        return labels

    def predict_proba_one(self, x: Any) -> dict[Label, float]:
        """The class frequencies in the leaf of a row."""
        return dict(zip(self._classes, self.predict_proba_many([x])[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The frequencies of `classes` in the leaf of each row, (rows, classes)."""
        if not self._table:
            return np.zeros((frames.n_rows(X, "X"), len(self._classes)))
        counts = self._solved.counts[self._solved.tree.leaf_of_many(X)]
        frequencies: Floats = counts / counts.sum(axis=1, keepdims=True)
        return frequencies

    def tree(self) -> PolicyTree:
        """The optimal tree on the rows learned."""
        if not self._table:
            raise InvalidInput("nothing has been learned yet: there is no tree")
        return self._solved.tree

    # Dynamic programming.

    @property
    def _solved(self) -> OptimalSolution:
        if self._solution is None:
            self._solution = self._solve()
        return self._solution

    def _solve(self) -> OptimalSolution:
        if self._encoder is None or not self._table:
            raise InvalidInput("nothing has been learned yet: there is no tree")
        n_names = _n_categories(self._encoder)
        n_codes = n_names + self._has_missing(len(n_names))
        strides = np.cumprod(np.append(1, n_codes[:-1] + 1))
        counts = np.zeros((int(np.prod(n_codes + 1)), len(self._classes)))
        for row, own in self._table.items():
            digits = np.array(row) - 1
            counts[int((np.where(digits < 0, n_names, digits) * strides).sum()), : len(own)] = own
        kernels.sum_over_unobserved(counts, strides, n_codes)
        values, actions = np.empty(len(counts)), np.empty(len(counts), np.int16)
        kernels.solve(counts, strides, n_codes, n_names, float(self.depth_penalty), values, actions)
        nodes, states = _extract_nodes(counts, actions, strides, n_codes, n_names)
        cells = Discretisation.of_names(n_names)
        tree = PolicyTree(self._encoder, cells, self.classes, nodes)
        return OptimalSolution(tree, float(values[-1] / counts[-1].sum()), counts[states])

    def _has_missing(self, n_columns: int) -> NDArray[np.bool_]:
        """Which columns were ever missing."""
        return np.array([any(row[column] == 0 for row in self._table) for column in range(n_columns)], bool)

    def _check_size(self, n_states: float, n_classes: int) -> None:
        """Raise a ValueError for a problem with too many states."""
        if n_states > self.max_states:
            raise InvalidInput(
                f"max_states is {self.max_states}, but these rows need {n_states:.3g}: the product of one more than "
                "each column's categories"
            )
        if n_states * n_classes > MAX_MEAN_CLASSES * self.max_states:
            raise InvalidInput(
                f"max_states is {self.max_states}, but these rows need {n_states:.3g} states of {n_classes} classes: "
                f"more than {MAX_MEAN_CLASSES} counts per state of max_states"
            )

    # Files.

    def _options(self) -> Options:
        return {**super()._options(), "_classes": list(self._classes)}

    def _arrays(self) -> Arrays:
        if self._encoder is None:
            return {}
        rows = np.array(list(self._table), np.int64).reshape(-1, len(self._encoder.seen))
        counts = [own + [0.0] * (len(self._classes) - len(own)) for own in self._table.values()]
        return {"rows": rows, "counts": np.array(counts).reshape(len(rows), len(self._classes))}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._classes = checked_classes(learned.pop("_classes"))
        n_classes = len(self._classes)
        if self._encoder is None:
            check(not arrays and not n_classes, "there are arrays or classes but no columns")
            return
        rows, counts = arrays.pop("rows"), arrays.pop("counts")
        names = _n_categories(self._encoder)
        is_valid = (
            rows.dtype == np.int64 and rows.ndim == 2 and rows.shape[1] == len(names) and counts.dtype == np.float64
        )
        check(is_valid and not arrays, "the arrays do not match counted rows")
        check(counts.shape == (len(rows), n_classes), "the counts are not (rows, classes)")
        check_within(counts, 0.0, MAX_EVENT_COUNT, "the count of a row")
        check((counts.sum(axis=1) >= 1).all(), "a row has count 0")
        check(((rows >= 0) & (rows <= names)).all(), "a code exceeds the categories of its column")
        self._table = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
        check(len(self._table) == len(rows), "a row is duplicated")
        self._check_size(float(np.prod(names + self._has_missing(len(names)) + 1.0)), n_classes)


def _categorical_encoder(schema: Schema) -> OnlineEncoder:
    """An encoder that takes every value as a name; names of the schema keep their codes."""
    columns = tuple(
        Categorical(
            name=column.name, categories=getattr(column, "categories", ()), max_categories=MAX_NAMES, takes_numbers=True
        )
        for column in schema.columns
    )
    return OnlineEncoder.from_schema(Schema(columns=columns), MAX_NAMES)


def _n_categories(encoder: OnlineEncoder) -> Integers:
    return np.array([len(getattr(column, "categories", ())) for column in encoder.schema.columns])


def _extract_nodes(
    counts: Floats, actions: NDArray[np.int16], strides: Integers, n_codes: Integers, n_names: Integers
) -> tuple[TreeNodes, Integers]:
    """The nodes that the optimal actions reach from the empty state, and their states."""
    states, node = [len(counts) - 1], 0
    column: list[int] = []
    slots: list[int] = []
    children: list[int] = []
    while node < len(states):
        state = states[node]
        asked = int(actions[state])
        column.append(asked if asked != kernels.REPORT else LEAF)
        slots.append(len(children))
        if asked != kernels.REPORT:
            for code in range(int(n_names[asked]) + 1):
                child = state - int((n_codes[asked] - code) * strides[asked])
                occurs = bool(code < n_codes[asked] and counts[child].any())
                children.append(len(states) if occurs else NO_CHILD)
                states += [child] * occurs
        node += 1
    class_counts = counts[states]
    nodes = TreeNodes(
        column=np.array(column, np.int64),
        report=class_counts.argmax(axis=1),
        weight=class_counts.sum(axis=1),
        slots=np.array(slots, np.int64),
        children=np.array(children, np.int64),
    )
    return nodes, np.array(states)
