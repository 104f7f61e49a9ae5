"""Linear scorers over feature codes: weights per slot and action, learned online by steps that never overshoot.

A weight starts at 0 and moves with its own rate r_i: with error = reward - prediction, a learning-rate multiplier m and
u = sum r_i over the features present, by error (1 - exp(-m u)) / u * r_i. There are two rates:

- `adagrad_step`: r_i = v G_i^(-1/2), G_i += 4 error^2, with v = 1 / sqrt(mean number of features), as in AdaGrad
  (Duchi et al. 2011); it stays large and follows the latest events;
- `averaging_step`: r_i = 1 / n_i, with n_i the number of steps of the weight, at most MAX_STEP_COUNT; it converges,
  and is best on a stationary stream.

A slot that is hit by c of n features moves the prediction c times, at c rates. With random hashes c is
1 + (n - 1) / slots on average, by which u grows.
"""

import math

import numpy as np

from stumpery.array_forest.forest_kernels import Float32s, Int32s, aligned_zeros
from stumpery.jit import internal
from stumpery.types import Floats

MAX_STEP_COUNT = np.float32(4096.0)  # of n_i: any weight can still follow a change
SLOT_WEIGHT, SLOT_HISTORY = range(2)  # of a slot, for each action: what it adds to the score, and G_i or n_i


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
