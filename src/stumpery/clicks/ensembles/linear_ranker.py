"""Nearest-centroid linear ranker over click predictors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.saving.validation import MAX_EVENT_COUNT, check_learned, check_within
from stumpery.types import Floats, Integers


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
