"""Hashed decision stump: one threshold on the hash of a category."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import KIND_STUMP
from stumpery.clicks.predictors.predictor import UnivariatePredictor
from stumpery.options import check_whole


@dataclass(kw_only=True, eq=False)
class HashedStump(UnivariatePredictor):
    """A hashed decision stump: one threshold on the hash of a categorical column (Salperwyck and Urvoy 2011).

    The hash goes into a quantile summary like a number: up to `max_tuples` categories have counts of their own, while
    in a row of a count-min sketch they would collide. Several hash functions give several orders of the categories.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        column: the column; None takes the one with the best cut, and in an ensemble each usable one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.
        n_hashes: how many hash functions, from 1 to 100, each with a predictor of its own.

    >>> model = HashedStump(n_hashes=2)
    >>> model.learn_many([{"device": ("phone", "watch")[event % 2]} for event in range(600)], [0, 1] * 300)
    >>> model.predict_one({"device": "watch"}), model.predict_one({"device": "phone"})
    (True, False)
    """

    n_hashes: int = 1

    kind: ClassVar[int] = KIND_STUMP
    takes: ClassVar[frozenset[str]] = frozenset({"categorical"})

    def __post_init__(self) -> None:
        check_whole("n_hashes", self.n_hashes, 1, 100)
        super().__post_init__()

    def _n_functions(self) -> int:
        return self.n_hashes
