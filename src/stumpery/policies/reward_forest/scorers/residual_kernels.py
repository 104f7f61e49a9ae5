"""Residual scorer: the forest's mean plus learned weights of the leaves reached and of the feature codes.

The step is AdaGrad-like (`linear_kernels.adagrad_step`), with leaves and codes as features. The rate of a leaf is its
uncertainty, about what G^(-1/2) would be there. A new leaf starts with its parent's weight.
"""

import math

import numpy as np

from stumpery.array_forest.forest_kernels import STAT_UNCERTAINTY, STAT_UNIT, Float32s, ForestState, Int32s
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers import linear_kernels
from stumpery.policies.reward_forest.scorers.linear_kernels import SLOT_HISTORY
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as leaf_statistics
from stumpery.types import Floats

RESIDUAL_RATE = 0.5  # learning-rate multiplier
LEAF_RATE = 1.3  # of a leaf whose uncertainty is 1
MIN_SQUARES = 1e-12  # added to a sum of squares, which may be 0


@internal
def learn(
    forest: ForestState,
    reached: Int32s,
    linear: Float32s,
    codes: Int32s,
    n: int,
    rates: Floats,
    action: int,
    error: float,
    scale: float,
    key: np.uint64,
) -> None:
    """Move the weights of leaves and codes towards the reward, in place; `key` dithers the rounding."""
    n_trees = reached.shape[0]
    square = np.float32(4.0 * error * error)
    total = 0.0
    for tree in range(n_trees):
        rates[tree] = LEAF_RATE * scale / STAT_UNIT * np.float64(forest.stats[reached[tree], STAT_UNCERTAINTY, action])
        total += rates[tree]
    for index in range(n):
        squares = linear[codes[index], SLOT_HISTORY, action] + square
        linear[codes[index], SLOT_HISTORY, action] = squares
        rates[n_trees + index] = scale / math.sqrt(np.float64(squares) + MIN_SQUARES)
        total += rates[n_trees + index]
    step = linear_kernels.step_size(error, total, RESIDUAL_RATE)
    for tree in range(n_trees):
        dither = leaf_statistics.dither(key, tree)
        leaf_statistics.update_correction(forest.stats[reached[tree]], action, step * rates[tree], dither)
    linear_kernels.apply_step(linear, codes, n, rates[n_trees:], action, step)
