"""Leaf statistics of the reward forest, and its split criterion: gains of candidate and existing splits, thresholds.

A leaf has two bytes each for an action's mean reward, uncertainty and correction. Means and uncertainties are whole
numbers of steps of 1 / STAT_UNIT, corrections lie around CORRECTION_ZERO. Rounding is stochastic, so that many small
updates add up: a dither from 0 to 1 is added before the fraction is cut off. The uncertainty is 1 / sqrt(plays + 1),
from which the number of plays follows: exactly up to 600, estimated above, within 3 % at 5,000 and 10 % at 500,000.

The gain of a candidate is the sum over active actions (two rewards or more, not all equal) of

    (S1 - n1 S / n)^2 (n + 1) / ((n1 + 1/2) (n0 + 1/2)) / (variance + 0.01)

with sums S and counts n of the action's rewards on the two sides and in all; the halves lower it where a side has few
of them. The gain of an existing split, from the statistics of its two leaves, is the sum of

    n1 n0 / (n1 + n0) (mean1 - mean0)^2 / (variance + 0.01)

The threshold rises with the number of active actions, with the noise in their rewards, with the number of candidates
and with the resampling ratio: how many times as many plays a leaf has had as it has events to look at.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.binning_kernels import SplitTable
from stumpery.array_forest.forest_kernels import (
    CORRECTION_UNIT,
    CORRECTION_ZERO,
    LEAF_N_EVENTS,
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
TOTAL_COUNT, TOTAL_SUM, TOTAL_SQUARES, TOTAL_SCALE = range(4)  # rows of active actions; the scale is 1 / variance
TOTAL_PLAYS, TOTAL_REWARD = range(4, 6)  # rows of all actions: counts and sums
TOTAL_VARIANCE = TOTAL_SQUARES  # the variance takes the place of the squares
VARIANCE_OFFSET = 0.01  # added to all variances
MIN_FORGOTTEN_SHARE = 0.05  # of the plays: a smaller share of forgotten events may be an error of counting
LEAF_DRIFT_FACTOR = 2.0  # times the split threshold: the gain of a drift in time
MIN_CHECK_GROWTH, MAX_CHECK_GROWTH = 1.25, 1.8  # a leaf is checked again when its events have grown by such a factor


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
def update_statistics(stats: Stats, action: int, reward: float, dither: float) -> None:
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


@internal
def next_check(n_events: int, growth: float) -> int:
    """The number of events at which a leaf is checked again, if a split needs `growth` times the present ones."""
    return int(min(max(growth, MIN_CHECK_GROWTH), MAX_CHECK_GROWTH) * n_events) + 1


@internal
def fill_gains(table: SplitTable, totals: Floats, width: int, n_active: int) -> None:
    """Write the gain of every candidate split and the number of events on its one side, in place."""
    gains, sizes = table.gains, table.sizes
    for split in range(width):
        gains[split] = np.float32(0.0)
        sizes[split] = table.counts[split]
    half = np.float32(0.5)
    for active in range(n_active):
        n, s = np.float32(totals[TOTAL_COUNT, active]), np.float32(totals[TOTAL_SUM, active])
        scale = np.float32(
            (totals[TOTAL_COUNT, active] + 1.0)
            / (totals[TOTAL_COUNT, active] * totals[TOTAL_COUNT, active])
            * totals[TOTAL_SCALE, active]
        )
        row = (active + 1) * width
        counts, sums = table.counts[row : row + width], table.sums[row : row + width]
        for split in range(width):
            n1 = counts[split]
            difference = n * sums[split] - n1 * s  # n times the difference of the sum from its expectation
            gains[split] += difference * difference * scale / ((n1 + half) * (n - n1 + half))
            sizes[split] += n1


@internal
def split_threshold(n_active: int, noise: float, n_tried: int, ratio: float) -> float:
    """The gain that a split needs; `ratio` is the leaf's resampling ratio."""
    tries = 10.0 * max(0.0, math.log(max(n_tried, 1) / 90.0)) + 4.0 * max(0.0, math.log(ratio))
    return 3.0 + 0.3 * n_active + 6.0 * noise + tries


