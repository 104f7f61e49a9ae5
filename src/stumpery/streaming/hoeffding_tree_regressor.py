"""The Hoeffding tree for numbers."""

from dataclasses import dataclass

from stumpery.streaming.regressor import StreamRegressor


@dataclass(kw_only=True, eq=False)
class HoeffdingTreeRegressor(StreamRegressor):
    """One tree that grows with the stream and predicts a number.

    A leaf splits at the cut that explains most of its events' variance, on the same terms as in
    `HoeffdingTreeClassifier`. It predicts the mean of all its events ("mc"), of its latest ones ("recent"), or
    whichever was nearer more often of late ("adaptive").

    >>> model = HoeffdingTreeRegressor()
    >>> rows = [{"hour": event % 24, "day": ("week", "weekend")[event % 7 > 4]} for event in range(4000)]
    >>> model.learn_many(rows, [20.0 if row["hour"] > 11 else 5.0 for row in rows])
    >>> round(model.predict_one({"hour": 15, "day": "week"}))
    20
    """
