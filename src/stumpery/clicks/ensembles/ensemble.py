"""Ensembles of click predictors: their base, the average, exponential weights and a linear ranker."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import score_kernels as kernels
from stumpery.clicks.click_model import ClickModel
from stumpery.clicks.predictor_bank import BinaryLearner, PredictorBank, PredictorConfig, TreeConfig
from stumpery.clicks.predictors.predictor import Predictor
from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_whole, listed, shown
from stumpery.saving.saveable import Arrays, Options, class_named
from stumpery.saving.validation import MAX_EVENT_COUNT, check_learned, check_within, corrupt
from stumpery.types import Floats, Integers

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
        learners: list[BinaryLearner] = []
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


def _checked(entry: Any) -> tuple[Predictor | BinaryLearner, int | None]:
    """An entry of `predictors` as a predictor and how many there are of it."""
    predictor, n = entry if isinstance(entry, tuple | list) and len(entry) == 2 else (entry, None)
    if n is not None:
        check_whole("the number of a predictor", n, 1, MAX_PREDICTORS)
    if not (hasattr(predictor, "learn_one") and hasattr(predictor, "predict_proba_one")) or isinstance(predictor, type):
        raise InvalidInput(f"a predictor is {shown(predictor)}; it must have learn_one and predict_proba_one")
    return predictor, None if n is None else int(n)


@dataclass(kw_only=True, eq=False)
class Average(PredictorEnsemble):
    """The average of many predictors' probabilities, hard to beat in the paper (Salperwyck and Urvoy 2011).

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.

    >>> from stumpery.clicks import HashedStump, Stump
    >>> model = Average(predictors=[Stump(), HashedStump()])
    >>> rows = [{"age": event % 60, "device": ("phone", "watch")[event % 2]} for event in range(3000)]
    >>> model.learn_many(rows, [row["age"] > 40 for row in rows])
    >>> model.predict_proba_one({"age": 50})[True] > model.predict_proba_one({"age": 20, "device": "watch"})[True]
    True
    """

    uses_outputs: ClassVar[bool] = False


@dataclass(kw_only=True, eq=False)
class WeightedPredictors(PredictorEnsemble):
    """Exponentially weighted average of click predictors: an event multiplies each weight by exp(eta * log likelihood).

    Weights sum to 1. With eta = 1 they are those of Bayes' rule. The paper leaves the reward open (Salperwyck and Urvoy
    2011). `ExponentialWeights` weighs learners of any classes or numbers.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.
        eta: the learning rate of the weights, above 0 and up to 1,000.

    >>> from stumpery.clicks import Stump
    >>> model = WeightedPredictors(predictors=[Stump()], eta=0.5)
    >>> rows = [{"a": event % 2, "b": event % 3} for event in range(500)]
    >>> model.learn_many(rows, [row["a"] for row in rows])
    >>> model.predict_one({"a": 1, "b": 0})
    True
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        check_number("eta", self.eta, 0, 1000, above=True)
        super().__post_init__()

    def _learn_weights(self, outputs: Floats, label: int, weight: int) -> None:
        kernels.update_weights(self._weights, outputs, label, float(self.eta * weight))


@dataclass(kw_only=True, eq=False)
class LinearRanker(PredictorEnsemble):
    """A linear ranker: the predictors' weights are the difference of the centroids of clicks and of no clicks.

    Weights may be negative, and their absolute values sum to 1 (Salperwyck and Urvoy 2011). Scores rank rows and are no
    probabilities; probabilities are scores mapped from [-1, 1] to [0, 1].

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.

    >>> from stumpery.clicks import OneRule
    >>> model = LinearRanker(predictors=[OneRule(max_tuples=4)])
    >>> rows = [{"a": event % 2, "b": event % 3} for event in range(500)]
    >>> model.learn_many(rows, [row["a"] for row in rows])
    >>> low, high = model.score_many([{"a": 0, "b": 1}, {"a": 1, "b": 1}])
    >>> bool(low < high)
    True
    """

    def _allocate(self, n: int) -> None:
        self._centroids: Floats = np.zeros((2, n))
        self._seen: Integers = np.zeros(2, np.int64)

    def _learn_weights(self, outputs: Floats, label: int, weight: int) -> None:
        kernels.update_centroids(self._weights, self._centroids, self._seen, outputs, label, weight)

    def _probabilities(self, scores: Floats) -> Floats:
        return (scores + 1.0) / 2.0

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays()
        return {**arrays, "centroids": self._centroids, "seen": self._seen} if arrays else {}

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._bank is not None:
            check_learned(self._centroids, "a centroid")
            check_within(self._seen, 0, MAX_EVENT_COUNT, "the number of events of a class")
