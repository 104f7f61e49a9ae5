"""Univariate decision tree: several cuts of one column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import KIND_TREE
from stumpery.clicks.predictors.predictor import MAX_EVENTS, UnivariatePredictor
from stumpery.options import check_bool, check_whole


@dataclass(kw_only=True, eq=False)
class UnivariateTree(UnivariatePredictor):
    """A univariate decision tree: a stump whose leaves are split again (after Salperwyck and Urvoy 2011).

    The tree is read off the quantile summary from the root each time, so a cut is never final. The leaf whose cut
    lowers the impurity of all its events most is split first. Probabilities shrink to the parent's.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        column: the column; None takes the one with the best cut, and in an ensemble each usable one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.
        min_samples_split: the events that a leaf needs to be split, from 1 to 1,000,000,000.
        max_leaves: the maximum number of leaves, from 2 to 10,000.
        categories: whether categorical columns take part too, by the hashes of their categories.

    >>> model = UnivariateTree(min_samples_split=200)
    >>> hours = [event % 24 for event in range(4800)]
    >>> model.learn_many([{"hour": hour} for hour in hours], [hour in (3, 9, 10) for hour in hours])
    >>> [hour for hour in range(24) if model.predict_one({"hour": hour})]
    [3, 9, 10]
    """

    min_samples_split: int = 1000
    max_leaves: int = 16
    categories: bool = False

    kind: ClassVar[int] = KIND_TREE
    takes: ClassVar[frozenset[str]] = frozenset({"numerical"})

    def __post_init__(self) -> None:
        check_whole("min_samples_split", self.min_samples_split, 1, MAX_EVENTS)
        check_whole("max_leaves", self.max_leaves, 2, 10_000)
        check_bool("categories", self.categories)
        super().__post_init__()

    def _takes(self) -> frozenset[str]:
        return self.takes | ({"categorical"} if self.categories else set())

    def _n_cuts(self) -> int:
        return self.max_leaves - 1

    def _settings(self) -> Sequence[float]:
        prior, m, _, weighted, binary = super()._settings()
        return [prior, m, float(self.min_samples_split), weighted, binary]
