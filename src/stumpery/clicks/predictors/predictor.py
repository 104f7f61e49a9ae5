"""What all predictors share: a recipe that makes one predictor of the best column, or one for each column of a team."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stumpery.clicks.click_model import ClickModel
from stumpery.clicks.predictor_bank import PredictorBank, PredictorConfig, TreeBank
from stumpery.encoding import Schema
from stumpery.options import check_number, check_one_of, check_whole, listed
from stumpery.system.allocation import reserve
from stumpery.types import Floats

CRITERIA = ("weighted", "sum")
MOST_EVENTS = 10**9  # that an option may wait for

MEMBER_BYTES = 4000  # that a predictor takes, about


@dataclass(kw_only=True, eq=False)
class Predictor(ClickModel):
    """A recipe for predictors. A probability is (clicks + m * prior) / (count + m)."""

    prior: float = 0.0025
    m: float = 100.0
    criterion: str = "weighted"

    def __post_init__(self) -> None:
        check_number("prior", self.prior, 0, 1)
        check_number("m", self.m, 0, above=True)
        check_one_of("criterion", self.criterion, CRITERIA)
        super().__post_init__()

    @abstractmethod
    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeBank]]:
        """The predictors that n copies of this recipe make; one for each column that it can use if n is None."""

    def _new_team(self, schema: Schema) -> PredictorBank:
        team = PredictorBank(*self.members(schema, None, self.seed))
        if not team.n_outputs:
            raise ValueError(f"{type(self).__name__} can use none of the columns {listed(schema.names)}")
        return team

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        team: Any = self._team
        team.learn(row, raw, label, np.full(team.n_outputs, weight))

    def _score(self, matrix: Floats, rows: Any) -> Floats:
        team: Any = self._team
        return np.ascontiguousarray(team.outputs(matrix, rows)[:, self._best()])

    def _shares(self, row: Floats) -> Floats:
        team: Any = self._team
        weights = np.zeros(team.n_outputs)
        weights[self._best()] = 1.0
        found: Floats = team.shares(row, weights, team.outputs(row[np.newaxis], None)[0])
        return found

    def _blank(self, n: int) -> Floats:
        return np.full(n, float(self.prior))

    def _best(self) -> int:
        """Whose output counts when the recipe stands alone."""
        return 0


@dataclass(kw_only=True, eq=False)
class UnivariatePredictor(Predictor):
    """A predictor of one column: `column`, or the one with the best first cut."""

    column: str | None = None
    max_tuples: int = 100

    kind: ClassVar[int]
    takes: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        check_whole("max_tuples", self.max_tuples, 3, 10_000)
        super().__post_init__()

    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeBank]]:
        """The recipe for each column and hash function in turn."""
        functions = range(self._n_functions())
        usable = [(place, each) for each in functions for place in self._usable(schema)]
        n_members = len(usable) if n is None else n if usable else 0
        reserve(MEMBER_BYTES * n_members)
        chosen = [usable[place % len(usable)] for place in range(n_members)]
        settings = self._settings()
        return [
            PredictorConfig(place, each, self.kind, self.max_tuples, self._n_cuts(), settings) for place, each in chosen
        ], []

    def _usable(self, schema: Schema) -> list[int]:
        takes, kinds = self._takes(), list(schema.kinds.values())
        if self.column is None:
            return [place for place, kind in enumerate(kinds) if kind in takes]
        check_one_of("column", self.column, schema.names)
        place = schema.names.index(self.column)
        if kinds[place] not in takes:
            kind, taken = type(self).__name__, " and ".join(sorted(takes))
            raise ValueError(f"column is {self.column!r}, which is {kinds[place]}; a {kind} takes {taken} columns")
        return [place]

    def _takes(self) -> frozenset[str]:
        return self.takes

    def _n_functions(self) -> int:
        return 1

    def _n_cuts(self) -> int:
        return 1

    def _settings(self) -> Sequence[float]:
        return [self.prior, self.m, 0.0, float(self.criterion == "weighted"), 0.0]

    def _best(self) -> int:
        stumps: Any = self._team.stumps if self._team is not None else None
        return int(np.argmax(stumps.partitions.merits))
