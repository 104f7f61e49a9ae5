"""One threshold on the hash of a name."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import STUMP
from stumpery.clicks.predictors.predictor import UnivariatePredictor
from stumpery.options import check_whole


@dataclass(kw_only=True, eq=False)
class HashedStump(UnivariatePredictor):
    """A stump over the hash of a name (Salperwyck and Urvoy 2011); several hash functions avoid unlucky orders.

    The hash goes into a quantile summary like a number: up to `max_tuples` names keep counts of their own, where a row
    of a count-min sketch would let them collide.

    >>> model = HashedStump(n_hashes=2)
    >>> model.learn_many([{"device": ("phone", "watch")[event % 2]} for event in range(600)], [0, 1] * 300)
    >>> model.predict_one({"device": "watch"}), model.predict_one({"device": "phone"})
    (True, False)
    """

    n_hashes: int = 1

    kind: ClassVar[int] = STUMP
    takes: ClassVar[frozenset[str]] = frozenset({"categorical"})

    def __post_init__(self) -> None:
        check_whole("n_hashes", self.n_hashes, 1, 100)
        super().__post_init__()

    def _n_functions(self) -> int:
        return self.n_hashes
