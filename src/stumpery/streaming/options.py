"""Options of Hoeffding trees and forests, and the same in the form of an array, for kernels."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.options import check_bool, check_number, check_one_of, check_whole, shown
from stumpery.streaming.trees import state_kernels as records
from stumpery.types import Floats

MAX_DEPTH = 1000
LEAF_PREDICTORS = {
    "mc": records.MAJORITY,
    "recent": records.RECENT,
    "nb": records.NAIVE_BAYES,
    "adaptive": records.ADAPTIVE,
    "nba": records.ADAPTIVE,
}


@dataclass(kw_only=True, eq=False, repr=False)
class StreamOptions(ABC):
    """The options that all Hoeffding trees and forests have."""

    grace_period: int = 50
    delta: float = 0.05
    tau: float = 0.3
    max_depth: int | None = None
    leaf_prediction: str = "adaptive"
    binary_split: bool = True
    max_bytes: int = 16_000_000
    schema: Schema | None = None
    seed: int = 0

    leaf_predictions: ClassVar[tuple[str, ...]] = ("mc", "recent", "adaptive")

    def __post_init__(self) -> None:
        check_whole("grace_period", self.grace_period, 1, 1_000_000)
        check_number("delta", self.delta, 0, 1, above=True, below=True)
        check_number("tau", self.tau, 0)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0, MAX_DEPTH)
        check_one_of("leaf_prediction", self.leaf_prediction, self.leaf_predictions)
        check_bool("binary_split", self.binary_split)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise InvalidInput(f"schema is {shown(self.schema)}; it must be a Schema or None")

    @abstractmethod
    def _criterion(self) -> int:
        """The split criterion."""

    @property
    def _mean_times(self) -> float:
        """The mean of the Poisson draws that say how often a tree learns an event; 0 where each counts once."""
        return 0.0

    def _kernel_options(self, n_columns: int) -> Floats:
        """The options in the form of an array, for kernels."""
        options = np.zeros(records.N_OPTIONS)
        options[records.OPTION_GRACE_PERIOD] = self.grace_period
        options[records.OPTION_DELTA] = self.delta
        options[records.OPTION_TAU] = self.tau
        options[records.OPTION_CRITERION] = self._criterion()
        options[records.OPTION_LEAF_PREDICTOR] = LEAF_PREDICTORS[self.leaf_prediction]
        options[records.OPTION_MAX_DEPTH] = MAX_DEPTH if self.max_depth is None else self.max_depth
        options[records.OPTION_N_DRAWN] = n_columns
        options[records.OPTION_MULTIWAY] = not self.binary_split
        return options
