"""Base of adaptive random forests: online bagging, random columns and drift detection (Gomes et al. 2017)."""

import math
from dataclasses import dataclass

from stumpery.options import check_number, check_whole
from stumpery.streaming.model import StreamModel
from stumpery.streaming.trees import state_kernels as records
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class AdaptiveForest(StreamModel):
    """An adaptive random forest: each tree learns an event Poisson(`times`) times and splits on random columns."""

    n_models: int = 10
    times: float = 2.0
    max_features: float = 0.6
    warning_delta: float = 0.01
    drift_delta: float = 0.001

    def __post_init__(self) -> None:
        check_whole("n_models", self.n_models, 2, 1000)
        check_number("times", self.times, 0, 10, above=True)
        check_number("max_features", self.max_features, 0, 1, above=True)
        check_number("warning_delta", self.warning_delta, 0, 1, above=True, below=True)
        check_number("drift_delta", self.drift_delta, 0, 1, above=True, below=True)
        super().__post_init__()

    @property
    def n_background(self) -> int:
        """The number of background trees, each started by a warning of a drift detector."""
        return 0 if self._arena is None else int(self._arena.state.standby.sum())

    @property
    def _n_trees(self) -> int:
        return self.n_models

    @property
    def _mean_times(self) -> float:
        return self.times

    def _new_rule(self, n_columns: int) -> Floats:
        rule = super()._new_rule(n_columns)
        rule[records.RULE_N_DRAWN] = math.ceil(self.max_features * n_columns)
        rule[records.RULE_TIMES] = self.times
        rule[records.RULE_WARNING_DELTA] = self.warning_delta
        rule[records.RULE_DRIFT_DELTA] = self.drift_delta
        return rule
