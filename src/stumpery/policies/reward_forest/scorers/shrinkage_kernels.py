"""What actions have in common: one linear scorer for all of them, over the context's codes and the actions' features.

An action's features are a vector z whose first number is 1 (see `action_features.py`). Every code of a context (see
`hashed_kernels.py`) has a weight for each feature; an action's score is the sum of weights times features. Whatever
action is played, all that have its features learn: one that never was played has a score, too. Weights move as in
`hashed_kernels.settle`, with sums of z^2, at least 1, in place of counts.

After n plays in the leaves that the context reaches, an action takes the share c / (n + c) of its score and of its
uncertainty from this scorer, c being the strength. The scorer's uncertainty is the mean of 1 / sqrt(1 + sum z^2) over codes and
features, features weighted by z^2, times the `spread` of its score; n follows from the forest's uncertainty, which is
spread / sqrt(n + 1). An action without features, a vector of zeros, neither borrows nor lends.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.array_forest.forest_kernels import Float32s, Int32s
from stumpery.jit import internal
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.policies.reward_forest.scorers.hashed_linear_kernels import LONGEST, PAST, WEIGHT, pace
from stumpery.policies.reward_forest.trees.leaf_statistics_kernels import spread
from stumpery.types import Floats

HASTE = 1.0


class SharedModel(NamedTuple):
    """One scorer for all actions."""

    features: Floats  # (actions, features); where there are none it has one dimension only, and nothing is lent
    linear: Float32s  # (slots, WEIGHT and PAST, features)
    strength: float


class Sums(NamedTuple):
    """Over the codes in play: room of a call."""

    weights: Floats  # (features,)
    uncertainties: Floats  # (features,)


@internal
def lend(
    shared: SharedModel, features: Floats, codes: Int32s, n: int, means: Floats, sums: Sums, statistics: Floats
) -> None:
    """Move every score and uncertainty in the action statistics towards those of the features, in place; `means` are the forest's.

    `features` are those of `shared`: only of an argument itself the dimensions are known before compiling.
    """
    if features.ndim == 1:  # then the compiler leaves out the rest
        return
    n_features = features.shape[1]
    for feature in range(n_features):
        sums.weights[feature] = 0.0
        sums.uncertainties[feature] = 0.0
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(n_features):
            sums.weights[feature] += slot[WEIGHT, feature]
            sums.uncertainties[feature] += 1.0 / math.sqrt(
                1.0 + np.float64(slot[PAST, feature])
            )  # wide also in plain Python
    for action in range(statistics.shape[1]):
        score, uncertainty, squares = 0.0, 0.0, 0.0
        for feature in range(n_features):
            value = features[action, feature]
            score += sums.weights[feature] * value
            uncertainty += sums.uncertainties[feature] * value * value
            squares += value * value
        if squares > 0.0 and shared.strength > 0.0:
            score = min(max(score, 0.0), 1.0)
            certainty = spread(means[action]) / statistics[ACTION_UNCERTAINTY, action]
            plays = max(certainty * certainty - 1.0, 0.0)
            lent = shared.strength / (plays + shared.strength)
            statistics[ACTION_SCORE, action] += lent * (score - statistics[ACTION_SCORE, action])
            statistics[ACTION_UNCERTAINTY, action] += lent * (
                uncertainty / (n * squares) * spread(score) - statistics[ACTION_UNCERTAINTY, action]
            )


@internal
def learn(shared: SharedModel, features: Floats, codes: Int32s, n: int, action: int, reward: float) -> None:
    """Let the weights of one event learn its reward, in place; `features` as in `lend`."""
    if features.ndim == 1:
        return
    mine = features[action]
    if mine[0] == 0.0:
        return
    score, total = 0.0, 0.0
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(mine.shape[0]):
            square = mine[feature] * mine[feature]
            if square > 0.0:
                past = min(slot[PAST, feature] + np.float32(square), LONGEST)
                slot[PAST, feature] = past
                total += square / max(np.float64(past), 1.0)
                score += slot[WEIGHT, feature] * mine[feature]
    step = pace(reward - score, total, HASTE)
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(mine.shape[0]):
            if mine[feature] != 0.0:
                rate = 1.0 / max(np.float64(slot[PAST, feature]), 1.0)
                slot[WEIGHT, feature] += np.float32(step * mine[feature] * rate)
