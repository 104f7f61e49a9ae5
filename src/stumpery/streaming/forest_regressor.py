"""An online random forest of numbers that follows a stream as it changes."""

from dataclasses import dataclass

from stumpery.streaming.adaptive_forest import AdaptiveForest
from stumpery.streaming.regressor import StreamRegressor


@dataclass(kw_only=True, eq=False)
class ForestRegressor(AdaptiveForest, StreamRegressor):
    """Many Hoeffding trees whose numbers are averaged, each replaced when its errors become more.

    Made as `ForestClassifier` is. An error is a share of three standard deviations of all numbers, at most 1.

    >>> model = ForestRegressor(seed=7)
    >>> rows = [{"hour": event % 24, "day": ("week", "weekend")[event % 7 > 4]} for event in range(2000)]
    >>> model.learn_many(rows, [20.0 if row["hour"] > 11 else 5.0 for row in rows])
    >>> abs(model.predict_one({"hour": 15, "day": "week"}) - 20) < 2
    True
    """

    delta: float = 0.01
    max_bytes: int = 128_000_000
