"""What a leaf of the reward forest knows of each action, two bytes each: its mean, the uncertainty about it, and a weight.

Means and uncertainties are whole numbers of steps of 1 / UNIT, weights lie about ZERO. A number between two steps becomes one
of them by chance, the nearer more often, so that many small moves add up to what they would be: by a dither from 0 to 1
that is added before the rest is cut off. The uncertainty is 1 / sqrt(plays + 1). It tells the plays exactly up to 600; more
are an estimate, off by 3 in a hundred at 5,000 and 10 at 500,000.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    CORRECTION_UNIT,
    CORRECTION_ZERO,
    MAX_PLAYS,
    N_STATS,
    PRIOR,
    STAT_CORRECTION,
    STAT_MEAN,
    STAT_UNCERTAINTY,
    STAT_UNIT,
    ForestState,
    Int32s,
    Stats,
)
from stumpery.jit import internal
from stumpery.types import Floats

LONGEST = 2.0**15  # plays that a mean is of: of more, its steps would be too small
COUNTED = 600.5  # a uncertainty tells fewer plays exactly
NEAREST = 0.5  # a dither by which every number becomes the nearest step


def plays_in(uncertainties: NDArray[np.uint16]) -> Floats:
    """After how many plays there are these uncertainties, as `plays_of` has it for one."""
    plays: Floats = (STAT_UNIT / uncertainties) ** 2 - 1.0
    return np.where(plays < COUNTED, np.rint(plays), plays)


@internal
def dither(key: np.uint64, tree: int) -> float:
    """A number from 0 to 1, another one for each tree."""
    return float(np.int64((key * np.uint64(2 * tree + 1)) >> np.uint64(40))) / 2.0**24


@internal
def rounded(steps: float, dither: float) -> np.uint16:
    """A whole number of steps."""
    return np.uint16(min(max(steps + dither, 0.0), STAT_UNIT))


@internal
def uncertainty_of(plays: float) -> float:
    """How much so many plays leave to uncertainty."""
    return 1.0 / math.sqrt(min(plays, MAX_PLAYS) + 1.0)


@internal
def plays_of(uncertainty: np.uint16) -> float:
    """After how many plays there is this uncertainty."""
    ratio = STAT_UNIT / np.float64(uncertainty)
    plays = ratio * ratio - 1.0
    return float(np.rint(plays)) if plays < COUNTED else plays


@internal
def mean_of(mean: np.uint16) -> float:
    """The reward that so many steps are."""
    return np.float64(mean) / STAT_UNIT


@internal
def spread(mean: float) -> float:
    """How widely rewards of this mean lie about it: a uncertainty's unit."""
    return math.sqrt(max(mean * (1.0 - mean), 0.0) + 0.1)


@internal
def score(forest: ForestState, reached: Int32s, sums: Int32s, statistics: Floats, corrections: Floats) -> None:
    """Average what the reached leaves know of every action into the action statistics's first two rows, in place.

    The sums of their weights go into `corrections`; `sums` is scratch.
    """
    n_trees, n_actions = reached.shape[0], statistics.shape[1]
    for row in range(N_STATS):
        for action in range(n_actions):
            sums[row, action] = 0
    for tree in range(n_trees):
        stats = forest.stats[reached[tree]]
        for row in range(N_STATS):
            for action in range(n_actions):
                sums[row, action] += np.int32(stats[row, action])
    for action in range(n_actions):
        mean = sums[STAT_MEAN, action] / (n_trees * STAT_UNIT)
        statistics[0, action] = mean
        statistics[1, action] = sums[STAT_UNCERTAINTY, action] * spread(mean) / (n_trees * STAT_UNIT)
        corrections[action] = (sums[STAT_CORRECTION, action] - n_trees * CORRECTION_ZERO) / CORRECTION_UNIT


@internal
def update(stats: Stats, action: int, reward: float, dither: float) -> None:
    """Fold one reward into a leaf's statistics, in place."""
    plays, mean = plays_of(stats[STAT_UNCERTAINTY, action]) + 1.0, np.float64(stats[STAT_MEAN, action])
    stats[STAT_MEAN, action] = rounded(mean + (STAT_UNIT * reward - mean) / (min(plays, LONGEST) + PRIOR), dither)
    stats[STAT_UNCERTAINTY, action] = rounded(STAT_UNIT * uncertainty_of(plays), dither)


@internal
def move(stats: Stats, action: int, step: float, dither: float) -> None:
    """Move an action's weight, in place."""
    stats[STAT_CORRECTION, action] = rounded(
        np.float64(stats[STAT_CORRECTION, action]) + CORRECTION_UNIT * step, dither
    )


@internal
def know(stats: Stats, counts: Floats, sums: Floats) -> None:
    """Give a leaf the counts of a side, and means that start from those which it has, in place."""
    for action in range(stats.shape[1]):
        count, before = counts[action], np.float64(stats[STAT_MEAN, action])
        stats[STAT_MEAN, action] = rounded((STAT_UNIT * sums[action] + PRIOR * before) / (count + PRIOR), NEAREST)
        stats[STAT_UNCERTAINTY, action] = rounded(STAT_UNIT * uncertainty_of(count), NEAREST)


@internal
def merge(one: Stats, two: Stats) -> None:
    """Let a leaf know what two knew, in place."""
    for action in range(one.shape[1]):
        n1, n0 = plays_of(one[STAT_UNCERTAINTY, action]), plays_of(two[STAT_UNCERTAINTY, action])
        for row in (STAT_MEAN, STAT_CORRECTION):
            both = (n1 + PRIOR) * np.float64(one[row, action]) + (n0 + PRIOR) * np.float64(two[row, action])
            one[row, action] = rounded(both / (n1 + n0 + 2.0 * PRIOR), NEAREST)
        one[STAT_UNCERTAINTY, action] = rounded(STAT_UNIT * uncertainty_of(n1 + n0), NEAREST)
