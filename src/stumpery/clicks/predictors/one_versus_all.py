"""One category of a column against all others."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import KIND_ONE_VERSUS_ALL
from stumpery.clicks.predictors.predictor import UnivariatePredictor


@dataclass(kw_only=True, eq=False)
class OneVersusAll(UnivariatePredictor):
    """One versus all: the best category of a column, by Gini impurity, against the rest (Salperwyck and Urvoy 2011).

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        column: the column; None takes the one with the best cut, and in an ensemble each usable one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.

    >>> model = OneVersusAll()
    >>> devices = [("phone", "watch", "desk")[event % 3] for event in range(600)]
    >>> model.learn_many([{"device": device} for device in devices], [device == "watch" for device in devices])
    >>> model.predict_one({"device": "watch"}), model.predict_one({"device": "phone"})
    (True, False)
    """

    kind: ClassVar[int] = KIND_ONE_VERSUS_ALL
    takes: ClassVar[frozenset[str]] = frozenset({"categorical"})

    def _n_cuts(self) -> int:
        return 2
