"""A multiclass perceptron that sees only whether its own guess was right (Kakade, Shalev-Shwartz, Tewari 2008).

With weights W_k, a row x, the leader l = argmax W_k . x, a choice c drawn with probability P and its reward r, the
Banditron's step is W_c += x r / P and W_l -= x. Leaders that tie share the second part, as they share the choice.
"""

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.policies.exploration.explorer_kernels import DECIDES, LEARNS, SCORE, UNCERTAINTY, VALUE
from stumpery.policies.standardisation_kernels import Sparse
from stumpery.types import Floats, Integers, RandomState


@internal
def fill_scores(statistics: Floats, weights: Floats, seen: Sparse) -> None:
    """Write every action's score into the action statistics, in place; a perceptron knows no uncertainty."""
    for action in range(weights.shape[0]):
        statistics[SCORE, action] = features.dot(weights[action], seen)
        statistics[UNCERTAINTY, action] = 0.0


@internal
def add(weights: Floats, seen: Sparse, factor: float) -> None:
    """Add a multiple of a row to one action's weights, in place."""
    for nth in range(seen.n_set):
        place = seen.places[nth]
        weights[place] += factor * seen.x[place]


@internal
def update(
    weights: Floats, statistics: Floats, rule: Floats, seen: Sparse, action: int, reward: float, probability: float
) -> None:
    """Take the reward of a row whose scores are in the action statistics, in place; the leaders are those among all actions."""
    best, _, n_best, _ = explorers.rank(rule, statistics, np.ones(weights.shape[0], dtype=np.bool_), 1.0)
    for leader in range(weights.shape[0]):
        if statistics[VALUE, leader] == best:
            add(weights[leader], seen, -1.0 / n_best)
    if reward > 0.0:
        add(weights[action], seen, reward / probability)


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
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, both, or fill the statistics."""
    for place in range(rows.shape[0]):
        seen = features.sparse(columns, rows[place])
        fill_scores(statistics, weights, seen)
        if does & DECIDES:
            actions[place], probabilities[place] = explorers.choose(rng, rule, statistics, available, 1.0)
        elif not does:
            explorers.fill_probabilities(rule, statistics, available, 1.0)
        if does & LEARNS:
            action = actions[place]
            reward = rewards[place, action if does & DECIDES else 0]
            update(weights, statistics, rule, seen, action, reward, probabilities[place])
            features.update(clock, arms, columns, rows[place], action, reward)
