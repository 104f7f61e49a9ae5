"""An online random forest of classes that follows a stream as it changes."""

from dataclasses import dataclass

from stumpery.streaming.adaptive_forest import AdaptiveForest
from stumpery.streaming.classifier import StreamClassifier


@dataclass(kw_only=True, eq=False)
class ForestClassifier(AdaptiveForest, StreamClassifier):
    """Many Hoeffding trees that vote, each replaced when its mistakes become more (Gomes et al. 2017).

    Every tree sees each event Poisson(`times`) times and looks at a random `max_features` of the columns at each split.
    Its vote counts as much as it was right of late. A window over its mistakes starts a tree in the background
    at `warning_delta` and puts it in the old one's place at `drift_delta`. All trees remember events in common.

    >>> model = ForestClassifier(seed=7)
    >>> rows = [{"hour": event % 24, "device": ("phone", "watch")[event % 2]} for event in range(1000)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12, "device": "phone"})
    'work'
    """

    delta: float = 0.01
    max_bytes: int = 128_000_000
