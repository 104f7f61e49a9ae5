"""Hoeffding trees for classification and regression."""

from dataclasses import dataclass

from stumpery.streaming.classifier import StreamClassifier
from stumpery.streaming.regressor import StreamRegressor


@dataclass(kw_only=True, eq=False)
class HoeffdingTreeClassifier(StreamClassifier):
    """A Hoeffding tree: a decision tree that grows with a stream of labelled rows (Domingos and Hulten 2000).

    Events are stored within `max_bytes`, so that a leaf searches its own events for the best split, and hands them on
    when it splits. It splits if the gain is significant, and larger than that of any other column by the Hoeffding
    bound. `delta=1e-7, tau=0.05, grace_period=200` is the cautious tree of the paper.

    Args:
        grace_period: Events from one check of a leaf to the next, 1 to 1,000,000. Smaller values split earlier and
            learn more slowly.
        delta: Significance level of a split, above 0 and below 1, for the test and the Hoeffding bound. The default is
            larger than the 1e-7 of the source, because a leaf that keeps its events can be checked again.
        tau: Tie threshold, 0 or more: below this Hoeffding bound two columns count as equally good. Larger values split
            sooner.
        max_depth: Largest depth of a tree, 0 to 1,000; None is without a limit, since `max_bytes` bounds a tree anyway.
        leaf_prediction: How a leaf predicts: "mc" (majority class of all events), "recent" (that of the recent events),
            "nb" (naive Bayes), "adaptive" ("mc", unless "recent" was clearly more often right of late) or "nba"
            (adaptive with naive Bayes). Tables for naive Bayes take a quarter of the memory.
        binary_split: True splits categories in two; False gives each category a leaf of its own, which spreads the
            events over more leaves.
        max_bytes: Memory of the model in bytes, most of it for events; the oldest are forgotten first. The default is
            enough for about 250,000 events of ten columns.
        schema: The columns; None infers them from the first rows to learn from.
        seed: Seed of the random state, which a single tree does not use.
        split_criterion: "info_gain" or "gini" (Gini impurity).

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

    @property
    def _n_trees(self) -> int:
        return 1


@dataclass(kw_only=True, eq=False)
class HoeffdingTreeRegressor(StreamRegressor):
    """A Hoeffding tree for regression: a tree that grows with a stream of rows and numbers.

    A leaf splits where that reduces the variance of its numbers most, on the same terms as `HoeffdingTreeClassifier`
    (Ikonomovska et al. 2011 describe such trees).

    Args:
        grace_period: Events from one check of a leaf to the next, 1 to 1,000,000. Smaller values split earlier and
            learn more slowly.
        delta: Significance level of a split, above 0 and below 1, for the test and the Hoeffding bound. The default is
            larger than the 1e-7 of the source, because a leaf that keeps its events can be checked again.
        tau: Tie threshold, 0 or more: below this Hoeffding bound two columns count as equally good. Larger values split
            sooner.
        max_depth: Largest depth of a tree, 0 to 1,000; None is without a limit, since `max_bytes` bounds a tree anyway.
        leaf_prediction: How a leaf predicts: "mc" (mean of all events), "recent" (mean of the recent events) or
            "adaptive" (whichever was nearer more often of late).
        binary_split: True splits categories in two; False gives each category a leaf of its own, which spreads the
            events over more leaves.
        max_bytes: Memory of the model in bytes, most of it for events; the oldest are forgotten first. The default is
            enough for about 250,000 events of ten columns.
        schema: The columns; None infers them from the first rows to learn from.
        seed: Seed of the random state, which a single tree does not use.

    >>> model = HoeffdingTreeRegressor()
    >>> rows = [{"hour": event % 24, "day": ("week", "weekend")[event % 7 > 4]} for event in range(4000)]
    >>> model.learn_many(rows, [20.0 if row["hour"] > 11 else 5.0 for row in rows])
    >>> round(model.predict_one({"hour": 15, "day": "week"}))
    20
    """

    @property
    def _n_trees(self) -> int:
        return 1
