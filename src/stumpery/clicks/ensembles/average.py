"""The average of click predictors."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.ensembles.ensemble import PredictorEnsemble


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
