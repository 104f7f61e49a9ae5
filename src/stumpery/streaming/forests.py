"""Adaptive random forests: online bagging, random columns and drift detection (Gomes et al. 2017)."""

import math
from dataclasses import dataclass

from stumpery.options import check_number, check_whole
from stumpery.streaming.classifier import StreamClassifier
from stumpery.streaming.model import StreamModel
from stumpery.streaming.regressor import StreamRegressor
from stumpery.streaming.trees import state_kernels as records
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class AdaptiveForest(StreamModel):
    """An adaptive random forest: each tree learns an event Poisson(`times`) times and splits on random columns."""

    n_models: int = 10
    times: float = 2.0
    max_features: float = 0.6
    warning_delta: float = 0.01
    drift_delta: float = 0.001

    def __post_init__(self) -> None:
        check_whole("n_models", self.n_models, 2, 1000)
        check_number("times", self.times, 0, 10, above=True)
        check_number("max_features", self.max_features, 0, 1, above=True)
        check_number("warning_delta", self.warning_delta, 0, 1, above=True, below=True)
        check_number("drift_delta", self.drift_delta, 0, 1, above=True, below=True)
        super().__post_init__()

    @property
    def n_background(self) -> int:
        """The number of background trees, each started by a warning of a drift detector."""
        return 0 if self._arena is None else int(self._arena.state.has_background.sum())

    @property
    def _n_trees(self) -> int:
        return self.n_models

    @property
    def _mean_times(self) -> float:
        return self.times

    def _kernel_options(self, n_columns: int) -> Floats:
        options = super()._kernel_options(n_columns)
        options[records.OPTION_N_DRAWN] = math.ceil(self.max_features * n_columns)
        options[records.OPTION_TIMES] = self.times
        options[records.OPTION_WARNING_DELTA] = self.warning_delta
        options[records.OPTION_DRIFT_DELTA] = self.drift_delta
        return options


@dataclass(kw_only=True, eq=False)
class ForestClassifier(AdaptiveForest, StreamClassifier):
    """An adaptive random forest: Hoeffding trees that vote, each replaced after a drift (Gomes et al. 2017).

    A tree's vote is weighted by its recent accuracy. An adaptive window (ADWIN) over its errors starts a background
    tree at `warning_delta`, and replaces the tree by it at `drift_delta`. All trees share one store of events.

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
            smaller than that of a single tree, since votes average out what a tree misses.
        tau: Tie threshold, 0 or more: below this Hoeffding bound two columns count as equally good. Larger values split
            sooner.
        max_depth: Largest depth of a tree, 0 to 1,000; None is without a limit, since `max_bytes` bounds a tree anyway.
        leaf_prediction: How a leaf predicts: "mc" (majority class of all events), "recent" (that of the recent events),
            "nb" (naive Bayes), "adaptive" ("mc", unless "recent" was clearly more often right of late) or "nba"
            (adaptive with naive Bayes). Tables for naive Bayes take a quarter of the memory.
        binary_split: True splits categories in two; False gives each category a leaf of its own, which spreads the
            events over more leaves.
        max_bytes: Memory of the model in bytes, most of it for events; the oldest are forgotten first. The default is
            enough for about 900,000 events of ten columns.
        schema: The columns; None infers them from the first rows to learn from.
        seed: Seed of the Poisson draws and of the columns at each split.
        split_criterion: "info_gain" or "gini" (Gini impurity).

    >>> model = ForestClassifier(seed=7)
    >>> rows = [{"hour": event % 24, "device": ("phone", "watch")[event % 2]} for event in range(1000)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> model.predict_one({"hour": 12, "device": "phone"})
    'work'
    """

    delta: float = 0.01
    max_bytes: int = 128_000_000


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
        max_bytes: Memory of the model in bytes, most of it for events; the oldest are forgotten first. The default is
            enough for about 900,000 events of ten columns.
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
