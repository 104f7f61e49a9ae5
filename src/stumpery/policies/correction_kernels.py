"""The forest's mean, corrected: learned weights on the leaves reached and on the columns' codes.

The step is that of `hashed_kernels.follow` at half its haste, with the leaves and the codes as its features. A new leaf
starts with its parent's weight.
"""

import math

import numpy as np

from stumpery.jit import part
from stumpery.policies.hashed_kernels import Linear
from stumpery.trees.forest_kernels import SQUARE, WEIGHT, Forest, Int32s
from stumpery.types import Floats


@part
def predict(linear: Linear, codes: Int32s, n: int, base: Floats, scores: Floats) -> None:
    """Add `base` and the weights of the codes to the leaves' weights in `scores`, in place."""
    for action in range(scores.shape[0]):
        scores[action] += base[action]
    for index in range(n):
        weights = linear.weights[codes[index]]
        for action in range(scores.shape[0]):
            scores[action] += weights[action]


@part
def learn(
    forest: Forest, reached: Int32s, linear: Linear, codes: Int32s, n: int, action: int, error: float, scale: float
) -> None:
    """Move the weights of leaves and codes towards the reward, in place."""
    square = np.float32(4.0 * error * error)
    total = 0.0
    for tree in range(reached.shape[0]):
        stats = forest.stats[reached[tree]]
        stats[SQUARE, action] += square
        total += 1.0 / math.sqrt(stats[SQUARE, action] + 1e-12)
    for index in range(n):
        linear.past[codes[index], action] += square
        total += 1.0 / math.sqrt(linear.past[codes[index], action] + 1e-12)
    u = scale * total
    step = error * (1.0 - math.exp(-u)) / u * scale
    for tree in range(reached.shape[0]):
        stats = forest.stats[reached[tree]]
        stats[WEIGHT, action] += np.float32(step / math.sqrt(stats[SQUARE, action] + 1e-12))
    for index in range(n):
        slot = codes[index]
        linear.weights[slot, action] += np.float32(step / math.sqrt(linear.past[slot, action] + 1e-12))
