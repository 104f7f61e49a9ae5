"""Scorers of the reward forest besides its mean: linear scorers, the residual scorer, and the online stacking of all.

Features are sparse and binary: a set bit is a feature, a category is the feature of its code, a number that of its bin,
a missing value that of code 0; one feature is always present. The quadratic scorer has pairs of them, hashed by a
multiple of the golden ratio, which spreads neighbours: where slots are few, fewer pairs collide than with random
hashes.

A weight starts at 0 and moves with its own rate r_i: with error = reward - prediction, a learning-rate multiplier m and
u = sum r_i over the features present, by error (1 - exp(-m u)) / u * r_i, which never overshoots. There are two rates:

- `adagrad_step`: r_i = v G_i^(-1/2), G_i += 4 error^2, with v = 1 / sqrt(mean number of features), as in AdaGrad
  (Duchi et al. 2011); it stays large and follows the latest events;
- `averaging_step`: r_i = 1 / n_i, with n_i the number of steps of the weight, at most MAX_STEP_COUNT; it converges,
  and is best on a stationary stream.

A slot that is hit by c of n features moves the prediction c times, at c rates. With random hashes c is
1 + (n - 1) / slots on average, by which u grows.

The residual scorer is the forest's mean plus learned weights of the leaves reached and of the features. Its step is
AdaGrad-like; the rate of a leaf is its uncertainty, about what G^(-1/2) would be there. A new leaf starts with its
parent's weight.

Online stacking makes one score of all scorers' predictions: weights on the simplex, learned by ridge regression with
exponential forgetting. On the played action, reward - first is regressed on other - first for every other scorer. Old
events fade, a ridge pulls towards the initial weights, and the solution is clipped to weights of 0 or more that sum
to 1. The longer a concept lasts, the slower they fade (`stacking_decay`): rewards judge the weights by which their
actions were chosen, so weights that forget these faster than rewards arrive swing from one scorer to another.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import (
    BINARY,
    NUMERICAL,
    STAT_UNCERTAINTY,
    STAT_UNIT,
    Float32s,
    ForestState,
    Int32s,
    aligned_zeros,
)
from stumpery.hashing_kernels import GOLDEN
from stumpery.jit import internal, prefetch
from stumpery.policies.reward_forest.trees import criterion_kernels as leaf_statistics
from stumpery.types import Floats

LINEAR_RATE, QUADRATIC_RATE, FAST_LINEAR_RATE = 1.0, 2.0, 2.0  # learning-rate multipliers
CODES_PER_COLUMN = 64
MAX_PAIRS_PER_CODE = 128  # the first pairs a code with itself; a row of thousands of codes has no square of pairs
MAX_STEP_COUNT = np.float32(4096.0)  # of n_i: any weight can still follow a change
SLOT_WEIGHT, SLOT_HISTORY = range(2)  # of a slot, for each action: what it adds to the score, and G_i or n_i
RESIDUAL_RATE = 0.5  # learning-rate multiplier
LEAF_RATE = 1.3  # of a leaf whose uncertainty is 1
MIN_SQUARES = 1e-12  # added to a sum of squares, which may be 0
# Events that the stacking remembers: a fraction of those since the last drift, between limits.
STACKING_FRACTION, MIN_STACKING_EVENTS, MAX_STACKING_EVENTS = 1.0, 2_000.0, 50_000.0
STACKING_RIDGE = 1.0
STACKING_INTERVAL = 16  # events between two solutions


@internal
def fill_codes(row: Floats, kinds: NDArray[np.uint8], edges: Floats, codes: Int32s) -> int:
    """Write the feature codes of a row into `codes`, in place, the constant one first; return their number."""
    codes[0] = 0
    n = 1
    for column in range(row.shape[0]):
        value = row[column]
        if kinds[column] == BINARY:
            if value == 0.0:
                continue
            code = 1 if value > 0.0 else 0
        elif kinds[column] == NUMERICAL:
            code = 0
            if value > -np.inf:
                code = 1
                for edge in range(edges.shape[1]):
                    code += value > edges[column, edge]
        else:
            code = int(value)
        codes[n] = (column + 1) * CODES_PER_COLUMN + code
        n += 1
    return n


@internal
def fill_pairs(linear: Float32s, codes: Int32s, n: int, slots: Int32s) -> int:
    """Write the slots of all codes and of their pairs into `slots`, in place; return their number."""
    mask = np.uint64(linear.shape[0] - 1)
    n_pairs = 0
    for first in range(n):
        base = np.uint64(codes[first]) << np.uint64(16)
        for second in range(first, min(n, first + MAX_PAIRS_PER_CODE)):
            key = (base + np.uint64(codes[second])) * GOLDEN
            slots[n_pairs] = np.int32((key >> np.uint64(40)) & mask)
            prefetch(linear, slots[n_pairs])
            n_pairs += 1
    return n_pairs


def new_linear(n_slots: int, n_actions: int) -> Float32s:
    """A linear scorer: (slots, SLOT_WEIGHT and SLOT_HISTORY, actions), all 0."""
    return aligned_zeros((n_slots, 2, n_actions), np.float32)


@internal
def add_scores(linear: Float32s, slots: Int32s, n: int, scores: Floats) -> None:
    """Add every action's weights of n slots to `scores`, in place."""
    for index in range(n):
        weights = linear[slots[index], SLOT_WEIGHT]
        for action in range(scores.shape[0]):
            scores[action] += weights[action]


