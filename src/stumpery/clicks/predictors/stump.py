"""Decision stump: one threshold on a numerical column."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import KIND_STUMP
from stumpery.clicks.predictors.predictor import UnivariatePredictor


@dataclass(kw_only=True, eq=False)
class Stump(UnivariatePredictor):
    """A decision stump: one threshold on a numerical column, with the lowest Gini impurity (Salperwyck and Urvoy 2011).

    The threshold is read off a quantile summary. Alone, a stump uses the column with the best cut; in an ensemble there
    is one for each numerical column.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        column: the column; None takes the one with the best cut, and in an ensemble each usable one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.

    >>> model = Stump()
    >>> model.learn_many([{"age": age % 50} for age in range(2000)], [age % 50 >= 40 for age in range(2000)])
    >>> model.predict_one({"age": 45}), model.predict_one({"age": 30})
    (True, False)
    """

    kind: ClassVar[int] = KIND_STUMP
    takes: ClassVar[frozenset[str]] = frozenset({"numerical"})
