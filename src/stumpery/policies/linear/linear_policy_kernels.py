"""Ridge regression of every action's reward on the context, with standard errors (Li et al. 2010, disjoint models).

With A = ridge * I + the sum of x x' over the rows x that an action was played on, and b the sum of reward * x, its
score for x is theta . x with theta = A^-1 b, and its uncertainty is the standard error sqrt(x' A^-1 x). The arrays hold
A^-1 and theta: with v = A^-1 x, one reward changes them by - v v' / (1 + x . v) (Sherman and Morrison 1950) and by
v (reward - theta . x) / (1 + x . v). Sums run over the columns where x is not 0, in order.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY
from stumpery.policies.mode_kernels import DECIDES, FILLS, LEARNS, reward_of, write_probabilities_and_scores
from stumpery.policies.standardisation_kernels import SparseRow, dot, sparse_row
from stumpery.types import Floats, Integers, RandomState


class RidgeModels(NamedTuple):
    """One ridge regression per action."""

    inverses: Floats  # (actions, width + 1, width + 1)
    thetas: Floats  # (actions, width + 1)


def new_ridge_models(n_actions: int, size: int, ridge: float) -> RidgeModels:
    """Models without rewards: A is ridge * I."""
    return RidgeModels(np.tile(np.eye(size) / ridge, (n_actions, 1, 1)), np.zeros((n_actions, size)))


@internal
def fill_scores(statistics: Floats, model: RidgeModels, row: SparseRow) -> None:
    """Write every action's score and uncertainty into the action statistics, in place."""
    for action in range(model.thetas.shape[0]):
        square = 0.0
        for index in range(row.n_set):
            column = row.indices[index]
            square += row.x[column] * dot(model.inverses[action, column], row)
        statistics[ACTION_SCORE, action] = dot(model.thetas[action], row)
        statistics[ACTION_UNCERTAINTY, action] = math.sqrt(max(square, 0.0))


@kernel
def update(inverse: Floats, theta: Floats, row: SparseRow, reward: float) -> None:
    """Update one action's inverse and theta by a reward, in place; the inverse stays symmetric to the last bit."""
    size = theta.shape[0]
    v = np.zeros(size)
    for index in range(row.n_set):
        column = row.indices[index]
        value = row.x[column]
        for other in range(size):
            v[other] += value * inverse[column, other]
    shrink = 1.0 / (1.0 + dot(v, row))
    gain = (reward - dot(theta, row)) * shrink
    root = math.sqrt(shrink)
    for column in range(size):
        theta[column] += gain * v[column]
        v[column] *= root
    for column in range(size):
        factor = v[column]
        if factor != 0.0:
            for other in range(size):
                inverse[column, other] -= factor * v[other]


@kernel
def run(
    rng: RandomState,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    inverses: Floats,
    thetas: Floats,
    statistics: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: np.ndarray,
    mode: int,
) -> None:
    """Go along rows by `mode`, in place: decide, learn the given actions, both, or only fill the statistics."""
    model = RidgeModels(inverses, thetas)
    for row in range(rows.shape[0]):
        time = clock[0] + 1.0
        seen = sparse_row(columns, rows[row])
        fill_scores(statistics, model, seen)
        if mode & DECIDES:
            actions[row], probabilities[row] = explorers.choose(rng, rule, statistics, available, time)
        elif not mode & LEARNS or mode & FILLS:
            explorers.fill_probabilities(rule, statistics, available, time)
        action = actions[row]
        reward = reward_of(rewards, row, action, mode) if mode & LEARNS else 0.0
        if mode & FILLS:
            write_probabilities_and_scores(statistics, rewards, row)
        if mode & LEARNS:
            update(inverses[action], thetas[action], seen, reward)
            features.count_event(clock, arms, columns, rows[row], action, reward)
