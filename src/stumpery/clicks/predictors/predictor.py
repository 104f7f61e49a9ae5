"""The base of click predictors: alone a model of the best column, in an ensemble one predictor for each column."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stumpery.clicks.click_model import ClickModel
from stumpery.clicks.predictor_bank import PredictorBank, PredictorConfig, TreeConfig
from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_one_of, check_whole, listed
from stumpery.system.allocation import reserve
from stumpery.types import Floats

CRITERIA = ("weighted", "sum")
MAX_EVENTS = 10**9  # in an option
PREDICTOR_BYTES = 4000  # about, of each predictor


@dataclass(kw_only=True, eq=False)
class Predictor(ClickModel):
    """The base of click predictors, whose probabilities are m-estimates: (clicks + m * prior) / (count + m).

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0. A large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut: "weighted" weighs its two sides by their counts, "sum" adds them as the
            paper prints it.
    """

    prior: float = 0.0025
    m: float = 100.0
    criterion: str = "weighted"

    def __post_init__(self) -> None:
        check_number("prior", self.prior, 0, 1)
        check_number("m", self.m, 0, above=True)
        check_one_of("criterion", self.criterion, CRITERIA)
        super().__post_init__()

    @abstractmethod
    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeConfig]]:
        """The configurations of n such predictors; if n is None, of one for each column that can be used."""

    def _new_bank(self, schema: Schema) -> PredictorBank:
        bank = PredictorBank(*self.members(schema, None, self.seed))
        if not bank.n_outputs:
            raise InvalidInput(f"{type(self).__name__} can use none of the columns {listed(schema.names)}")
        return bank

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        bank = self._predictors()
        bank.learn(row, raw, label, np.full(bank.n_outputs, weight))

    def _score(self, matrix: Floats, rows: Any) -> Floats:
        return np.ascontiguousarray(self._predictors().outputs(matrix, rows)[:, self._best()])

    def _contributions(self, row: Floats) -> Floats:
        bank = self._predictors()
        weights = np.zeros(bank.n_outputs)
        weights[self._best()] = 1.0
        return bank.contributions(row, weights)

    def _initial_scores(self, n: int) -> Floats:
        return np.full(n, float(self.prior))

    def _best(self) -> int:
        """The index of the predictor whose output is the score."""
        return 0


@dataclass(kw_only=True, eq=False)
class UnivariatePredictor(Predictor):
    """The base of univariate predictors: of `column`, or of the column with the best first cut.

    Args:
        schema: as in `Predictor`, like the next four.
        seed: of the random draws.
        prior: the probability of a click before the first event.
        m: how many events the prior counts for.
        criterion: the impurity of a cut, "weighted" or "sum".
        column: the column; None takes the best one, and in an ensemble each one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.
    """

    column: str | None = None
    max_tuples: int = 100

    kind: ClassVar[int]
    takes: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        check_whole("max_tuples", self.max_tuples, 3, 10_000)
        super().__post_init__()

    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeConfig]]:
        """A configuration for each column and hash function in turn."""
        functions = range(self._n_functions())
        usable = [(column, function) for function in functions for column in self._usable(schema)]
        n_members = len(usable) if n is None else n if usable else 0
        reserve(PREDICTOR_BYTES * n_members)
        chosen = [usable[index % len(usable)] for index in range(n_members)]
        settings = self._settings()
        return [
            PredictorConfig(column, function, self.kind, self.max_tuples, self._n_cuts(), settings)
            for column, function in chosen
        ], []

    def _usable(self, schema: Schema) -> list[int]:
        """The indexes of the columns that this predictor can use."""
        takes, kinds = self._takes(), list(schema.kinds.values())
        if self.column is None:
            return [index for index, kind in enumerate(kinds) if kind in takes]
        check_one_of("column", self.column, schema.names)
        index = schema.names.index(self.column)
        if kinds[index] not in takes:
            kind, taken = type(self).__name__, " and ".join(sorted(takes))
            raise InvalidInput(f"column is {self.column!r}, which is {kinds[index]}; a {kind} takes {taken} columns")
        return [index]

    def _takes(self) -> frozenset[str]:
        return self.takes

    def _n_functions(self) -> int:
        return 1

    def _n_cuts(self) -> int:
        return 1

    def _settings(self) -> Sequence[float]:
        return [self.prior, self.m, 0.0, float(self.criterion == "weighted"), 0.0]

    def _best(self) -> int:
        bank = self._predictors().univariate
        return 0 if bank is None else int(np.argmax(bank.partitions.merits))
