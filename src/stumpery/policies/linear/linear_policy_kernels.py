"""A linear model of each action's reward, and its uncertainty (disjoint models of Li et al. 2010).

With A = ridge * I + the sum of x x' over the rows x that an action was played on, and b the sum of reward * x, its
score for x is theta . x with theta = A^-1 b, and its uncertainty sqrt(x' A^-1 x). Not A and b are kept but the inverse and
theta: with v = A^-1 x, one reward changes them by - v v' / (1 + x . v) (Sherman and Morrison 1950) and by
v (reward - theta . x) / (1 + x . v). Sums run over the places where x is not 0, in order.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.explorer_kernels import DECIDES, LEARNS, SCORE, UNCERTAINTY
from stumpery.policies.standardisation_kernels import Sparse, dot, sparse
from stumpery.types import Floats, Integers, RandomState


class Linear(NamedTuple):
    """What is known of every action."""

    inverses: Floats  # (actions, width + 1, width + 1)
    thetas: Floats  # (actions, width + 1)


def new_linear(n_actions: int, size: int, ridge: float) -> Linear:
    """Nothing but the ridge."""
    return Linear(np.tile(np.eye(size) / ridge, (n_actions, 1, 1)), np.zeros((n_actions, size)))


@internal
def fill_scores(statistics: Floats, model: Linear, row: Sparse) -> None:
    """Write every action's score and uncertainty into the action statistics, in place."""
    for action in range(model.thetas.shape[0]):
        square = 0.0
        for nth in range(row.n_set):
            place = row.places[nth]
            square += row.x[place] * dot(model.inverses[action, place], row)
        statistics[SCORE, action] = dot(model.thetas[action], row)
        statistics[UNCERTAINTY, action] = math.sqrt(max(square, 0.0))


@kernel
def update(inverse: Floats, theta: Floats, row: Sparse, reward: float) -> None:
    """Fold one reward into one action's inverse and theta, in place; the inverse stays symmetric to the last bit."""
    size = theta.shape[0]
    v = np.zeros(size)
    for nth in range(row.n_set):
        place = row.places[nth]
        value = row.x[place]
        for other in range(size):
            v[other] += value * inverse[place, other]
    shrink = 1.0 / (1.0 + dot(v, row))
    gain = (reward - dot(theta, row)) * shrink
    root = math.sqrt(shrink)
    for place in range(size):
        theta[place] += gain * v[place]
        v[place] *= root
    for place in range(size):
        factor = v[place]
        if factor != 0.0:
            for other in range(size):
                inverse[place, other] -= factor * v[other]


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
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, both, or fill the statistics; the time is that of rewards."""
    model = Linear(inverses, thetas)
    for place in range(rows.shape[0]):
        time = clock[0] + 1.0
        seen = sparse(columns, rows[place])
        fill_scores(statistics, model, seen)
        if does & DECIDES:
            actions[place], probabilities[place] = explorers.choose(rng, rule, statistics, available, time)
        elif not does:
            explorers.fill_probabilities(rule, statistics, available, time)
        if does & LEARNS:
            action = actions[place]
            reward = rewards[place, action if does & DECIDES else 0]
            update(inverses[action], thetas[action], seen, reward)
            features.update(clock, arms, columns, rows[place], action, reward)
