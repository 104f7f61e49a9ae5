"""Exponentially weighted click predictors."""

from dataclasses import dataclass

from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.options import check_number
from stumpery.types import Floats


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
