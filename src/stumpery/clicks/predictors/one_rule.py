"""One rule: an interval of a column against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import KIND_ONE_RULE, OUTPUT_BINARY, OUTPUT_PROBABILITY
from stumpery.clicks.predictors.predictor import UnivariatePredictor
from stumpery.options import check_bool


@dataclass(kw_only=True, eq=False)
class OneRule(UnivariatePredictor):
    """The rule "x is in (a, b]", with a probability inside and one outside (Salperwyck and Urvoy 2011).

    Categorical columns take part by the hashes of their categories.

    Args:
        schema: the columns; None takes them from the first rows to learn from.
        seed: of the random draws, from 0 to 2^63 - 1.
        prior: the probability of a click before the first event, from 0 to 1; 0.0025 is that of rare clicks.
        m: how many events the prior counts for, above 0: a large m keeps estimates from few events near the prior.
        criterion: the Gini impurity of a cut, "weighted" by the counts of its two sides, or their "sum" as in the
            paper.
        column: the column; None takes the one with the best cut, and in an ensemble each usable one.
        max_tuples: the size of the quantile summary, from 3 to 10,000: cuts are read off its tuples.
        binary: whether the outputs are 1 and 0 instead of the two probabilities.

    >>> model = OneRule()
    >>> hours = [event % 24 for event in range(2400)]
    >>> model.learn_many([{"hour": hour} for hour in hours], [8 <= hour < 12 for hour in hours])
    >>> [hour for hour in range(24) if model.predict_one({"hour": hour})]
    [8, 9, 10, 11]
    """

    binary: bool = False

    kind: ClassVar[int] = KIND_ONE_RULE
    takes: ClassVar[frozenset[str]] = frozenset({"numerical", "categorical"})

    def __post_init__(self) -> None:
        check_bool("binary", self.binary)
        super().__post_init__()

    def _n_cuts(self) -> int:
        return 2

    def _settings(self) -> Sequence[float]:
        return [*super()._settings()[:4], float(OUTPUT_BINARY if self.binary else OUTPUT_PROBABILITY)]
