"""The plain average."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.ensembles.ensemble import PredictorEnsemble


@dataclass(kw_only=True, eq=False)
class Average(PredictorEnsemble):
    """The plain average of many predictors' probabilities, which the paper found hard to beat (Salperwyck and Urvoy 2011).

    >>> from stumpery.clicks import HashedStump, Stump
    >>> model = Average(predictors=[Stump(), HashedStump()])
    >>> rows = [{"age": event % 60, "device": ("phone", "watch")[event % 2]} for event in range(3000)]
    >>> model.learn_many(rows, [row["age"] > 40 for row in rows])
    >>> model.predict_proba_one({"age": 50})[True] > model.predict_proba_one({"age": 20, "device": "watch"})[True]
    True
    """

    uses_outputs: ClassVar[bool] = False
