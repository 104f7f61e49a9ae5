"""Scores by features of actions: a member of the stacking, and what actions with few rewards are shrunk towards.

Two models score an action by its features, the crossed scorer (`crossed_kernels.py`) and the shared model
(`shared_model_kernels.py`); the one with the smaller errors of late counts. What an action earns beyond that, its
quality, is added. After n plays in the leaves that the context reaches, the score and the uncertainty of an action are
shrunk towards this one by c / (n + c), c being the strength; n follows from the forest's uncertainty, which is
reward_sd / sqrt(n + 1). An action without features takes no part: in the stacking it has the forest's score.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import Int32s
from stumpery.jit import internal
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.policies.reward_forest.scorers import crossed_kernels as crosses
from stumpery.policies.reward_forest.scorers import shared_model_kernels as shared_models
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedRow, CrossedScorer
from stumpery.policies.reward_forest.scorers.ridge_kernels import RidgeScorer
from stumpery.policies.reward_forest.scorers.shared_model_kernels import FeatureSums, SharedModel
from stumpery.policies.reward_forest.trees.criterion_kernels import reward_sd
from stumpery.types import Floats


@internal
def fill_scores(
    crossed: CrossedScorer,
    shared_model: SharedModel,
    ridge: RidgeScorer,
    row: Floats,
    kinds: NDArray[np.uint8],
    codes: Int32s,
    n_codes: int,
    sums: FeatureSums,
    work: CrossedRow,
    means: Floats,
    scores: Floats,
) -> None:
    """Write every action's score by its features into `scores`, in place, or its mean where it has none."""
    if crosses.is_better(crossed):
        n = crosses.fill_places(crossed, ridge, row, kinds, work)
        crosses.sum_places(crossed, work, n)
        crosses.fill_scores(crossed, work)
    else:
        shared_models.fill_scores(shared_model, shared_model.features, codes, n_codes, sums, work)
    for action in range(scores.shape[0]):
        is_described = crossed.terms[action, 0] >= 0
        scores[action] = work.similar[action] + crosses.quality_of(crossed, action) if is_described else means[action]


@internal
def shrink_scores(
    crossed: CrossedScorer, strength: float, work: CrossedRow, means: Floats, scores: Floats, statistics: Floats
) -> None:
    """Shrink scores and uncertainties of the action statistics towards those by features, in place."""
    for action in range(statistics.shape[1]):
        if crossed.terms[action, 0] < 0 or strength == 0.0:
            continue
        score = min(max(scores[action], 0.0), 1.0)
        ratio = reward_sd(means[action]) / statistics[ACTION_UNCERTAINTY, action]
        plays = max(ratio * ratio - 1.0, 0.0)
        factor = strength / (plays + strength)
        statistics[ACTION_SCORE, action] += factor * (score - statistics[ACTION_SCORE, action])
        statistics[ACTION_UNCERTAINTY, action] += factor * (
            work.errors[action] - statistics[ACTION_UNCERTAINTY, action]
        )


@internal
def learn(
    crossed: CrossedScorer,
    shared_model: SharedModel,
    ridge: RidgeScorer,
    row: Floats,
    kinds: NDArray[np.uint8],
    codes: Int32s,
    n_codes: int,
    work: CrossedRow,
    action: int,
    reward: float,
    key: np.uint64,
) -> None:
    """Let both models learn the reward of one event that `fill_scores` has just scored, in place."""
    if crossed.terms[action, 0] < 0:
        return
    crosses.learn_quality(crossed, action, reward - work.similar[action])
    shared_error = shared_models.learn(shared_model, shared_model.features, codes, n_codes, action, reward)
    crosses.learn(crossed, ridge, row, kinds, work, action, reward, shared_error, key)
