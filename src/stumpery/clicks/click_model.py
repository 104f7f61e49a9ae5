"""The base of click models: river's verbs over rows of mixed columns, and a probability of a click."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.clicks.predictor_bank import FIXED_ARRAYS, PredictorBank
from stumpery.encoding import HashEncoder, Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.declared_columns import declared
from stumpery.encoding.schema import Column
from stumpery.encoding.tables import open_table
from stumpery.errors import InvalidInput
from stumpery.labels.binary import checked_click, checked_clicks
from stumpery.labels.lists import listed_values
from stumpery.labels.weights import checked_repeats
from stumpery.models import Model
from stumpery.options import check_whole, shown
from stumpery.river import register_virtual_subclass
from stumpery.saving.saveable import Arrays, Options, restore
from stumpery.types import Floats

N_FIRST_ROWS = 1000  # of a frame, from which the columns' kinds are inferred
MAX_ROWS_ONE_BY_ONE = 64  # up to which encoding dicts one by one is faster


@dataclass(kw_only=True, eq=False)
class ClickModel(Model):
    """The base of click models: online classifiers of clicks over rows of mixed columns.

    Before it has learned anything, a model gives every row the same probability. Several threads may share it: one
    waits while another predicts or learns.

    Args:
        schema: the columns; None takes them from the first rows to learn from. A column without a value there is
            numerical. Only kinds of columns matter, since categories are hashed.
        seed: of the model's random draws, from 0 to 2^63 - 1.
    """

    schema: Schema | None = None
    seed: int = 0

    _supervised: ClassVar[bool] = True  # read by river, as is the next
    _multiclass: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, 2**63 - 1)
        register_virtual_subclass(type(self), "Classifier")
        self._encoder: HashEncoder | None = None
        self._width = 0
        self._bank: PredictorBank | None = None
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise InvalidInput(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._begin(self.schema)

    def predict_proba_one(self, x: Any) -> dict[bool, float]:
        """The probabilities of no click and of a click, as {False: ..., True: ...}."""
        probability = float(self.predict_proba_many([x])[0, 1])
        return {False: 1.0 - probability, True: probability}

    def predict_one(self, x: Any) -> bool:
        """The predicted class: whether a click is more probable than no click."""
        return self.predict_proba_one(x)[True] > 0.5

    def predict_proba_many(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of no click and of a click, (rows, 2)."""
        probabilities = np.clip(self._probabilities(self.score_many(X)), 0.0, 1.0)
        return np.stack([1.0 - probabilities, probabilities], axis=1)

    def predict_many(self, X: Any) -> NDArray[np.bool_]:  # noqa: N803
        """For each row, whether a click is more probable than no click."""
        clicks: NDArray[np.bool_] = self.predict_proba_many(X)[:, 1] > 0.5
        return clicks

    def score_many(self, X: Any) -> Floats:  # noqa: N803
        """A score for each row by which rows are ranked: higher where a click is more probable."""
        if self._encoder is None:
            return self._initial_scores(_n_rows(X))
        return self._score(self._matrix(X), X)

    def learn_one(self, x: Any, y: Any, w: int = 1) -> None:
        """Learn whether a row was clicked, as if it came `w` times."""
        label, weight = checked_click(y), checked_repeats(w)
        matrix = self._matrix([x])
        if weight:
            self._learn(matrix[0], self._raw_rows([x], 1)[0], label, weight)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803
        """Learn from many rows, all or, where one is invalid, none: equals the loop of `learn_one`."""
        labels = checked_clicks("y", y)
        weights = [1] * len(labels) if w is None else [checked_repeats(weight) for weight in listed_values("w", w)]
        if not frames.n_rows(X, "rows") == len(labels) == len(weights):
            raise InvalidInput(f"there are {len(X)} rows, {len(labels)} labels and {len(weights)} weights")
        if not labels:
            return
        matrix = self._matrix(X)
        for row, raw, label, weight in zip(matrix, self._raw_rows(X, len(labels)), labels, weights, strict=True):
            if weight:
                self._learn(row, raw, label, weight)

    def score_rows(self, matrix: Floats) -> Floats:
        """The scores of rows that are encoded by a `HashEncoder`."""
        if self._bank is None:
            return self._initial_scores(len(matrix))
        if matrix.ndim != 2 or matrix.shape[1] != self._width:
            raise self._shape_error(matrix)
        return self._score(matrix, self._encoded_dicts(matrix))

    def learn_row(self, row: Floats, label: int) -> None:
        """Learn one row that is encoded by a `HashEncoder`."""
        if self._bank is None:
            raise InvalidInput("encoded rows have no columns to infer; give the model a schema")
        if row.shape != (self._width,):
            raise self._shape_error(row)
        self._learn(row, next(iter(self._encoded_dicts(row[np.newaxis])), None), label, 1)

    def _shape_error(self, encoded: Floats) -> InvalidInput:
        what = f"encoded rows have the shape {encoded.shape}"
        return InvalidInput(f"{what}; they must have the schema's {self._width} columns")

    def _raw_rows(self, rows: Any, n: int) -> list[Any]:
        """Rows as dicts where there are other learners, which take them, else None for each."""
        return self._dicts(rows) if self._predictors().learners else [None] * n

    def _dicts(self, rows: Any) -> list[Any]:
        """Rows as dicts, for other learners."""
        names = () if self.schema is None else self.schema.names
        return [
            dict(zip(names, row.tolist(), strict=True)) if isinstance(row, np.ndarray) else row
            for row in frames.rows(rows)
        ]

    def _encoded_dicts(self, matrix: Floats) -> list[dict[str, float]]:
        """Encoded rows as dicts, where there are other learners."""
        return self._dicts(matrix) if self._bank is not None and self._bank.learners else []

    def declare_columns(self, names: Sequence[str]) -> None:
        """Declare the columns before the first row: numerical ones, unless a schema says otherwise."""
        if self.schema is not None:
            self.schema.check_has(names)
            if self._bank is not None:
                self._bank.learners = declared(self._bank.learners, names)
            return
        model = self.clone()  # a predictor may refuse the columns
        try:
            model._begin(Schema.of(dict.fromkeys(names, "numerical")))
        except ValueError as error:
            raise InvalidInput(f"{error}, taken as numerical; give a schema with their kinds") from None
        if model._bank is not None:
            model._bank.learners = declared(model._bank.learners, names)
        self._become(vars(model))

    def contributions(self, x: Any) -> dict[str, float]:
        """The contribution of each column to a row's score: how much it raises or lowers it."""
        if self._encoder is None or self.schema is None:
            return {}
        contributions = self._contributions(self._matrix([x])[0])
        return dict(zip(self.schema.names, contributions.tolist(), strict=True))

    @property
    def _raw_memory_usage(self) -> int:
        return self.n_bytes

    def _options(self) -> Options:
        return {**super()._options(), "schema": _columns(self.schema)}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        return {**options, "schema": None if options["schema"] is None else Schema.of(options["schema"])}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        own = self._arrays()
        fixed = {name: array.copy() for name, array in own.items() if name.rpartition(".")[2] in FIXED_ARRAYS}
        restore(own, arrays)
        if self._bank is not None:
            self._bank.check(fixed)

    # What a kind of model defines.

    @abstractmethod
    def _new_bank(self, schema: Schema) -> PredictorBank:
        """The predictors for these columns."""

    @abstractmethod
    def _score(self, matrix: Floats, rows: Any) -> Floats:
        """The scores of encoded rows; `rows` are the same rows, not encoded."""

    @abstractmethod
    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        """Learn one encoded row; `raw` is the same row, not encoded."""

    @abstractmethod
    def _contributions(self, row: Floats) -> Floats:
        """The contribution of each column to an encoded row's score."""

    def _initial_scores(self, n: int) -> Floats:
        """The scores of n rows before anything was learned."""
        return np.zeros(n)

    def _probabilities(self, scores: Floats) -> Floats:
        """Scores as probabilities of a click."""
        return scores

    def _predictors(self) -> PredictorBank:
        """The predictor bank; it exists once the columns are known."""
        if self._bank is None:
            raise InvalidInput("there is no row yet; the columns are inferred from the first rows")
        return self._bank

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self._bank is None else self._bank.arrays()

    def _begin(self, schema: Schema) -> HashEncoder:
        self._bank = self._new_bank(schema)
        self._encoder = HashEncoder(schema=schema)
        self._width = len(schema)
        self._set_option("schema", schema)
        return self._encoder

    def _matrix(self, rows: Any) -> Floats:
        """Rows as floats; the first ones determine the columns."""
        encoder = self._start(rows) if self._encoder is None else self._encoder
        is_list = isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and len(rows) > 0
        if is_list and (len(rows) <= MAX_ROWS_ONE_BY_ONE or isinstance(rows[0], np.ndarray)):
            return np.stack([encoder.encode_one(row) for row in rows])
        return encoder.encode_many(rows)

    def _start(self, rows: Any) -> HashEncoder:
        """Infer the columns from the first rows, provided that all of them can be read."""
        if isinstance(rows, list | tuple) and all(isinstance(row, np.ndarray) for row in rows):
            rows = np.stack(rows)
        schema = Schema.of(_columns(Schema.infer(frames.first_rows(rows, N_FIRST_ROWS))) or {})
        HashEncoder(schema=schema).encode_many(rows)
        return self._begin(schema)


def _n_rows(rows: Any) -> int:
    """The number of rows, once they are checked to be rows."""
    n = frames.n_rows(rows, "rows")
    if not isinstance(rows, Sequence):
        open_table(rows)
    for row in rows if isinstance(rows, Sequence) else ():
        if not isinstance(frames.as_row(row), Mapping | np.ndarray):
            raise InvalidInput(f"row is {shown(row)}; it must be a dict, a pandas Series or a 1-D array")
    return n


def _columns(schema: Schema | None) -> dict[str, Any] | None:
    """The columns of a schema and their kinds."""
    if schema is None:
        return None
    return {column.name: _kind(column) for column in schema.columns}


def _kind(column: Column) -> str:
    return "categorical number" if isinstance(column, Categorical) and column.takes_numbers else column.kind
