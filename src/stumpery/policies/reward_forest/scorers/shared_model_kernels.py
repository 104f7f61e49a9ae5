"""The shared model: one linear model over the context's codes and the actions' features.

An action's features are a vector z whose first number is 1 (see `action_features.py`). Every code of a context (see
`scorers_kernels.py`) has a weight for each feature; an action's score is the sum of weights times features. Whichever
action is played, all actions with its features learn, so that an action that was never played has a score, too. Weights
move as in `scorers_kernels.averaging_step`, with sums of z^2, at least 1, in place of counts.

The model's uncertainty is the mean of 1 / sqrt(1 + sum z^2) over codes and features, weighted by z^2, times the
standard deviation of rewards around its score. An action without features, a vector of zeros, takes no part.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.array_forest.forest_kernels import Float32s, Int32s
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedRow
from stumpery.policies.reward_forest.scorers.scorers_kernels import MAX_STEP_COUNT, SLOT_HISTORY, SLOT_WEIGHT, step_size
from stumpery.policies.reward_forest.trees.criterion_kernels import reward_sd
from stumpery.types import Floats

SHARED_RATE = 1.0  # learning-rate multiplier


class SharedModel(NamedTuple):
    """One linear model for all actions, and the strength of the shrinkage towards it."""

    features: Floats  # (actions, features); one-dimensional where no action has any: then there is no shrinkage
    linear: Float32s  # (slots, SLOT_WEIGHT and SLOT_HISTORY, features)
    strength: float


class FeatureSums(NamedTuple):
    """Scratch: sums over the codes of a row."""

    weights: Floats  # (features,)
    uncertainties: Floats  # (features,)


@internal
def sum_codes(shared_model: SharedModel, codes: Int32s, n: int, sums: FeatureSums) -> None:
    """Sum every feature's weights and uncertainties over the codes of a row, in place."""
    n_features = sums.weights.shape[0]
    for feature in range(n_features):
        sums.weights[feature] = 0.0
        sums.uncertainties[feature] = 0.0
    for index in range(n):
        slot = shared_model.linear[codes[index]]
        for feature in range(n_features):
            sums.weights[feature] += slot[SLOT_WEIGHT, feature]
            squares = np.float64(slot[SLOT_HISTORY, feature])  # 64 bits also in plain Python
            sums.uncertainties[feature] += 1.0 / math.sqrt(1.0 + squares)


@internal
def fill_scores(
    shared_model: SharedModel, features: Floats, codes: Int32s, n: int, sums: FeatureSums, work: CrossedRow
) -> None:
    """Write every action's score and uncertainty into `work`, in place.

    `features` are those of the model: only the dimensions of an argument are known at compile time.
    """
    if features.ndim == 1:  # the compiler leaves out the rest
        return
    sum_codes(shared_model, codes, n, sums)
    for action in range(features.shape[0]):
        score, uncertainty, squares = 0.0, 0.0, 0.0
        for feature in range(features.shape[1]):
            value = features[action, feature]
            score += sums.weights[feature] * value
            uncertainty += sums.uncertainties[feature] * value * value
            squares += value * value
        if squares > 0.0:
            work.similar[action] = score
            work.errors[action] = uncertainty / (n * squares) * reward_sd(min(max(score, 0.0), 1.0))


@internal
def learn(shared_model: SharedModel, features: Floats, codes: Int32s, n: int, action: int, reward: float) -> float:
    """Learn the reward of one event of an action with features, in place, and return the error before.

    `features` as in `fill_scores`.
    """
    if features.ndim == 1:
        return 0.0
    action_features = features[action]
    score, total = 0.0, 0.0
    for index in range(n):
        slot = shared_model.linear[codes[index]]
        for feature in range(action_features.shape[0]):
            square = action_features[feature] * action_features[feature]
            if square > 0.0:
                squares = min(slot[SLOT_HISTORY, feature] + np.float32(square), MAX_STEP_COUNT)
                slot[SLOT_HISTORY, feature] = squares
                total += square / max(np.float64(squares), 1.0)
                score += slot[SLOT_WEIGHT, feature] * action_features[feature]
    step = step_size(reward - score, total, SHARED_RATE)
    for index in range(n):
        slot = shared_model.linear[codes[index]]
        for feature in range(action_features.shape[0]):
            if action_features[feature] != 0.0:
                rate = 1.0 / max(np.float64(slot[SLOT_HISTORY, feature]), 1.0)
                slot[SLOT_WEIGHT, feature] += np.float32(step * action_features[feature] * rate)
    return reward - score
