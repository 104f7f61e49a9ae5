"""A tree over one column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import TREE
from stumpery.clicks.predictors.predictor import MOST_EVENTS, UnivariatePredictor
from stumpery.options import check_bool, check_whole


@dataclass(kw_only=True, eq=False)
class UnivariateTree(UnivariatePredictor):
    """A stump whose leaves are split again once they hold `unfold` events; probabilities shrink to the parent's.

    After Salperwyck and Urvoy (2011). It is read off the summary from the root each time, so a cut is never final. The
    leaf whose cut lowers the impurity of all its events most is split first, up to `max_leaves`. With `categories`,
    categorical columns take part by their hashes.

    >>> model = UnivariateTree(unfold=200)
    >>> hours = [event % 24 for event in range(4800)]
    >>> model.learn_many([{"hour": hour} for hour in hours], [hour in (3, 9, 10) for hour in hours])
    >>> [hour for hour in range(24) if model.predict_one({"hour": hour})]
    [3, 9, 10]
    """

    unfold: int = 1000
    max_leaves: int = 16
    categories: bool = False

    kind: ClassVar[int] = TREE
    takes: ClassVar[frozenset[str]] = frozenset({"numerical"})

    def __post_init__(self) -> None:
        check_whole("unfold", self.unfold, 1, MOST_EVENTS)
        check_whole("max_leaves", self.max_leaves, 2, 10_000)
        check_bool("categories", self.categories)
        super().__post_init__()

    def _takes(self) -> frozenset[str]:
        return self.takes | ({"categorical"} if self.categories else set())

    def _n_cuts(self) -> int:
        return self.max_leaves - 1

    def _settings(self) -> Sequence[float]:
        prior, m, _, weighted, binary = super()._settings()
        return [prior, m, float(self.unfold), weighted, binary]
