"""The Hoeffding tree of Domingos and Hulten, over remembered events."""

from dataclasses import dataclass

from stumpery.streaming.classifier import StreamClassifier


@dataclass(kw_only=True, eq=False)
class HoeffdingTreeClassifier(StreamClassifier):
    """One tree that grows with the stream (Domingos and Hulten 2000).

    Events are remembered within `max_bytes`, so a leaf can look at its own past when it is asked whether to split, and
    hand it on when it does. After `grace_period` events it splits at the best cut, by `split_criterion`, if a cut so
    good comes by chance less often than `delta` and beats the best of any other column by the Hoeffding bound, or that
    bound is below `tau`. A leaf predicts its commonest class ("mc"), that of its latest events ("recent"), by naive
    Bayes ("nb"), or whichever of these was right more often of late ("adaptive" without naive Bayes, "nba" with it).
    `delta=1e-7, tau=0.05, grace_period=200` is the cautious tree of the paper.

    >>> model = HoeffdingTreeClassifier()
    >>> rows = [{"hour": event % 24, "device": ("phone", "watch")[event % 2]} for event in range(2000)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12, "device": "phone"})
    'work'
    >>> print(model.to_text(max_depth=1))
    100.0% of events, 'home' 62.6%, 'work' 37.4%
      hour <= 8 or missing: 37.8% of events, 'home' 100.0%
      hour > 8: 62.3% of events, 'work' 60.0%, 'home' 40.0%, 2 leaves below
    """
