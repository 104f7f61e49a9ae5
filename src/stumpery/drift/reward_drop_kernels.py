"""Reward-drop detector: a drift is reported where rewards fall short of their scores by more than chance explains.

The mean of the recent errors, reward - score, is compared with their mean since the last drift, the reference, which
is capped at 0: an improving model must not trigger the detector. The allowed difference is some standard deviations
and, as in Bernstein's inequality, a little more for errors that are rare but large.
"""

import math

import numpy as np

from stumpery.jit import internal
from stumpery.types import Floats

DROP_RECENT_MEAN, DROP_MEAN, DROP_SQUARES, DROP_N_EVENTS, DROP_CONCEPT_START, DROP_N_DRIFTS = range(6)
N_DROP_FIELDS = 6
RECENT_RATE, REFERENCE_RATE = 1 / 200, 1 / 5000  # the weight of an error in the recent mean, and in the reference
EFFECTIVE_EVENTS = 2.0 / RECENT_RATE  # events that the recent mean is worth
DROP_DEVIATIONS = 5.0
BERNSTEIN_TERM = DROP_DEVIATIONS**2 / (6.0 * EFFECTIVE_EVENTS)
MIN_CONCEPT_EVENTS = 1000.0  # events after a drift, or at the start, in which no drift is reported


def new_detector() -> Floats:
    """A detector that has seen nothing."""
    return np.zeros(N_DROP_FIELDS)


@internal
def update(detector: Floats, error: float, number: int) -> None:
    """Fold the error of event `number` into the means, in place; a drift makes it the start of a new concept."""
    recent, mean, squares = detector[DROP_RECENT_MEAN], detector[DROP_MEAN], detector[DROP_SQUARES]
    n_events = detector[DROP_N_EVENTS] + 1.0
    rate = max(1.0 / n_events, REFERENCE_RATE)
    recent += RECENT_RATE * (error - recent)
    mean += rate * (error - mean)
    squares += rate * (error * error - squares)
    variance = max(squares - mean * mean, 0.0)
    allowed = DROP_DEVIATIONS * math.sqrt(variance / EFFECTIVE_EVENTS) + BERNSTEIN_TERM
    if n_events >= MIN_CONCEPT_EVENTS and min(mean, 0.0) - recent > allowed:
        n_events = 0.0
        detector[DROP_CONCEPT_START] = number
        detector[DROP_N_DRIFTS] += 1.0
    detector[DROP_RECENT_MEAN], detector[DROP_MEAN] = recent, mean
    detector[DROP_SQUARES], detector[DROP_N_EVENTS] = squares, n_events
