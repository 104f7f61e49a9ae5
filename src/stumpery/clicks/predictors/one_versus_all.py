"""One name against all others."""

from dataclasses import dataclass
from typing import ClassVar

from stumpery.clicks.partition_kernels import ONE_VERSUS_ALL
from stumpery.clicks.predictors.predictor import UnivariatePredictor


@dataclass(kw_only=True, eq=False)
class OneVersusAll(UnivariatePredictor):
    """The most telling name of a column against the rest (Salperwyck and Urvoy 2011).

    >>> model = OneVersusAll()
    >>> devices = [("phone", "watch", "desk")[event % 3] for event in range(600)]
    >>> model.learn_many([{"device": device} for device in devices], [device == "watch" for device in devices])
    >>> model.predict_one({"device": "watch"}), model.predict_one({"device": "phone"})
    (True, False)
    """

    kind: ClassVar[int] = ONE_VERSUS_ALL
    takes: ClassVar[frozenset[str]] = frozenset({"categorical"})

    def _n_cuts(self) -> int:
        return 2
