"""Whether a tree's mistakes have become more: an adaptive window (ADWIN, Bifet and Gavaldà 2007).

The window is kept as buckets of 1, 2, 4, ... mistakes, at most `N_BUCKETS` of a size, the oldest ones largest. Where
its older and its newer part differ by more than probability allows, the older part is dropped.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal
from stumpery.types import Floats, Integers

MAX_BUCKETS = 5
N_SIZES = 24
CHECK_INTERVAL = 32  # events from one look to the next
NO_DRIFT, WARNING, DRIFT = range(3)


class AdaptiveWindows(NamedTuple):
    """A window for each tree."""

    fills: Integers  # (trees, N_SIZES): buckets of each size
    sums: Floats  # (trees, N_SIZES, N_BUCKETS + 1): mistakes in each, the oldest first


def new_windows(n_trees: int) -> AdaptiveWindows:
    """Empty windows."""
    return AdaptiveWindows(np.zeros((n_trees, N_SIZES), np.int64), np.zeros((n_trees, N_SIZES, MAX_BUCKETS + 1)))


@internal
def reset(windows: AdaptiveWindows, tree: int) -> None:
    """Empty a window, in place."""
    for size in range(N_SIZES):
        windows.fills[tree, size] = 0


@internal
def update(windows: AdaptiveWindows, tree: int, mistake: float) -> None:
    """Add a mistake from 0 to 1, in place."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    carried = mistake
    for size in range(N_SIZES):
        sums[size, fills[size]] = carried
        fills[size] += 1
        if fills[size] <= MAX_BUCKETS:
            return
        carried = sums[size, 0] + sums[size, 1]  # the two oldest become one of twice the size
        fills[size] -= 2
        for place in range(fills[size]):
            sums[size, place] = sums[size, place + 2]


@internal
def drop_before(windows: AdaptiveWindows, tree: int, last_size: int, last_place: int) -> None:
    """Drop the buckets up to one, in place."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    for size in range(N_SIZES - 1, last_size, -1):
        fills[size] = 0
    kept = fills[last_size] - last_place - 1
    for place in range(kept):
        sums[last_size, place] = sums[last_size, place + last_place + 1]
    fills[last_size] = kept


@internal
def cut_threshold(variance: float, probability: float, scale: float) -> float:
    """How far two means may differ by chance, as the logarithm of 1 over it says."""
    return math.sqrt(2.0 * variance * probability * scale) + 2.0 * probability * scale / 3.0


@internal
def detect(windows: AdaptiveWindows, tree: int, warning: float, drift: float) -> int:
    """Whether mistakes have become more, at two levels of probability; a window that differs loses its older part."""
    fills, sums = windows.fills[tree], windows.sums[tree]
    n, total = 0.0, 0.0
    for size in range(N_SIZES):
        for place in range(fills[size]):
            n += 2.0**size
            total += sums[size, place]
    if n < 2 * CHECK_INTERVAL:
        return NO_DRIFT
    mean = total / n
    variance = mean * (1.0 - mean)
    found = NO_DRIFT
    much = math.log(2.0 * math.log(n))
    warns, drifts = much - math.log(warning), much - math.log(drift)
    least = 2.0 * variance * min(warns, drifts)
    n_old, old = 0.0, 0.0
    for size in range(N_SIZES - 1, -1, -1):
        for place in range(fills[size]):
            n_old += 2.0**size
            old += sums[size, place]
            n_new = n - n_old
            if n_old < CHECK_INTERVAL or n_new < CHECK_INTERVAL:
                continue
            share, rest = 1.0 / n_old, 1.0 / n_new
            difference, scale = (total - old) * rest - old * share, share + rest
            if difference * difference <= least * scale:  # below the root in either bound
                continue
            if difference > cut_threshold(variance, warns, scale):
                found = WARNING
            if abs(difference) > cut_threshold(variance, drifts, scale):  # fewer mistakes: only the window changes
                drop_before(windows, tree, size, place)
                return DRIFT if difference > 0.0 else NO_DRIFT
    return found
