"""What all combinations share: predictors by recipe, one set of arrays for all of them, and a weight for each."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks.click_model import ClickModel
from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.predictor_bank import PredictorBank, PredictorConfig, TreeBank
from stumpery.clicks.predictors.predictor import Predictor
from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.options import check_whole, listed, shown
from stumpery.saveable import Arrays, Options, class_named
from stumpery.types import Floats
from stumpery.validation import check_learned, corrupt

MOST_MEMBERS = 100_000


@dataclass(kw_only=True, eq=False)
class PredictorEnsemble(ClickModel):
    """Many predictors as one.

    `predictors` are recipes such as `Stump()`, of which there will be one for each column that it can use, or pairs of
    a recipe and a number, as in `(Stump(), 800)`, which deal the columns out in turn. All of them together are a few
    arrays. Any other object with `learn_one` and `predict_proba_one` may be there too, river's for instance, or another
    combination; it gets the rows as they come and is called one by one. Recipes are read, not trained.
    """

    predictors: Sequence[Any] = ()

    uses_outputs: ClassVar[bool] = True  # whether the weights learn from the outputs

    def __post_init__(self) -> None:
        self.predictors = [_checked(each) for each in _listed(self.predictors)]
        if not self.predictors:
            raise ValueError("predictors is empty; a combination needs at least one")
        super().__post_init__()

    def _new_team(self, schema: Schema) -> PredictorBank:
        specs: list[PredictorConfig] = []
        groves: list[TreeBank] = []
        learners: list[Any] = []
        for place, (recipe, n) in enumerate(self.predictors):
            if isinstance(recipe, Predictor):
                more_specs, more_groves = recipe.members(schema, n, self.seed + place)
                specs += more_specs
                groves += more_groves
            else:
                learners += [deepcopy(recipe) for _ in range(n or 1)]
        team = PredictorBank(specs, groves, learners)
        if not team.n_outputs:
            raise ValueError(f"no predictor can use any of the columns {listed(schema.names)}")
        self._weights = np.full(team.n_outputs, 1.0 / team.n_outputs)
        self._ones = np.ones(team.n_outputs, np.int64)
        self._allocate(team.n_outputs)
        return team

    def _score(self, matrix: Floats, rows: Any) -> Floats:
        scores = np.empty(len(matrix))
        kernels.weighted_sums(scores, self._outputs(matrix, rows), self._weights)
        return scores

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        team: Any = self._team
        if self.uses_outputs:
            self._learn_weights(self._outputs(row[np.newaxis], [raw])[0], label, weight)
        team.learn(row, raw, label, self._times(weight))

    def _outputs(self, matrix: Floats, rows: Any) -> Floats:
        team: Any = self._team
        found: Floats = team.outputs(matrix, self._dicts(rows) if team.learners else None)
        return found

    def _shares(self, row: Floats) -> Floats:
        team: Any = self._team
        found: Floats = team.shares(row, self._weights, team.outputs(row[np.newaxis], None)[0])
        return found

    def _blank(self, n: int) -> Floats:
        priors = [recipe.prior for recipe, _ in self.predictors if isinstance(recipe, Predictor)]
        return np.full(n, float(np.mean(priors)) if priors else 0.0)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self._team is None else {**super()._arrays(), "weights": self._weights}

    def _options(self) -> Options:
        members = []
        for recipe, n in self.predictors:
            if not isinstance(recipe, Predictor):
                raise InvalidInput(
                    f"a {type(recipe).__name__} among the predictors is no recipe, so this cannot be saved"
                )
            members.append([type(recipe).__name__, recipe.state().options, n])
        return {**super()._options(), "predictors": members}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        found = []
        for name, recipe, n in options["predictors"]:
            kind = class_named(name)
            if not issubclass(kind, Predictor):
                raise corrupt(f"{name!r} is no predictor")
            found.append((kind(**{**recipe, "schema": None}), n))
        return super()._arguments({**options, "predictors": found}, arrays, learned)

    def _validate_state(self) -> None:
        if self._team is not None:
            check_learned(self._weights, "the weight of a predictor")

    # What a combination may bring.

    def _allocate(self, n: int) -> None:
        """Take the memory for n predictors."""

    def _learn_weights(self, outputs: Floats, label: int, weight: int) -> None:
        """Learn from what each predictor said before it learns the event."""

    def _times(self, weight: int) -> NDArray[np.int64]:
        """How often each predictor sees the event."""
        return self._ones if weight == 1 else self._ones * weight


def _listed(predictors: Any) -> list[Any]:
    if isinstance(predictors, str) or not isinstance(predictors, Sequence):
        raise ValueError(f"predictors is {shown(predictors)}; it must be a list of predictors")
    return list(predictors)


def _checked(member: Any) -> tuple[Any, int | None]:
    recipe, n = member if isinstance(member, tuple | list) and len(member) == 2 else (member, None)
    if n is not None:
        check_whole("the number of a predictor", n, 1, MOST_MEMBERS)
    if not (hasattr(recipe, "learn_one") and hasattr(recipe, "predict_proba_one")) or isinstance(recipe, type):
        raise ValueError(f"a predictor is {shown(recipe)}; it must have learn_one and predict_proba_one")
    return recipe, None if n is None else int(n)