@internal
def step_size(error: float, total: float, multiplier: float) -> float:
    """How far a weight moves per unit of its rate, if the rates of the features present sum to `total`."""
    return error * (1.0 - math.exp(-multiplier * total)) / total


@internal
def adagrad_step(
    linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, error: float, multiplier: float, scale: float
) -> None:
    """Move the weights of n slots towards the reward, in place, at AdaGrad-like rates; `rates` is scratch."""
    square = np.float32(4.0 * error * error)
    total = 0.0
    for index in range(n):
        slot = slots[index]
        linear[slot, SLOT_HISTORY, action] += square
        squares = linear[slot, SLOT_HISTORY, action]
        rates[index] = scale / np.float64(np.sqrt(squares)) if squares > 0.0 else 0.0
        total += rates[index]
    if total > 0.0:
        apply_step(linear, slots, n, rates, action, step_size(error, total, multiplier))


@internal
def averaging_step(
    linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, error: float, multiplier: float
) -> None:
    """Move the weights of n slots towards the reward, in place, at rates of 1/n; `rates` is scratch."""
    collisions = 1.0 + (n - 1) / linear.shape[0]
    total = 0.0
    for index in range(n):
        slot = slots[index]
        count = min(linear[slot, SLOT_HISTORY, action] + np.float32(1.0), MAX_STEP_COUNT)
        linear[slot, SLOT_HISTORY, action] = count
        rates[index] = 1.0 / np.float64(count)  # 64 bits also in plain Python
        total += rates[index]
    apply_step(linear, slots, n, rates, action, step_size(error, total * collisions, multiplier))


@internal
def apply_step(linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, step: float) -> None:
    """Move the weight of each slot by its rate times `step`, in place."""
    for index in range(n):
        linear[slots[index], SLOT_WEIGHT, action] += np.float32(step * rates[index])


@internal
def residual_step(
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
    step = step_size(error, total, RESIDUAL_RATE)
    for tree in range(n_trees):
        dither = leaf_statistics.dither(key, tree)
        leaf_statistics.update_correction(forest.stats[reached[tree]], action, step * rates[tree], dither)
    apply_step(linear, codes, n, rates[n_trees:], action, step)


@internal
def stacking_events(n_events: float) -> float:
    """The number of events that the stacking remembers when so many have followed the last drift."""
    return min(max(STACKING_FRACTION * n_events, MIN_STACKING_EVENTS), MAX_STACKING_EVENTS)


@internal
def stacking_decay(before: float, n_events: float) -> float:
    """The decay of old moments; `before` is what `n_events`, since the last drift, was one event ago.

    At a drift, when it is 0 again, the moments are reduced to the fewest events.
    """
    if n_events < before:
        return MIN_STACKING_EVENTS / stacking_events(before)
    return 1.0 - 1.0 / stacking_events(n_events)


@internal
def update_moments(moments: Floats, predictions: Floats, action: int, reward: float, decay: float) -> None:
    """Fold one event into the moments, in place; predictions have a row for each scorer."""
    n = moments.shape[0]
    first = predictions[0, action]
    for row in range(n):
        difference = predictions[row + 1, action] - first
        for column in range(row + 1):
            product = difference * (predictions[column + 1, action] - first)
            moments[row, column] = decay * moments[row, column] + product
        moments[row, n] = decay * moments[row, n] + difference * (reward - first)


@internal
def solve_weights(moments: Floats, system: Floats, initial: tuple[float, ...], weights: Floats) -> None:
    """Write the best weights on the simplex into `weights`, in place; `system` is scratch."""
    n = moments.shape[0]
    for row in range(n):
        for column in range(n):
            system[row, column] = moments[max(row, column), min(row, column)]
        system[row, row] += STACKING_RIDGE
        system[row, n] = moments[row, n] + STACKING_RIDGE * initial[row + 1]
    for pivot in range(n):  # positive definite: no pivoting is needed
        for row in range(pivot + 1, n):
            factor = system[row, pivot] / system[pivot, pivot]
            for column in range(pivot, n + 1):
                system[row, column] -= factor * system[pivot, column]
    rest = 1.0
    for row in range(n - 1, -1, -1):
        value = system[row, n]
        for column in range(row + 1, n):
            value -= system[row, column] * system[column, n]
        system[row, n] = value / system[row, row]
        rest -= system[row, n]
    weights[0] = max(rest, 0.0)
    total = weights[0]
    for row in range(n):
        weights[row + 1] = max(system[row, n], 0.0)
        total += weights[row + 1]
    for scorer in range(n + 1):
        weights[scorer] /= total


@internal
def stacked_score(predictions: Floats, weights: Floats, action: int) -> float:
    """The weighted mean of the scorers' predictions for an action."""
    total = 0.0
    for scorer in range(weights.shape[0]):
        total += weights[scorer] * predictions[scorer, action]
    return total


@internal
def fill_stacked_scores(predictions: Floats, weights: Floats, scores: Floats) -> None:
    """Write the weighted mean of the scorers into `scores`, in place."""
    for action in range(scores.shape[0]):
        scores[action] = stacked_score(predictions, weights, action)
