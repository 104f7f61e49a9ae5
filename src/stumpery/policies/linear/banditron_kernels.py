"""The Banditron: a perceptron with bandit feedback (Kakade, Shalev-Shwartz and Tewari 2008).

With weights W_k, a row x, the leader l = argmax W_k . x, a choice c drawn with probability P and its reward r, the
Banditron's step is W_c += x r / P and W_l -= x. Leaders that tie share the second part.
"""

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.explorer_kernels import rank
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, ACTION_UNCERTAINTY, ACTION_VALUE
from stumpery.policies.mode_kernels import DECIDES, FILLS, LEARNS, reward_of, write_probabilities_and_scores
from stumpery.policies.standardisation_kernels import SparseRow
from stumpery.types import Floats, Integers, RandomState


@internal
def fill_scores(statistics: Floats, weights: Floats, seen: SparseRow) -> None:
    """Write every action's score into the action statistics, in place; uncertainties are 0."""
    for action in range(weights.shape[0]):
        statistics[ACTION_SCORE, action] = features.dot(weights[action], seen)
        statistics[ACTION_UNCERTAINTY, action] = 0.0


@internal
def add_row(weights: Floats, seen: SparseRow, factor: float) -> None:
    """Add a multiple of a row to one action's weights, in place."""
    for index in range(seen.n_set):
        column = seen.indices[index]
        weights[column] += factor * seen.x[column]


@internal
def update(
    weights: Floats, statistics: Floats, rule: Floats, seen: SparseRow, action: int, reward: float, probability: float
) -> None:
    """Learn the reward of a row whose scores are in the statistics, in place; all actions may lead."""
    best, _, n_best, _ = rank(rule, statistics, np.ones(weights.shape[0], dtype=np.bool_), 1.0)
    for leader in range(weights.shape[0]):
        if statistics[ACTION_VALUE, leader] == best:
            add_row(weights[leader], seen, -1.0 / n_best)
    if reward > 0.0:
        add_row(weights[action], seen, reward / probability)


@kernel
def run(
    rng: RandomState,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    weights: Floats,
    statistics: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: np.ndarray,
    mode: int,
) -> None:
    """Go along rows by `mode`, in place: decide, learn the given actions, both, or only fill the statistics."""
    for row in range(rows.shape[0]):
        seen = features.sparse_row(columns, rows[row])
        fill_scores(statistics, weights, seen)
        if mode & DECIDES:
            actions[row], probabilities[row] = explorers.choose(rng, rule, statistics, available, 1.0)
        elif not mode & LEARNS or mode & FILLS:
            explorers.fill_probabilities(rule, statistics, available, 1.0)
        action = actions[row]
        reward = reward_of(rewards, row, action, mode) if mode & LEARNS else 0.0
        if mode & FILLS:
            write_probabilities_and_scores(statistics, rewards, row)
        if mode & LEARNS:
            update(weights, statistics, rule, seen, action, reward, probabilities[row])
            features.count_event(clock, arms, columns, rows[row], action, reward)
