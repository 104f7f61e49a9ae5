"""What every click predictor is: river's verbs over rows of mixed columns, and a probability of a click."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.clicks.predictor_bank import DECIDED, PredictorBank
from stumpery.encoding import HashEncoder, Schema
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.declared_columns import declared
from stumpery.encoding.tables import open_table
from stumpery.labels.binary import checked_click, checked_clicks
from stumpery.labels.lists import listed_values
from stumpery.labels.weights import checked_repeats
from stumpery.models import Model
from stumpery.options import check_whole, shown
from stumpery.river import register_virtual_subclass
from stumpery.saveable import Arrays, Options, restore
from stumpery.types import Floats

N_FIRST_ROWS = 1000  # of a frame, from which the columns' kinds are inferred
N_SMALL = 64  # dicts up to which a row at a time is quicker


@dataclass(kw_only=True, eq=False)
class ClickModel(Model):
    """Learn from rows and whether they were clicked; say how likely a click is.

    The columns are those of `schema`, or of the first rows to learn from: a column that has no value there holds
    numbers. Before it has learned anything, a model gives every row the same probability. Several threads may
    share it: one waits while another predicts or learns.
    """

    schema: Schema | None = None
    seed: int = 0

    _supervised: ClassVar[bool] = True  # as river asks, and the next two
    _multiclass: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, 2**63 - 1)
        register_virtual_subclass(type(self), "Classifier")
        self._encoder: HashEncoder | None = None
        self._width = 0
        self._team: PredictorBank | None = None
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise ValueError(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._begin(self.schema)

    def predict_proba_one(self, x: Any) -> dict[bool, float]:
        """The probabilities of no click and of a click."""
        probability = float(self.predict_proba_many([x])[0, 1])
        return {False: 1.0 - probability, True: probability}

    def predict_one(self, x: Any) -> bool:
        """Whether a click is likelier than none."""
        return self.predict_proba_one(x)[True] > 0.5

    def predict_proba_many(self, rows: Any) -> Floats:
        """The probabilities of no click and of a click, (rows, 2)."""
        probabilities = np.clip(self._probabilities(self.score_many(rows)), 0.0, 1.0)
        return np.stack([1.0 - probabilities, probabilities], axis=1)

    def predict_many(self, rows: Any) -> NDArray[np.bool_]:
        """For each row, whether a click is likelier than none."""
        likely: NDArray[np.bool_] = self.predict_proba_many(rows)[:, 1] > 0.5
        return likely

    def score_many(self, rows: Any) -> Floats:
        """A number for each row by which rows are ranked: the likelier the click, the higher."""
        if self._encoder is None:
            return self._blank(_n_rows(rows))
        return self._score(self._matrix(rows), rows)

    def learn_one(self, x: Any, y: Any, w: int = 1) -> None:
        """Learn whether a row was clicked, as if it came `w` times."""
        label, weight = checked_click(y), checked_repeats(w)
        matrix = self._matrix([x])
        if weight:
            self._learn(matrix[0], self._dicts([x])[0], label, weight)

    def learn_many(self, rows: Any, y: Any, w: Any = None) -> None:
        """Learn from many rows, all or, where one is wrong, none: equals the loop of `learn_one`."""
        labels = checked_clicks("y", y)
        weights = [1] * len(labels) if w is None else [checked_repeats(each) for each in listed_values("w", w)]
        if not frames.n_rows(rows, "rows") == len(labels) == len(weights):
            raise ValueError(f"there are {len(rows)} rows, {len(labels)} labels and {len(weights)} weights")
        if not labels:
            return
        matrix = self._matrix(rows)
        raw = self._dicts(rows) if self._team is not None and self._team.learners else [None] * len(labels)
        for row, each, label, weight in zip(matrix, raw, labels, weights, strict=True):
            if weight:
                self._learn(row, each, label, weight)

    def score_rows(self, matrix: Floats) -> Floats:
        """The scores of rows that are encoded already, as `HashEncoder` gives them."""
        if self._team is None:
            return self._blank(len(matrix))
        if matrix.ndim != 2 or matrix.shape[1] != self._width:
            raise self._refusal(matrix)
        return self._score(matrix, self._named(matrix))

    def learn_row(self, row: Floats, label: int) -> None:
        """Learn one row that is encoded already."""
        if self._team is None:
            raise ValueError("an encoded row says nothing of its columns; give the model a schema")
        if row.shape != (self._width,):
            raise self._refusal(row)
        self._learn(row, next(iter(self._named(row[np.newaxis])), None), label, 1)

    def _refusal(self, encoded: Floats) -> ValueError:
        what = f"encoded rows have the shape {encoded.shape}"
        return ValueError(f"{what}; they must have the schema's {self._width} columns")

    def _dicts(self, rows: Any) -> list[Any]:
        """Rows as dicts, for the learners that take no others."""
        names = () if self.schema is None else self.schema.names
        return [
            dict(zip(names, row.tolist(), strict=True)) if isinstance(row, np.ndarray) else row
            for row in frames.rows(rows)
        ]

    def _named(self, matrix: Floats) -> list[dict[str, float]]:
        """Encoded rows as dicts, where a learner needs them."""
        return self._dicts(matrix) if self._team is not None and self._team.learners else []

    def declare_columns(self, names: Sequence[str]) -> None:
        """Say what the columns are before the first row comes: numbers, unless a schema says otherwise."""
        if self.schema is not None:
            self.schema.check_has(names)
            if self._team is not None:
                self._team.learners = declared(self._team.learners, names)
            return
        model = self.clone()  # a member may refuse the columns
        try:
            model._begin(Schema.of(dict.fromkeys(names, "numerical")))
        except ValueError as error:
            raise ValueError(f"{error}, taken for numbers; a schema would say what they hold") from None
        if model._team is not None:
            model._team.learners = declared(model._team.learners, names)
        self._become(vars(model))

    def contributions(self, x: Any) -> dict[str, float]:
        """By how much each column lifts or lowers a row's score."""
        if self._encoder is None or self.schema is None:
            return {}
        shares = self._shares(self._matrix([x])[0])
        return dict(zip(self.schema.names, shares.tolist(), strict=True))

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
        decided = {name: array.copy() for name, array in own.items() if name.rpartition(".")[2] in DECIDED}
        restore(own, arrays)
        if self._team is not None:
            self._team.check(decided)

    # What a model brings.

    @abstractmethod
    def _new_team(self, schema: Schema) -> PredictorBank:
        """The predictors for these columns."""

    @abstractmethod
    def _score(self, matrix: Floats, rows: Any) -> Floats:
        """The scores of encoded rows; `rows` are the same as they came."""

    @abstractmethod
    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        """Learn one encoded row; `raw` is the same as it came."""

    @abstractmethod
    def _shares(self, row: Floats) -> Floats:
        """By how much each column lifts an encoded row's score."""

    def _blank(self, n: int) -> Floats:
        """The scores of n rows before anything was learned."""
        return np.zeros(n)

    def _probabilities(self, scores: Floats) -> Floats:
        """Scores as probabilities of a click."""
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self._team is None else self._team.arrays()

    def _begin(self, schema: Schema) -> None:
        self._team = self._new_team(schema)
        self._encoder = HashEncoder(schema=schema)
        self._width = len(schema)
        self._set_option("schema", schema)

    def _matrix(self, rows: Any) -> Floats:
        """Rows as floats; the first ones decide what the columns are."""
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and len(rows):
            if self._encoder is None:
                self._start(rows)
            if self._encoder is not None and (len(rows) <= N_SMALL or isinstance(rows[0], np.ndarray)):
                return np.stack([self._encoder.encode_one(row) for row in rows])
        if self._encoder is None:
            self._start(rows)
        if self._encoder is None:
            raise ValueError("no row has come yet; the first ones say what the columns are")
        return self._encoder.encode_many(rows)

    def _start(self, rows: Any) -> None:
        """Infer the columns from the first rows, if all of them can be read."""
        if isinstance(rows, list | tuple) and all(isinstance(row, np.ndarray) for row in rows):
            rows = np.stack(rows)
        first = rows[:N_FIRST_ROWS] if hasattr(rows, "__getitem__") else rows
        schema = Schema.of(_columns(Schema.infer(first)) or {})
        HashEncoder(schema=schema).encode_many(rows)
        self._begin(schema)


def _n_rows(rows: Any) -> int:
    """How many rows there are, once they are seen to be rows."""
    n = frames.n_rows(rows, "rows")
    if not isinstance(rows, Sequence):
        open_table(rows)
    for row in rows if isinstance(rows, Sequence) else ():
        if not isinstance(frames.as_row(row), Mapping | np.ndarray):
            raise ValueError(f"row is {shown(row)}; it must be a dict, a pandas Series or a 1-D array")
    return n


def _columns(schema: Schema | None) -> dict[str, Any] | None:
    """What a predictor must know of a schema: names and kinds."""
    if schema is None:
        return None
    return {
        column.name: "numerical"
        if not isinstance(column, Categorical)
        else "categorical number"
        if column.takes_numbers
        else "categorical"
        for column in schema.columns
    }
