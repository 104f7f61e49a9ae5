"""What the forests add to their trees: how many, how different, and what they do when the stream changes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stumpery.options import check_number, check_whole
from stumpery.streaming.model import StreamModel
from stumpery.streaming.trees import leaf_predictors_kernels as leaves


@dataclass(kw_only=True, eq=False)
class Forest(StreamModel):
    """Trees that see every event Poisson(`times`) times and look at a random share of the columns at each split."""

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
        """The trees that grow in the background, because mistakes seem to become more."""
        return 0 if self._model is None else int(self._model.standby.sum())

    @property
    def _n_trees(self) -> int:
        return self.n_models

    def _more_rules(self) -> Mapping[int, float]:
        n_columns = 1 if self._encoder is None else len(self._encoder.seen)
        return {
            leaves.RULE_N_DRAWN: math.ceil(self.max_features * n_columns),
            leaves.RULE_TIMES: self.times,
            leaves.RULE_WARNING_DELTA: self.warning_delta,
            leaves.RULE_DRIFT_DELTA: self.drift_delta,
        }
