"""Scores of click models: weighted sums of predictors' outputs, updates of their weights, and the choice by score.

Sums have the order of the predictors, so that they give the same bits everywhere.
"""

import math

import numpy as np

from stumpery.clicks.partition_kernels import MIN_PROBABILITY, log_ratio
from stumpery.jit import kernel
from stumpery.random import integer, poisson, uniform
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
def take_log_ratios(outputs: Floats, averages: Floats) -> None:
    """Replace the last outputs of every row by their log ratios over `averages`, in place."""
    first = outputs.shape[1] - averages.shape[0]
    for p in range(averages.shape[0]):
        for row in range(outputs.shape[0]):
            outputs[row, first + p] = log_ratio(outputs[row, first + p], averages[p])


@kernel
def draw_weights(weights: Integers, rng: RandomState, times: int) -> None:
    """Draw each predictor's weight from Poisson(1), `times` times, in place."""
    for p in range(weights.shape[0]):
        weights[p] = 0
        for _ in range(times):
            weights[p] += poisson(rng, 1.0)


@kernel
def update_weights(weights: Floats, outputs: Floats, label: int, eta: float) -> None:
    """Multiply each weight by exp(eta * log likelihood of the label) and normalise the sum to 1, in place."""
    n = weights.shape[0]
    largest = -np.inf
    logs = np.empty(n)
    for p in range(n):
        probability = min(max(outputs[p], MIN_PROBABILITY), 1.0 - MIN_PROBABILITY)
        logs[p] = math.log(max(weights[p], 1e-300)) + eta * math.log(probability if label == 1 else 1.0 - probability)
        largest = max(largest, logs[p])
    total = 0.0
    for p in range(n):
        weights[p] = math.exp(logs[p] - largest)
        total += weights[p]
    for p in range(n):
        weights[p] /= total


@kernel
def update_centroids(
    weights: Floats, centroids: Floats, seen: Integers, outputs: Floats, label: int, times: int
) -> None:
    """Update the centroid of the label with outputs and set the weights to the difference of the two, in place.

    The weights' absolute values sum to 1. They do not change while a class is unseen or the centroids are equal.
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


@kernel
def choose(scores: Floats, rng: RandomState, epsilon: float) -> tuple[int, float]:
    """Draw one of the best candidates, or with probability `epsilon` any; return its index and probability."""
    n = scores.shape[0]
    best = scores[0]
    n_best = 0
    for index in range(n):
        if scores[index] > best:
            best = scores[index]
            n_best = 0
        if scores[index] == best:
            n_best += 1
    chosen = 0
    if epsilon > 0.0 and uniform(rng) < epsilon:
        chosen = integer(rng, n)
    else:
        left = integer(rng, n_best) if n_best > 1 else 0
        for index in range(n):
            if scores[index] == best:
                chosen = index
                if left == 0:
                    break
                left -= 1
    probability = epsilon / n
    if scores[chosen] == best:
        probability += (1.0 - epsilon) / n_best
    return chosen, probability
