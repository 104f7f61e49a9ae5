"""Weights that grow exponentially with what a predictor was right about."""

from dataclasses import dataclass

from stumpery.clicks.ensembles import ensemble_kernels as kernels
from stumpery.clicks.ensembles.ensemble import PredictorEnsemble
from stumpery.options import check_number
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class WeightedPredictors(PredictorEnsemble):
    """Each weight is multiplied by exp(eta * reward) with every event, and their sum brought back to 1.

    The reward is the logarithm of the probability that the predictor gave to what came, so eta = 1 weighs predictors as
    Bayes' rule does. The paper leaves the reward open (Salperwyck and Urvoy 2011).

    These are predictors of clicks; `ExponentialWeights` weighs learners of any classes or numbers.

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
        kernels.reward(self._weights, outputs, label, float(self.eta * weight))
