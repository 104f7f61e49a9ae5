"""Leaf statistics of the reward forest: two bytes each for an action's mean reward, uncertainty and correction.

Means and uncertainties are whole numbers of steps of 1 / STAT_UNIT, corrections lie around CORRECTION_ZERO. Rounding
is stochastic, so that many small updates add up: a dither from 0 to 1 is added before the fraction is cut off. The
uncertainty is 1 / sqrt(plays + 1), from which the number of plays follows: exactly up to 600, estimated above, within
3 % at 5,000 and 10 % at 500,000.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    CORRECTION_UNIT,
    CORRECTION_ZERO,
    MAX_PLAYS,
    N_STATS,
    PRIOR_COUNT,
    STAT_CORRECTION,
    STAT_MEAN,
    STAT_UNCERTAINTY,
    STAT_UNIT,
    ForestState,
    Int32s,
    Stats,
)
from stumpery.jit import internal
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.types import Floats

MAX_MEAN_PLAYS = 2.0**15  # plays that a mean averages over: with more, its steps would be too coarse
MAX_EXACT_PLAYS = 600.5  # fewer plays follow exactly from the uncertainty
NO_DITHER = 0.5  # rounds to the nearest step


def plays_of_many(uncertainties: NDArray[np.uint16]) -> Floats:
    """The numbers of plays of an array of uncertainties, as `plays_of` in kernels."""
    plays: Floats = (STAT_UNIT / uncertainties) ** 2 - 1.0
    return np.where(plays < MAX_EXACT_PLAYS, np.rint(plays), plays)


@internal
def dither(key: np.uint64, tree: int) -> float:
    """A pseudo-random number from 0 to 1, another one for each tree."""
    return float(np.int64((key * np.uint64(2 * tree + 1)) >> np.uint64(40))) / 2.0**24


@internal
def round_with_dither(steps: float, dither: float) -> np.uint16:
    """Stochastic rounding to a whole number of steps."""
    return np.uint16(min(max(steps + dither, 0.0), STAT_UNIT))


@internal
def uncertainty_of(plays: float) -> float:
    """The uncertainty after a number of plays."""
    return 1.0 / math.sqrt(min(plays, MAX_PLAYS) + 1.0)


@internal
def plays_of(uncertainty: np.uint16) -> float:
    """The number of plays that an uncertainty stands for."""
    ratio = STAT_UNIT / np.float64(uncertainty)
    plays = ratio * ratio - 1.0
    return float(np.rint(plays)) if plays < MAX_EXACT_PLAYS else plays


@internal
def mean_of(mean: np.uint16) -> float:
    """The mean reward that a number of steps stands for."""
    return np.float64(mean) / STAT_UNIT


@internal
def reward_sd(mean: float) -> float:
    """The standard deviation of rewards of this mean, as if they were 0 or 1, and a little more."""
    return math.sqrt(max(mean * (1.0 - mean), 0.0) + 0.1)


@internal
def average_leaves(forest: ForestState, reached: Int32s, sums: Int32s, statistics: Floats, corrections: Floats) -> None:
    """Write the mean score and uncertainty of the reached leaves into the action statistics, in place.

    The sums of their corrections go into `corrections`; `sums` is scratch.
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
        statistics[ACTION_SCORE, action] = mean
        statistics[ACTION_UNCERTAINTY, action] = (
            sums[STAT_UNCERTAINTY, action] * reward_sd(mean) / (n_trees * STAT_UNIT)
        )
        corrections[action] = (sums[STAT_CORRECTION, action] - n_trees * CORRECTION_ZERO) / CORRECTION_UNIT


@internal
def update(stats: Stats, action: int, reward: float, dither: float) -> None:
    """Fold one reward into the statistics of a leaf, in place."""
    plays, mean = plays_of(stats[STAT_UNCERTAINTY, action]) + 1.0, np.float64(stats[STAT_MEAN, action])
    mean += (STAT_UNIT * reward - mean) / (min(plays, MAX_MEAN_PLAYS) + PRIOR_COUNT)
    stats[STAT_MEAN, action] = round_with_dither(mean, dither)
    stats[STAT_UNCERTAINTY, action] = round_with_dither(STAT_UNIT * uncertainty_of(plays), dither)


@internal
def update_correction(stats: Stats, action: int, step: float, dither: float) -> None:
    """Move the correction of an action, in place."""
    correction = np.float64(stats[STAT_CORRECTION, action]) + CORRECTION_UNIT * step
    stats[STAT_CORRECTION, action] = round_with_dither(correction, dither)


@internal
def set_statistics(stats: Stats, counts: Floats, sums: Floats) -> None:
    """Set the statistics of a leaf to counts and sums of rewards, in place; its present means are the priors."""
    for action in range(stats.shape[1]):
        count, prior = counts[action], np.float64(stats[STAT_MEAN, action])
        mean = (STAT_UNIT * sums[action] + PRIOR_COUNT * prior) / (count + PRIOR_COUNT)
        stats[STAT_MEAN, action] = round_with_dither(mean, NO_DITHER)
        stats[STAT_UNCERTAINTY, action] = round_with_dither(STAT_UNIT * uncertainty_of(count), NO_DITHER)


@internal
def merge_statistics(stats: Stats, other: Stats) -> None:
    """Add the statistics of another leaf to those of a leaf, in place."""
    for action in range(stats.shape[1]):
        n1, n0 = plays_of(stats[STAT_UNCERTAINTY, action]), plays_of(other[STAT_UNCERTAINTY, action])
        for row in (STAT_MEAN, STAT_CORRECTION):
            first, second = np.float64(stats[row, action]), np.float64(other[row, action])
            total = (n1 + PRIOR_COUNT) * first + (n0 + PRIOR_COUNT) * second
            stats[row, action] = round_with_dither(total / (n1 + n0 + 2.0 * PRIOR_COUNT), NO_DITHER)
        stats[STAT_UNCERTAINTY, action] = round_with_dither(STAT_UNIT * uncertainty_of(n1 + n0), NO_DITHER)
