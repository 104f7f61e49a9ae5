"""What a leaf of the reward forest knows of each action, two bytes each: its mean, the doubt about it, and a weight.

Means and doubts are whole numbers of steps of 1 / UNIT, weights lie about ZERO. A number between two steps becomes one
of them by chance, the nearer more often, so that many small moves add up to what they would be: by a dither from 0 to 1
that is added before the rest is cut off. The doubt is 1 / sqrt(plays + 1). It tells the plays exactly up to 600; more
are an estimate, off by 3 in a hundred at 5,000 and 10 at 500,000.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    DOUBT,
    MEAN,
    MOST_PLAYS,
    N_STATS,
    PRIOR,
    UNIT,
    WEIGHT,
    WEIGHT_UNIT,
    ZERO,
    Forest,
    Int32s,
    Stats,
)
from stumpery.jit import part
from stumpery.types import Floats

LONGEST = 2.0**15  # plays that a mean is of: of more, its steps would be too small
COUNTED = 600.5  # a doubt tells fewer plays exactly
NEAREST = 0.5  # a dither by which every number becomes the nearest step


def plays_in(doubts: NDArray[np.uint16]) -> Floats:
    """After how many plays there are these doubts, as `plays_of` has it for one."""
    plays: Floats = (UNIT / doubts) ** 2 - 1.0
    return np.where(plays < COUNTED, np.rint(plays), plays)


@part
def dither(key: np.uint64, tree: int) -> float:
    """A number from 0 to 1, another one for each tree."""
    return float(np.int64((key * np.uint64(2 * tree + 1)) >> np.uint64(40))) / 2.0**24


@part
def rounded(steps: float, dither: float) -> np.uint16:
    """A whole number of steps."""
    return np.uint16(min(max(steps + dither, 0.0), UNIT))


@part
def doubt_of(plays: float) -> float:
    """How much so many plays leave to doubt."""
    return 1.0 / math.sqrt(min(plays, MOST_PLAYS) + 1.0)


@part
def plays_of(doubt: np.uint16) -> float:
    """After how many plays there is this doubt."""
    ratio = UNIT / np.float64(doubt)
    plays = ratio * ratio - 1.0
    return float(np.rint(plays)) if plays < COUNTED else plays


@part
def mean_of(mean: np.uint16) -> float:
    """The reward that so many steps are."""
    return np.float64(mean) / UNIT


@part
def spread(mean: float) -> float:
    """How widely rewards of this mean lie about it: a doubt's unit."""
    return math.sqrt(max(mean * (1.0 - mean), 0.0) + 0.1)


@part
def score(forest: Forest, reached: Int32s, sums: Int32s, board: Floats, corrections: Floats) -> None:
    """Average what the reached leaves know of every action onto the board's first two rows, in place.

    The sums of their weights go into `corrections`; `sums` is scratch.
    """
    n_trees, n_actions = reached.shape[0], board.shape[1]
    for row in range(N_STATS):
        for action in range(n_actions):
            sums[row, action] = 0
    for tree in range(n_trees):
        stats = forest.stats[reached[tree]]
        for row in range(N_STATS):
            for action in range(n_actions):
                sums[row, action] += np.int32(stats[row, action])
    for action in range(n_actions):
        mean = sums[MEAN, action] / (n_trees * UNIT)
        board[0, action] = mean
        board[1, action] = sums[DOUBT, action] * spread(mean) / (n_trees * UNIT)
        corrections[action] = (sums[WEIGHT, action] - n_trees * ZERO) / WEIGHT_UNIT


@part
def update(stats: Stats, action: int, reward: float, dither: float) -> None:
    """Fold one reward into a leaf's statistics, in place."""
    plays, mean = plays_of(stats[DOUBT, action]) + 1.0, np.float64(stats[MEAN, action])
    stats[MEAN, action] = rounded(mean + (UNIT * reward - mean) / (min(plays, LONGEST) + PRIOR), dither)
    stats[DOUBT, action] = rounded(UNIT * doubt_of(plays), dither)


@part
def move(stats: Stats, action: int, step: float, dither: float) -> None:
    """Move an action's weight, in place."""
    stats[WEIGHT, action] = rounded(np.float64(stats[WEIGHT, action]) + WEIGHT_UNIT * step, dither)


@part
def know(stats: Stats, counts: Floats, sums: Floats) -> None:
    """Give a leaf the counts of a side, and means that start from those which it has, in place."""
    for action in range(stats.shape[1]):
        count, before = counts[action], np.float64(stats[MEAN, action])
        stats[MEAN, action] = rounded((UNIT * sums[action] + PRIOR * before) / (count + PRIOR), NEAREST)
        stats[DOUBT, action] = rounded(UNIT * doubt_of(count), NEAREST)


@part
def merge(one: Stats, two: Stats) -> None:
    """Let a leaf know what two knew, in place."""
    for action in range(one.shape[1]):
        n1, n0 = plays_of(one[DOUBT, action]), plays_of(two[DOUBT, action])
        for row in (MEAN, WEIGHT):
            both = (n1 + PRIOR) * np.float64(one[row, action]) + (n0 + PRIOR) * np.float64(two[row, action])
            one[row, action] = rounded(both / (n1 + n0 + 2.0 * PRIOR), NEAREST)
        one[DOUBT, action] = rounded(UNIT * doubt_of(n1 + n0), NEAREST)
