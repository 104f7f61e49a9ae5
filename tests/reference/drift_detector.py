"""A drift detector on rewards below their predictions, recomputed from all errors so far.

The exponentially weighted mean of the latest errors, reward - prediction, is compared with the mean since the last
drift, at most 0. It may be lower by five standard deviations and the linear term of Bernstein's inequality.
"""

import math

import numpy as np

SHORT, LONG = 1 / 200, 1 / 5000  # weights of an error in the recent mean and in the reference mean
N_STANDARD_DEVIATIONS = 5
MIN_EVENTS = 1000  # from one drift to the next


class DriftDetector:
    """All errors, and those since the last drift."""

    def __init__(self):
        self.errors, self.since, self.n_drifts = [], [], 0

    def update(self, error):
        """Whether this error shows a drift."""
        self.errors.append(error)
        self.since.append(error)
        if len(self.since) < MIN_EVENTS:
            return False
        latest = np.array(self.errors[: -20 * int(1 / SHORT) : -1])
        recent = SHORT * (latest * (1 - SHORT) ** np.arange(len(latest))).sum()
        mean, square = self.reference_mean(1), self.reference_mean(2)
        n = 2 / SHORT
        allowed = N_STANDARD_DEVIATIONS * math.sqrt((square - mean**2) / n) + N_STANDARD_DEVIATIONS**2 / (6 * n)
        if min(mean, 0.0) - recent <= allowed:
            return False
        self.since = []
        self.n_drifts += 1
        return True

    def reference_mean(self, power):
        """The mean of a power of the errors since the last drift; of more than 1 / LONG, exponentially weighted."""
        rates = np.maximum(1 / np.arange(1, len(self.since) + 1), LONG)
        weights = np.append(np.cumprod(1 - rates[:0:-1])[::-1], 1.0)  # of an error, after all that came later
        return float((rates * weights * np.array(self.since) ** power).sum())
