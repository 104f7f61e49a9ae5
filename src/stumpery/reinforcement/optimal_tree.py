"""The best decision tree there is, on problems small enough to look at all of it."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online import N_FIRST_ROWS, OnlineEncoder
from stumpery.labels.classes import Label, class_array, encode_classes
from stumpery.options import check_number, check_whole, shown
from stumpery.reinforcement import optimal_kernels as kernels
from stumpery.reinforcement.cells import Cells
from stumpery.reinforcement.policy_nodes import LEAF, NO_CHILD, Nodes
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.river import register_virtual_subclass
from stumpery.types import Floats, Integers, State
from stumpery.validation import MAX_EVENT_COUNT, check, check_within

MAX_NAMES = 10_000
CLASSES_A_STATE = 10  # that there is room for in as many states as may be
Table = dict[tuple[int, ...], list[float]]  # how often each class came, by the codes of a complete row


class Solved(NamedTuple):
    """The best tree, what its root earns a row, and the classes' counts at every node."""

    tree: PolicyTree
    value: float
    counts: Floats


@dataclass(kw_only=True, eq=False)
class OptimalTree(DeclaredColumns):
    """The tree with the most right reports less `depth_penalty` times the columns looked at, on the rows that came.

    Every value of a column is a category of its own, and a missing one too, which costs nothing to find. Rows are
    counted; when the tree is asked for, dynamic programming values every partly observed row. Corollary 3.2 of Chaouki,
    Read and Bifet says that this finds the best tree. The states are the product of one more than each column's
    categories: rows that would need more than `max_states`, or ten times as many counts of classes, are refused. So
    the solver takes at most 100 bytes for each of `max_states`.

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
        self._rows: OnlineEncoder | None = None
        self._classes: list[Label] = []
        self._table: Table = {}
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise ValueError(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._rows = _named_rows(self.schema)

    def _start(self, schema: Schema) -> None:
        self._rows = _named_rows(schema)
        self.schema = self._rows.schema

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes that came so far."""
        return tuple(self._classes)

    @property
    def value(self) -> float:
        """What the best tree earns a row: its accuracy on the rows that came less the price of its expected depth."""
        return self._solved.value

    @property
    def n_bytes(self) -> int:
        """The memory that the counted rows take as arrays."""
        return sum(array.nbytes for array in self.state().arrays.values())

    def learn_one(self, x: Any, y: Any) -> None:
        """Count a row."""
        self.learn_many([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Count many rows, all or, where one is wrong, none."""
        classes, labels = encode_classes(y, self._classes)
        n = frames.n_rows(X, "X")
        if n != len(labels):
            raise ValueError(f"there are {n} rows and {len(labels)} labels")
        if not n:
            return
        known = self._rows
        if known is None:
            first = Schema.infer(X[:N_FIRST_ROWS] if hasattr(X, "__getitem__") else X)
            known = _named_rows(Schema.of(dict.fromkeys(first.names, "name")))
        known, rows = known.knowing(X)
        codes = rows[:].astype(np.int64)
        has_missing = (codes == 0).any(axis=0) | self._has_missing(codes.shape[1])
        n_states = float(np.prod(_n_names(known) + has_missing + 1.0))
        self._check_room(n_states, len(classes))
        self._rows, self._classes = known, classes
        self.__dict__["schema"] = known.schema
        self.__dict__.pop("_solved", None)
        for row, label in zip(map(tuple, codes.tolist()), labels.astype(int).tolist(), strict=True):
            counts = self._table.setdefault(row, [])
            counts += [0.0] * (len(classes) - len(counts))
            counts[label] += 1.0

    def predict_one(self, x: Any) -> Label | None:
        """The class that is reported, or None before the first came."""
        return self._solved.tree.predict_one(x) if self._table else None

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class that is reported for each row."""
        if not self._table:
            return np.full(frames.n_rows(X, "X"), None, dtype=object)
        found: NDArray[Any] = class_array(self._classes)[self.predict_proba_many(X).argmax(axis=1)]
        return found

    def predict_proba_one(self, x: Any) -> dict[Label, float]:
        """The share of each class where the row ends."""
        return dict(zip(self._classes, self.predict_proba_many([x])[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The shares of `classes` where each row ends, (rows, classes)."""
        if not self._table:
            return np.zeros((frames.n_rows(X, "X"), len(self._classes)))
        counts = self._solved.counts[self._solved.tree.reached(X)]
        found: Floats = counts / counts.sum(axis=1, keepdims=True)
        return found

    def tree(self) -> PolicyTree:
        """The best tree for the rows that came."""
        if not self._table:
            raise ValueError("nothing has been learned yet: there is no tree")
        return self._solved.tree

    # Dynamic programming.

    @cached_property
    def _solved(self) -> Solved:
        if self._rows is None or not self._table:
            raise ValueError("nothing has been learned yet: there is no tree")
        n_names = _n_names(self._rows)
        n_codes = n_names + self._has_missing(len(n_names))
        strides = np.cumprod(np.append(1, n_codes[:-1] + 1))
        counts = np.zeros((int(np.prod(n_codes + 1)), len(self._classes)))
        for row, own in self._table.items():
            digits = np.array(row) - 1
            counts[int((np.where(digits < 0, n_names, digits) * strides).sum()), : len(own)] = own
        kernels.spread(counts, strides, n_codes)
        values, actions = np.empty(len(counts)), np.empty(len(counts), np.int16)
        kernels.solve(counts, strides, n_codes, n_names, float(self.depth_penalty), values, actions)
        nodes, states = _followed(counts, actions, strides, n_codes, n_names)
        cells = Cells.of_names(n_names)
        tree = PolicyTree(self._rows, cells, self.classes, nodes)
        return Solved(tree, float(values[-1] / counts[-1].sum()), counts[states])

    def _has_missing(self, n_columns: int) -> NDArray[np.bool_]:
        """Which columns were missing in a row that came."""
        return np.array([any(row[place] == 0 for row in self._table) for place in range(n_columns)], bool)

    def _check_room(self, n_states: float, n_classes: int) -> None:
        """Refuse a problem that is too large to look at all of it."""
        if n_states > self.max_states:
            raise ValueError(
                f"max_states is {self.max_states}; these rows need {n_states:.3g}: a product over all columns of one "
                "more than their categories"
            )
        if n_states * n_classes > CLASSES_A_STATE * self.max_states:
            raise ValueError(
                f"max_states is {self.max_states}; these rows need {n_states:.3g} of {n_classes} classes each: "
                f"more than {CLASSES_A_STATE} times max_states counts"
            )

    # Files.

    def state(self) -> State:
        """The recipe and the counted rows."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        options["_classes"] = list(self._classes)
        arrays: dict[str, NDArray[Any]] = {}
        if self.schema is not None and self._rows is not None:
            options["schema"], points = self._rows.schema.state()
            rows = np.array(list(self._table), np.int64).reshape(-1, len(self._rows.seen))
            counts = [own + [0.0] * (len(self._classes) - len(own)) for own in self._table.values()]
            arrays = {f"schema.{name}": array for name, array in points.items()}
            arrays |= {"rows": rows, "counts": np.array(counts).reshape(len(rows), len(self._classes))}
        return State(options, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        classes = options.pop("_classes")
        if options.get("schema") is not None:
            options["schema"] = Schema.from_state(State(options["schema"], {"points": arrays.pop("schema.points")}))
        model = cls(**options)
        model._classes = encode_classes(classes, [])[0]
        if model._classes != classes:
            raise ValueError("its classes are not all different")
        if model._rows is None:
            if arrays or classes:
                raise ValueError("it has arrays but no columns")
            return model
        rows, counts = arrays.pop("rows"), arrays.pop("counts")
        names = _n_names(model._rows)
        fits = rows.dtype == np.int64 and rows.ndim == 2 and rows.shape[1] == len(names) and counts.dtype == np.float64
        check(fits and not arrays, "its arrays are not those of counted rows")
        check(counts.shape == (len(rows), len(classes)), "there is not one count for each row and class")
        check_within(counts, 0.0, MAX_EVENT_COUNT, "the count of a row")
        check((counts.sum(axis=1) >= 1).all(), "a row has no count")
        check(((rows >= 0) & (rows <= names)).all(), "the name of a row does not exist in its column")
        model._table = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
        check(len(model._table) == len(rows), "a row comes twice")
        model._check_room(float(np.prod(names + model._has_missing(len(names)) + 1.0)), len(classes))
        return model


def _named_rows(schema: Schema) -> OnlineEncoder:
    """Rows of which every value is a name; names that are known already keep their codes."""
    columns = tuple(
        Categorical(name=column.name, names=getattr(column, "names", ()), max_names=MAX_NAMES, numbered=True)
        for column in schema.columns
    )
    return OnlineEncoder.under(Schema(columns=columns), MAX_NAMES)


def _n_names(rows: OnlineEncoder) -> Integers:
    return np.array([len(getattr(column, "names", ())) for column in rows.schema.columns])


def _followed(
    counts: Floats, actions: NDArray[np.int16], strides: Integers, n_codes: Integers, n_names: Integers
) -> tuple[Nodes, Integers]:
    """The nodes that the best actions lead to from the empty state, and the state of each."""
    states, at = [len(counts) - 1], 0
    column: list[int] = []
    slots: list[int] = []
    children: list[int] = []
    while at < len(states):
        state = states[at]
        asked = int(actions[state])
        column.append(asked if asked != kernels.REPORT else LEAF)
        slots.append(len(children))
        if asked != kernels.REPORT:
            for code in range(int(n_names[asked]) + 1):
                below = state - int((n_codes[asked] - code) * strides[asked])
                is_there = code < n_codes[asked] and counts[below].any()
                children.append(len(states) if is_there else NO_CHILD)
                states += [below] * bool(is_there)
        at += 1
    own = counts[states]
    nodes = Nodes(
        column=np.array(column, np.int64),
        report=own.argmax(axis=1),
        weight=own.sum(axis=1),
        slots=np.array(slots, np.int64),
        children=np.array(children, np.int64),
    )
    return nodes, np.array(states)
