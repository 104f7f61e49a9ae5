"""A Hoeffding tree over a few random columns."""

from dataclasses import dataclass

import numpy as np

from stumpery.clicks.predictor_bank import PredictorConfig, TreeBank
from stumpery.clicks.predictors.predictor import MEMBER_BYTES, MOST_EVENTS, Predictor
from stumpery.encoding import Schema
from stumpery.options import check_number, check_whole
from stumpery.system.allocation import reserve


@dataclass(kw_only=True, eq=False)
class RandomHoeffdingTree(Predictor):
    """A Hoeffding tree (Domingos and Hulten 2000) over `n_features` random columns, a summary of each in every leaf.

    A leaf is weighed every `grace_period` events and cut when the best column beats the next by the Hoeffding bound
    sqrt(ln(1 / delta) / 2n), or when that is below `tau`. Names take part by their hashes, missing values have a branch
    of their own. Once the trees of a team have had summaries in `max_leaves` leaves each, on average, they are grown.

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
        check_whole("grace_period", self.grace_period, 1, MOST_EVENTS)
        check_number("delta", self.delta, 0, 1, above=True, below=True)
        check_number("tau", self.tau, 0)
        check_whole("max_depth", self.max_depth, 1, 10_000)
        check_whole("max_leaves", self.max_leaves, 2, 10_000)
        super().__post_init__()

    def members(self, schema: Schema, n: int | None, seed: int) -> tuple[list[PredictorConfig], list[TreeBank]]:
        """Trees with columns of their own."""
        rng = np.random.default_rng([seed, 1])
        n_trees, n_features = n or 1, min(self.n_features, len(schema))
        reserve(n_trees * (MEMBER_BYTES + 8 * len(schema)))
        features = [np.sort(rng.permutation(len(schema))[:n_features]) for _ in range(n_trees)]
        weighted = float(self.criterion == "weighted")
        settings = [self.prior, self.m, 0.0, weighted, 0.0, self.grace_period, self.delta, self.tau, self.max_depth]
        return [], [TreeBank(np.array(features, np.int64), np.array(settings, np.float64), self.max_leaves)]
