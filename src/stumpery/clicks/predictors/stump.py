"""One threshold on a number."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import STUMP
from stumpery.clicks.predictors.predictor import UnivariatePredictor


@dataclass(kw_only=True, eq=False)
class Stump(UnivariatePredictor):
    """One threshold on a number, read off a quantile summary by the lowest Gini impurity (Salperwyck and Urvoy 2011).

    Alone it uses the column with the best cut; in a combination there is one for each column of numbers. The paper
    prints the sum of both sides' impurities, `criterion="sum"`; by default each side is weighted by its share.

    >>> model = Stump()
    >>> model.learn_many([{"age": age % 50} for age in range(2000)], [age % 50 >= 40 for age in range(2000)])
    >>> model.predict_one({"age": 45}), model.predict_one({"age": 30})
    (True, False)
    """

    kind: ClassVar[int] = STUMP
    takes: ClassVar[frozenset[str]] = frozenset({"numerical"})
