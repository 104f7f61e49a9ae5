"""Adaptive windows (ADWIN, Bifet and Gavaldà 2007): whether errors have become more.

A window is kept as buckets of 1, 2, 4, ... errors, at most `MAX_BUCKETS` of a size, the oldest ones largest. Where the
means of its older and its newer part differ by more than a bound, the older part is dropped.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal
from stumpery.types import Floats, Integers

MAX_BUCKETS = 5
N_SIZES = 24
CHECK_INTERVAL = 32  # events from one check to the next, and the least number of errors in either part
NO_DRIFT, WARNING, DRIFT = range(3)


class AdaptiveWindows(NamedTuple):
    """A window for each tree."""

    fills: Integers  # (trees, N_SIZES): number of buckets of each size
    sums: Floats  # (trees, N_SIZES, MAX_BUCKETS + 1): the errors in each bucket, the oldest first


def new_windows(n_trees: int) -> AdaptiveWindows:
    """Empty windows."""
    return AdaptiveWindows(np.zeros((n_trees, N_SIZES), np.int64), np.zeros((n_trees, N_SIZES, MAX_BUCKETS + 1)))


@internal
def reset(windows: AdaptiveWindows, tree: int) -> None:
    """Empty a window, in place."""
    for size in range(N_SIZES):
        windows.fills[tree, size] = 0


@internal
def update(windows: AdaptiveWindows, tree: int, error: float) -> None:
    """Add an error from 0 to 1, in place."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    carried = error
    for size in range(N_SIZES):
        sums[size, fills[size]] = carried
        fills[size] += 1
        if fills[size] <= MAX_BUCKETS:
            return
        carried = sums[size, 0] + sums[size, 1]  # the two oldest become one of twice the size
        fills[size] -= 2
        for bucket in range(fills[size]):
            sums[size, bucket] = sums[size, bucket + 2]


@internal
def drop_before(windows: AdaptiveWindows, tree: int, last_size: int, last_bucket: int) -> None:
    """Drop the buckets up to and including one, in place."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    for size in range(N_SIZES - 1, last_size, -1):
        fills[size] = 0
    n_kept = fills[last_size] - last_bucket - 1
    for bucket in range(n_kept):
        sums[last_size, bucket] = sums[last_size, bucket + last_bucket + 1]
    fills[last_size] = n_kept


@internal
def cut_threshold(variance: float, log_inverse: float, scale: float) -> float:
    """The largest difference of two means by chance; `log_inverse` is the logarithm of 1 / probability."""
    return math.sqrt(2.0 * variance * log_inverse * scale) + 2.0 * log_inverse * scale / 3.0


@internal
def detect(windows: AdaptiveWindows, tree: int, warning_delta: float, drift_delta: float) -> int:
    """Whether errors have become more, at two levels of significance; a window that differs loses its older part."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    n, total = 0.0, 0.0
    for size in range(N_SIZES):
        for bucket in range(fills[size]):
            n += 2.0**size
            total += sums[size, bucket]
    if n < 2 * CHECK_INTERVAL:
        return NO_DRIFT
    mean = total / n
    variance = mean * (1.0 - mean)
    status = NO_DRIFT
    log_tests = math.log(2.0 * math.log(n))
    log_warning, log_drift = log_tests - math.log(warning_delta), log_tests - math.log(drift_delta)
    least = 2.0 * variance * min(log_warning, log_drift)
    n_old, old = 0.0, 0.0
    for size in range(N_SIZES - 1, -1, -1):
        for bucket in range(fills[size]):
            n_old += 2.0**size
            old += sums[size, bucket]
            n_new = n - n_old
            if n_old < CHECK_INTERVAL or n_new < CHECK_INTERVAL:
                continue
            inverse_old, inverse_new = 1.0 / n_old, 1.0 / n_new
            difference = (total - old) * inverse_new - old * inverse_old
            scale = inverse_old + inverse_new
            if difference * difference <= least * scale:  # below the square root in either threshold
                continue
            if difference > cut_threshold(variance, log_warning, scale):
                status = WARNING
            if abs(difference) > cut_threshold(variance, log_drift, scale):  # fewer errors: only the window changes
                drop_before(windows, tree, size, bucket)
                return DRIFT if difference > 0.0 else NO_DRIFT
    return status
