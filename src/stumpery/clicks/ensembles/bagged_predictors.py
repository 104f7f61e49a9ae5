"""Online bagging of click predictors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stumpery.clicks import score_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.random import new_generator
from stumpery.saving.validation import check_random_state


@dataclass(kw_only=True, eq=False)
class BaggedPredictors(PredictorEnsemble):
    """Online bagging of click predictors: their average, where each sees an event Poisson(1) times (Oza 2005).

    `OnlineBagging` bags learners of any classes or numbers.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        predictors: such as `Stump()`, for one predictor of each usable column, or pairs such as `(Stump(), 800)`, for
            that many, with the columns in turn. They are configurations and are not trained. Other objects with
            `learn_one` and `predict_proba_one`, of river for instance, are copied and called one by one.

    >>> from stumpery.clicks import RandomHoeffdingTree, Stump
    >>> model = BaggedPredictors(predictors=[(Stump(), 8), (RandomHoeffdingTree(), 2)], seed=7)
    >>> rows = [{"a": event % 2, "b": event % 3} for event in range(500)]
    >>> model.learn_many(rows, [row["a"] for row in rows])
    >>> model.predict_proba_one({"a": 1, "b": 1})[True] > model.predict_proba_one({"a": 0, "b": 1})[True]
    True
    """

    uses_outputs: ClassVar[bool] = False

    def _allocate(self, n: int) -> None:
        self._rng = new_generator(self.seed)
        self._event_weights = np.zeros(n, np.int64)

    def _event_weights_of(self, weight: int) -> NDArray[np.int64]:
        kernels.draw_weights(self._event_weights, self._rng, weight)
        return self._event_weights

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays()
        return {**arrays, "rng": self._rng} if arrays else {}

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._bank is not None:
            check_random_state(self._rng)
