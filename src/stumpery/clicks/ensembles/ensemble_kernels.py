"""Many predictors' outputs as one score a row, and what the combinations learn from an event.

Sums go in the order of the predictors, so that they give the same bits everywhere.
"""

import math

import numpy as np

from stumpery.clicks.partition_kernels import CERTAIN, lifted
from stumpery.jit import kernel
from stumpery.random import poisson
from stumpery.types import Floats, Integers, RandomState


@kernel
def weighted_sums(scores: Floats, outputs: Floats, weights: Floats) -> None:
    """Write every row's weighted sum of outputs, in place."""
    for row in range(outputs.shape[0]):
        total = 0.0
        for p in range(outputs.shape[1]):
            total += weights[p] * outputs[row, p]
        scores[row] = total


@kernel
def lift(outputs: Floats, bases: Floats) -> None:
    """Turn the last outputs of every row into their logarithms beside those of the bases, in place."""
    first = outputs.shape[1] - bases.shape[0]
    for p in range(bases.shape[0]):
        for row in range(outputs.shape[0]):
            outputs[row, first + p] = lifted(outputs[row, first + p], bases[p])


@kernel
def draw_weights(weights: Integers, rng: RandomState, times: int) -> None:
    """Draw each predictor's weight from Poisson(1), `times` times, in place."""
    for p in range(weights.shape[0]):
        weights[p] = 0
        for _ in range(times):
            weights[p] += poisson(rng, 1.0)


@kernel
def reward(weights: Floats, outputs: Floats, label: int, strength: float) -> None:
    """Multiply each weight by exp(strength * log probability of what came) and bring the sum to 1, in place."""
    n = weights.shape[0]
    greatest = -np.inf
    logs = np.empty(n)
    for p in range(n):
        probability = min(max(outputs[p], CERTAIN), 1.0 - CERTAIN)
        logs[p] = math.log(max(weights[p], 1e-300)) + strength * math.log(
            probability if label == 1 else 1.0 - probability
        )
        greatest = max(greatest, logs[p])
    total = 0.0
    for p in range(n):
        weights[p] = math.exp(logs[p] - greatest)
        total += weights[p]
    for p in range(n):
        weights[p] /= total


@kernel
def move_centroid(weights: Floats, centroids: Floats, seen: Integers, outputs: Floats, label: int, times: int) -> None:
    """Fold outputs into the centroid of their class and set the weights to the difference of the two, in place.

    The weights' absolute values sum to 1. They stay as they are while a class has not been seen or nothing differs.
    """
    n = weights.shape[0]
    seen[label] += times
    for p in range(n):
        centroids[label, p] += (outputs[p] - centroids[label, p]) * times / seen[label]
    if seen[0] == 0 or seen[1] == 0:
        return
    total = 0.0
    for p in range(n):
        total += abs(centroids[1, p] - centroids[0, p])
    if total > 0.0:
        for p in range(n):
            weights[p] = (centroids[1, p] - centroids[0, p]) / total
