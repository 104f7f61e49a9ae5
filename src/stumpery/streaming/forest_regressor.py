"""Adaptive random forest regressor."""

from dataclasses import dataclass

from stumpery.streaming.adaptive_forest import AdaptiveForest
from stumpery.streaming.regressor import StreamRegressor


@dataclass(kw_only=True, eq=False)
class ForestRegressor(AdaptiveForest, StreamRegressor):
    """An adaptive random forest for regression: Hoeffding trees whose predictions are averaged (Gomes et al. 2018).

    Trees are replaced as in `ForestClassifier`. An error counts as its share of three standard deviations of all
    numbers, at most 1.

    Args:
        n_models: Number of trees, 2 to 1,000. More are slower and slightly more accurate.
        times: Mean of the Poisson draws that say how often a tree learns an event, above 0 and at most 10. Gomes et al.
            use 6; 2 takes less time.
        max_features: Share of the columns that a split may use, above 0 and at most 1. Smaller values make the trees
            more different.
        warning_delta: Significance level at which a drift detector starts a background tree, above 0 and below 1; that
            of the source.
        drift_delta: Significance level at which the background tree replaces its tree, above 0 and below 1; that of the
            source.
        grace_period: Events from one check of a leaf to the next, 1 to 1,000,000. Smaller values split earlier and
            learn more slowly.
        delta: Significance level of a split, above 0 and below 1, for the test and the Hoeffding bound. The default is
            smaller than that of a single tree, since means average out what a tree misses.
        tau: Tie threshold, 0 or more: below this Hoeffding bound two columns count as equally good. Larger values split
            sooner.
        max_depth: Largest depth of a tree, 0 to 1,000; None is without a limit, since `max_bytes` bounds a tree anyway.
        leaf_prediction: How a leaf predicts: "mc" (mean of all events), "recent" (mean of the recent events) or
            "adaptive" (whichever was nearer more often of late).
        binary_split: True splits categories in two; False gives each category a leaf of its own, which spreads the
            events over more leaves.
        max_bytes: Memory of the model in bytes, most of it for events; the oldest are forgotten first. The default has
            room for about 900,000 events of ten columns.
        schema: The columns; None infers them from the first rows to learn from.
        seed: Seed of the Poisson draws and of the columns at each split.

    >>> model = ForestRegressor(seed=7)
    >>> rows = [{"hour": event % 24, "day": ("week", "weekend")[event % 7 > 4]} for event in range(2000)]
    >>> model.learn_many(rows, [20.0 if row["hour"] > 11 else 5.0 for row in rows])
    >>> abs(model.predict_one({"hour": 15, "day": "week"}) - 20) < 2
    True
    """

    delta: float = 0.01
    max_bytes: int = 128_000_000
