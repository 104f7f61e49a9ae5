"""The forest's mean, corrected: learned weights on the leaves reached and on the columns' codes.

The step is that of `hashed_kernels.follow`, with the leaves and the codes as its features. A leaf's rate is its uncertainty,
about what G^(-1/2) would be there. A new leaf starts with its parent's weight.
"""

import math

import numpy as np

from stumpery.array_forest.forest_kernels import STAT_UNCERTAINTY, STAT_UNIT, Float32s, ForestState, Int32s
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers import hashed_linear_kernels as hashed
from stumpery.policies.reward_forest.scorers.hashed_linear_kernels import PAST
from stumpery.policies.reward_forest.trees import leaf_statistics_kernels as stats
from stumpery.types import Floats

HASTE = 0.5  # a linear scorer alone goes further
LEAF_RATE = 1.3  # of a leaf whose uncertainty is 1
LEAST = 1e-12  # a sum of squares may be 0


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
    """Move the weights of leaves and codes towards the reward, in place; `key` dithers what is rounded."""
    n_trees = reached.shape[0]
    square = np.float32(4.0 * error * error)
    total = 0.0
    for tree in range(n_trees):
        rates[tree] = LEAF_RATE * scale / STAT_UNIT * np.float64(forest.stats[reached[tree], STAT_UNCERTAINTY, action])
        total += rates[tree]
    for index in range(n):
        past = linear[codes[index], PAST, action] + square
        linear[codes[index], PAST, action] = past
        rates[n_trees + index] = scale / math.sqrt(np.float64(past) + LEAST)
        total += rates[n_trees + index]
    step = hashed.pace(error, total, HASTE)
    for tree in range(n_trees):
        stats.move(forest.stats[reached[tree]], action, step * rates[tree], stats.dither(key, tree))
    hashed.move(linear, codes, n, rates[n_trees:], action, step)
