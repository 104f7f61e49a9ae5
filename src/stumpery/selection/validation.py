"""Validation of a feature selector from a file."""

import numpy as np

from stumpery.saving.validation import MAX_EVENT_COUNT, MAX_MAGNITUDE, check, check_learned, check_within
from stumpery.selection.additive_kernels import STAT_CURVATURES, STAT_LEVEL
from stumpery.selection.choosers_kernels import FeatureArms
from stumpery.selection.feature_selector_kernels import ClassifierState
from stumpery.selection.feature_values import MAX_FEATURE_VALUE
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Integers


def validate(arms: FeatureArms, model: ClassifierState, pending: Integers, max_size: int) -> None:
    """Validate a saved selector; a CorruptFile describes the inconsistency."""
    plays, reward = arms.sums.T
    count, mean, squares = model.columns.T
    check_within(arms.clock, 0.0, MAX_EVENT_COUNT, "the number of rounds")
    check_within(plays, 0.0, arms.clock[0], "the number of rounds with a feature")
    check(((reward >= 0.0) & (reward <= plays)).all(), "a feature has more successes than rounds, or negative ones")
    check_learned(model.weights, "a weight")
    check_within(model.squared_slopes, 0.0, MAX_MAGNITUDE, "the sum of squared slopes")
    check_learned(model.statistics, "a number of the additive model")
    check((model.statistics[:, STAT_CURVATURES:STAT_LEVEL] >= 0.0).all(), "a curvature is negative")
    moments.validate(model.columns)
    check((abs(mean) <= MAX_FEATURE_VALUE * (1.0 + 1e-9)).all(), "the mean of a feature is too large")
    check((squares / MAX_FEATURE_VALUE**2 <= count * (1.0 + 1e-9)).all(), "the variance of a feature is too large")
    n_open = int(pending[0])
    check(-1 <= n_open <= max_size, f"the open round has {n_open} features, of {max_size} at most")
    opened = pending[1 : n_open + 1]
    check_within(opened, 0, len(arms.sums) - 1, "a feature of the open round")
    check(len(np.unique(opened)) == len(opened), "the open round has a feature twice")
