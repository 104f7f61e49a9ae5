"""Random Hoeffding tree: a Hoeffding tree over a few random columns."""

from dataclasses import dataclass

import numpy as np

from stumpery.clicks.predictor_bank import PredictorConfig, TreeConfig
from stumpery.clicks.predictors.predictor import MAX_EVENTS, PREDICTOR_BYTES, Predictor
from stumpery.encoding import Schema
from stumpery.options import check_number, check_whole
from stumpery.system.allocation import reserve


@dataclass(kw_only=True, eq=False)
class RandomHoeffdingTree(Predictor):
    """A random Hoeffding tree: a Hoeffding tree (Domingos and Hulten 2000) over a few random columns.

    Each leaf has a quantile summary of each column. Categorical columns take part by hashes, and missing values have a
    branch of their own. In an ensemble, trees of one configuration share the memory of their leaves.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        n_features: how many random columns a tree uses, from 1 to 10,000.
        grace_period: the events of a leaf between two attempts to split it, from 1 to 1,000,000,000.
        delta: the probability of choosing a worse column, above 0 and below 1: the best column must beat the next by
            the Hoeffding bound sqrt(ln(1 / delta) / 2n).
        tau: at least 0; a leaf is also split once the bound is below it, for columns that are equally good.
        max_depth: the maximum depth of a leaf, from 1 to 10,000.
        max_leaves: the leaves with summaries that there are memory for, on average for each tree, from 2 to 10,000;
            when all have been used, trees grow no more.

    >>> model = RandomHoeffdingTree(n_features=2, grace_period=100, seed=3)
    >>> rows = [{"a": event % 2, "b": event // 2 % 2} for event in range(8000)]
    >>> model.learn_many(rows, [row["a"] == 1 and row["b"] == 1 for row in rows])
    >>> model.predict_one({"a": 1, "b": 1}), model.predict_one({"a": 1, "b": 0})
    (True, False)
    """

    n_features: int = 10
    grace_period: int = 200
    delta: float = 1e-7
    tau: float = 0.05
    max_depth: int = 20
    max_leaves: int = 9

    def __post_init__(self) -> None:
        check_whole("n_features", self.n_features, 1, 10_000)
        check_whole("grace_period", self.grace_period, 1, MAX_EVENTS)
        check_number("delta", self.delta, 0, 1, above=True, below=True)
        check_number("tau", self.tau, 0)
        check_whole("max_depth", self.max_depth, 1, 10_000)
        check_whole("max_leaves", self.max_leaves, 2, 10_000)
        super().__post_init__()

    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeConfig]]:
        """Trees with columns of their own."""
        rng = np.random.default_rng([seed, 1])
        n_trees, n_features = n or 1, min(self.n_features, len(schema))
        reserve(n_trees * (PREDICTOR_BYTES + 8 * len(schema)))
        features = [np.sort(rng.permutation(len(schema))[:n_features]) for _ in range(n_trees)]
        weighted = float(self.criterion == "weighted")
        settings = [self.prior, self.m, 0.0, weighted, 0.0, self.grace_period, self.delta, self.tau, self.max_depth]
        return [], [TreeConfig(np.array(features, np.int64), np.array(settings, np.float64), self.max_leaves)]
