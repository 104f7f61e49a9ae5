"""The base of ensembles of click predictors: a predictor bank, and a weight for each predictor."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks.click_model import ClickModel
from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.predictor_bank import Learner, PredictorBank, PredictorConfig, TreeConfig
from stumpery.clicks.predictors.predictor import Predictor
from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.options import check_whole, listed, shown
from stumpery.saving.saveable import Arrays, Options, class_named
from stumpery.saving.validation import check_learned, corrupt
from stumpery.types import Floats

MAX_PREDICTORS = 100_000


@dataclass(kw_only=True, eq=False)
class PredictorEnsemble(ClickModel):
    """The base of ensembles of click predictors: a weighted sum of the outputs of a predictor bank.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.
    """

    predictors: Sequence[Any] = ()

    uses_outputs: ClassVar[bool] = True  # whether the weights learn from the outputs

    def __post_init__(self) -> None:
        self.predictors = tuple(_checked(predictor) for predictor in _listed(self.predictors))
        if not self.predictors:
            raise InvalidInput("predictors is empty; an ensemble needs at least one")
        super().__post_init__()

    def _new_bank(self, schema: Schema) -> PredictorBank:
        predictors: list[PredictorConfig] = []
        trees: list[TreeConfig] = []
        learners: list[Learner] = []
        for number, (predictor, n) in enumerate(self.predictors):
            if isinstance(predictor, Predictor):
                more_predictors, more_trees = predictor.members(schema, n, self.seed + number)
                predictors += more_predictors
                trees += more_trees
            else:
                learners += [deepcopy(predictor) for _ in range(n or 1)]
        bank = PredictorBank(predictors, trees, learners)
        if not bank.n_outputs:
            raise InvalidInput(f"no predictor can use any of the columns {listed(schema.names)}")
        self._weights = np.full(bank.n_outputs, 1.0 / bank.n_outputs)
        self._ones = np.ones(bank.n_outputs, np.int64)
        self._allocate(bank.n_outputs)
        return bank

    def _score(self, matrix: Floats, rows: Any) -> Floats:
        scores = np.empty(len(matrix))
        kernels.weighted_sums(scores, self._outputs(matrix, rows), self._weights)
        return scores

    def _learn(self, row: Floats, raw: Any, label: int, weight: int) -> None:
        if self.uses_outputs:
            self._learn_weights(self._outputs(row[np.newaxis], [raw])[0], label, weight)
        self._predictors().learn(row, raw, label, self._event_weights_of(weight))

    def _outputs(self, matrix: Floats, rows: Any) -> Floats:
        bank = self._predictors()
        return bank.outputs(matrix, self._dicts(rows) if bank.learners else None)

    def _contributions(self, row: Floats) -> Floats:
        return self._predictors().contributions(row, self._weights)

    def _initial_scores(self, n: int) -> Floats:
        priors = [predictor.prior for predictor, _ in self.predictors if isinstance(predictor, Predictor)]
        return np.full(n, float(np.mean(priors)) if priors else 0.0)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self._bank is None else {**super()._arrays(), "weights": self._weights}

    def _options(self) -> Options:
        members = []
        for predictor, n in self.predictors:
            if not isinstance(predictor, Predictor):
                raise InvalidInput(f"its predictors have a {type(predictor).__name__}, which is not one of Stumpery's")
            members.append([type(predictor).__name__, predictor.state().options, n])
        return {**super()._options(), "predictors": members}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        predictors = []
        for name, predictor, n in options["predictors"]:
            kind = class_named(name)
            if not issubclass(kind, Predictor):
                raise corrupt(f"{name!r} is no predictor")
            predictors.append((kind(**{**predictor, "schema": None}), n))
        return super()._arguments({**options, "predictors": predictors}, arrays, learned)

    def _validate_state(self) -> None:
        if self._bank is not None:
            check_learned(self._weights, "the weight of a predictor")

    # What a kind of ensemble may define.

    def _allocate(self, n: int) -> None:
        """Allocate the arrays for n predictors."""

    def _learn_weights(self, outputs: Floats, label: int, weight: int) -> None:
        """Update the weights by the predictors' outputs, before the predictors learn the event."""

    def _event_weights_of(self, weight: int) -> NDArray[np.int64]:
        """The weight of the event for each predictor."""
        return self._ones if weight == 1 else self._ones * weight


def _listed(predictors: Any) -> list[Any]:
    if isinstance(predictors, str) or not isinstance(predictors, Sequence):
        raise InvalidInput(f"predictors is {shown(predictors)}; it must be a list of predictors")
    return list(predictors)


def _checked(entry: Any) -> tuple[Predictor | Learner, int | None]:
    """An entry of `predictors` as a predictor and how many there are of it."""
    predictor, n = entry if isinstance(entry, tuple | list) and len(entry) == 2 else (entry, None)
    if n is not None:
        check_whole("the number of a predictor", n, 1, MAX_PREDICTORS)
    if not (hasattr(predictor, "learn_one") and hasattr(predictor, "predict_proba_one")) or isinstance(predictor, type):
        raise InvalidInput(f"a predictor is {shown(predictor)}; it must have learn_one and predict_proba_one")
    return predictor, None if n is None else int(n)
