"""The sum of what each predictor adds to the logarithm of the probability of a click."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import tree_bank_kernels as trees
from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.clicks.partition_kernels import CERTAIN, LIFT, OUTPUT
from stumpery.clicks.predictor_bank import PredictorBank
from stumpery.clicks.predictors.predictor import Predictor
from stumpery.encoding import Schema
from stumpery.options import check_whole
from stumpery.types import Floats, Integers
from stumpery.validation import MAX_EVENT_COUNT, check_within


@dataclass(kw_only=True, eq=False)
class LogOdds(PredictorEnsemble):
    """The sum over predictors of log(probability / average probability), as if they told independent things of a click.

    Averaging probabilities lets the many columns that tell nothing drown the few that tell something; here a column that
    tells nothing adds nothing. A large `m` keeps what few clicks seem to tell small. Where clicks are rare, rows
    without one tell little: with `thin`, one in so many is learned and counts for all.

    >>> from stumpery.clicks import UnivariateTree
    >>> model = LogOdds(predictors=[UnivariateTree(categories=True, m=20.0)])
    >>> rows = [{"age": event % 60, "device": ("phone", "watch")[event % 2]} for event in range(3000)]
    >>> model.learn_many(rows, [row["age"] > 40 and row["device"] == "watch" for row in rows])
    >>> best, next_best = model.score_many([{"age": 51, "device": "watch"}, {"age": 50, "device": "phone"}])
    >>> bool(best > next_best)
    True
    """

    thin: int = 1

    uses_outputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole("thin", self.thin, 1, 1000)
        super().__post_init__()

    def _new_team(self, schema: Schema) -> PredictorBank:
        team = super()._new_team(schema)
        if team.stumps is not None:  # their outputs are logarithms from the start
            team.stumps.settings[:, OUTPUT] = LIFT
            team.stumps.partitions.probabilities[:] = 0.0
        self._weights = np.ones(team.n_outputs)
        self._means: Floats = np.zeros(len(team.learners))
        return team

    def _allocate(self, n: int) -> None:
        self._seen: Integers = np.zeros(2, np.int64)
        self._left_out: Integers = np.zeros(1, np.int64)

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        team: Any = self._team
        if team.learners:
            said = team.outputs(row[np.newaxis], [raw])[0, -len(team.learners) :]
            self._means += (said - self._means) * (weight / (self._seen.sum() + weight))
        self._seen[label] += weight
        if label == 0 and self.thin > 1:
            left_out = int(self._left_out[0]) + weight
            self._left_out[0] = 0 if left_out >= self.thin else left_out
            if left_out < self.thin:
                return
            weight = left_out
        super()._learn(row, raw, label, weight)

    def _outputs(self, matrix: Floats, rows: Any) -> Floats:
        team: Any = self._team
        found = super()._outputs(matrix, rows)
        if team.groves or team.learners:
            bases = [*(grove.probabilities[: len(grove.features)] for grove in team.groves), self._means]
            kernels.lift(found, np.concatenate(bases))
        return found

    def _blank(self, n: int) -> Floats:
        return np.zeros(n)

    def _probabilities(self, scores: Floats) -> Floats:
        recipe = self.predictors[0][0]
        prior, m = (recipe.prior, recipe.m) if isinstance(recipe, Predictor) else (0.5, 1.0)
        clicks, count = (0, 0) if self._team is None else (int(self._seen[1]), int(self._seen.sum()))
        base = (clicks + m * prior) / (count + m)
        probabilities: Floats = np.minimum(base * np.exp(np.minimum(scores, 700.0)), 1.0)
        return probabilities

    def _shares(self, row: Floats) -> Floats:
        team: Any = self._team
        probabilities = team.outputs(row[np.newaxis], None)[0]
        found = np.zeros(len(row))
        start = 0 if team.stumps is None else len(team.stumps.columns)
        if team.stumps is not None:
            np.add.at(found, team.stumps.columns, probabilities[:start])
        for grove in team.groves:
            end = start + len(grove.features)
            roots = grove.probabilities[: end - start]
            moved = probabilities[start:end] - roots
            lifts = np.log(np.maximum(probabilities[start:end], CERTAIN) / np.maximum(roots, CERTAIN))
            trees.attribute(found, grove, row, np.where(moved == 0.0, 0.0, lifts / np.where(moved == 0.0, 1.0, moved)))
            start = end
        return found

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays()
        return {**arrays, "seen": self._seen, "left_out": self._left_out} if arrays else {}

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._team is not None:
            check_within(self._left_out, 0, self.thin - 1, "the number of events that were left out")
            check_within(self._seen, 0, MAX_EVENT_COUNT, "the number of events of a class")
