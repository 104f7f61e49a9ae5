"""One interval against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import BINARY, ONE_RULE, PROBABILITY
from stumpery.clicks.predictors.predictor import UnivariatePredictor
from stumpery.options import check_bool


@dataclass(kw_only=True, eq=False)
class OneRule(UnivariatePredictor):
    """The rule "x is in [a, b]": a probability inside and one outside, or 1 and 0 with `binary` (Salperwyck and Urvoy 2011).

    A column of names takes part by its hashes.

    >>> model = OneRule()
    >>> hours = [event % 24 for event in range(2400)]
    >>> model.learn_many([{"hour": hour} for hour in hours], [8 <= hour < 12 for hour in hours])
    >>> [hour for hour in range(24) if model.predict_one({"hour": hour})]
    [8, 9, 10, 11]
    """

    binary: bool = False

    kind: ClassVar[int] = ONE_RULE
    takes: ClassVar[frozenset[str]] = frozenset({"numerical", "categorical"})

    def __post_init__(self) -> None:
        check_bool("binary", self.binary)
        super().__post_init__()

    def _n_cuts(self) -> int:
        return 2

    def _settings(self) -> Sequence[float]:
        return [*super()._settings()[:4], float(BINARY if self.binary else PROBABILITY)]