@internal
def reward_noise(totals: Floats, n_active: int) -> float:
    """The noise in the active actions' rewards as if they were 0 or 1: the sum of mean (1 - mean)."""
    noise = 0.0
    for active in range(n_active):
        mean = totals[TOTAL_SUM, active] / totals[TOTAL_COUNT, active]
        noise += mean * (1.0 - mean)
    return noise


@internal
def resampling_ratio(stats: Stats, n: int) -> float:
    """How many times as many plays a leaf has had as the `n` events that it looks at."""
    plays = 0.0
    for action in range(stats.shape[1]):
        plays += plays_of(stats[STAT_UNCERTAINTY, action])
    return max(plays, 1.0) / n


@internal
def sibling_gain(left: Stats, right: Stats, active: Int32s, totals: Floats) -> tuple[float, float, int, float]:
    """The gain of the split between two leaves by all their rewards, the noise, the number of actions and of plays.

    Variances are those of the gathered events; of an action that is not active there, that of rewards of 0 or 1 within
    each side.
    """
    gain, noise, n_counted, plays = 0.0, 0.0, 0, 0.0
    for action in range(left.shape[1]):
        n1 = plays_of(left[STAT_UNCERTAINTY, action])
        n0 = plays_of(right[STAT_UNCERTAINTY, action])
        plays += n1 + n0
        if n1 == 0.0 or n0 == 0.0:
            continue
        m1, m0 = mean_of(left[STAT_MEAN, action]), mean_of(right[STAT_MEAN, action])
        number, mean, difference = active[action], (n1 * m1 + n0 * m0) / (n1 + n0), m1 - m0
        within = (n1 * m1 * (1.0 - m1) + n0 * m0 * (1.0 - m0)) / (n1 + n0)
        variance = totals[TOTAL_VARIANCE, number - 1] if number > 0 else within
        gain += n1 * n0 / (n1 + n0) * difference * difference / (variance + VARIANCE_OFFSET)
        noise += mean * (1.0 - mean)
        n_counted += 1
    return gain, noise, n_counted, plays


@internal
def has_leaf_drifted(stats: Stats, active: Int32s, totals: Floats, n: int) -> bool:
    """Whether the rewards of a leaf's forgotten plays differ from those of its `n` events.

    The gain is that of a split of the plays in time, which must pass LEAF_DRIFT_FACTOR times the threshold.
    """
    gain, noise, n_counted = 0.0, 0.0, 0
    for action in range(stats.shape[1]):
        present = totals[TOTAL_PLAYS, action]
        plays = plays_of(stats[STAT_UNCERTAINTY, action])
        forgotten = plays - present
        if present < 2.0 or forgotten < max(1.0, MIN_FORGOTTEN_SHARE * plays):
            continue
        mean = totals[TOTAL_REWARD, action] / present
        overall = mean_of(stats[STAT_MEAN, action])
        difference = (overall - mean) * plays / forgotten
        before = mean + difference
        within = (present * mean * (1.0 - mean) + forgotten * before * (1.0 - before)) / plays
        number = active[action] - 1
        variance = totals[TOTAL_VARIANCE, number] if number >= 0 else max(within, 0.0)
        gain += present * forgotten / plays * difference * difference / (variance + VARIANCE_OFFSET)
        noise += overall * (1.0 - overall)
        n_counted += 1
    if n_counted == 0:
        return False
    return gain > LEAF_DRIFT_FACTOR * split_threshold(n_counted, noise, 1, resampling_ratio(stats, n))


@internal
def split_eviction_score(forest: ForestState, left: int, right: int) -> float:
    """The variance that a split into two leaves explains, times their events: the lowest is evicted first."""
    explained, total = 0.0, 0.0
    n_events = int(forest.leaves[left, LEAF_N_EVENTS] + forest.leaves[right, LEAF_N_EVENTS])
    left_stats, right_stats = forest.stats[left], forest.stats[right]
    for action in range(forest.stats.shape[2]):
        n1 = plays_of(left_stats[STAT_UNCERTAINTY, action])
        n0 = plays_of(right_stats[STAT_UNCERTAINTY, action])
        m1 = mean_of(left_stats[STAT_MEAN, action])
        difference = m1 - mean_of(right_stats[STAT_MEAN, action])
        total += n1 + n0
        explained += n1 * n0 / max(n1 + n0, 1.0) * difference * difference
    return explained / max(total, 1.0) * n_events
