"""A multiclass perceptron that sees only whether its own guess was right (Kakade, Shalev-Shwartz, Tewari 2008).

With weights W_k, a row x, the leader l = argmax W_k . x, a choice c drawn with chance P and its reward r, the
Banditron's step is W_c += x r / P and W_l -= x. Leaders that tie share the second part, as they share the choice.
"""

import numpy as np

from stumpery.jit import kernel, part
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration import explorers_kernels as explorers
from stumpery.policies.exploration.explorers_kernels import DECIDES, DOUBT, LEARNS, SCORE, VALUE
from stumpery.policies.standardisation_kernels import Sparse
from stumpery.types import Floats, Integers, Words


@part
def fill_scores(board: Floats, weights: Floats, seen: Sparse) -> None:
    """Write every action's score onto the board, in place; a perceptron knows no doubt."""
    for action in range(weights.shape[0]):
        board[SCORE, action] = features.dot(weights[action], seen)
        board[DOUBT, action] = 0.0


@part
def add(weights: Floats, seen: Sparse, factor: float) -> None:
    """Add a multiple of a row to one action's weights, in place."""
    for nth in range(seen.n_set):
        place = seen.places[nth]
        weights[place] += factor * seen.x[place]


@part
def update(
    weights: Floats, board: Floats, rule: Floats, seen: Sparse, action: int, reward: float, chance: float
) -> None:
    """Take the reward of a row whose scores are on the board, in place; the leaders are those among all actions."""
    best, _, n_best, _ = explorers.rank(rule, board, np.ones(weights.shape[0], dtype=np.bool_), 1.0)
    for leader in range(weights.shape[0]):
        if board[VALUE, leader] == best:
            add(weights[leader], seen, -1.0 / n_best)
    if reward > 0.0:
        add(weights[action], seen, reward / chance)


@kernel
def run(
    rng: Words,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    weights: Floats,
    board: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    chances: Floats,
    available: np.ndarray,
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, both, or fill the board."""
    for place in range(rows.shape[0]):
        seen = features.sparse(columns, rows[place])
        fill_scores(board, weights, seen)
        if does & DECIDES:
            actions[place], chances[place] = explorers.choose(rng, rule, board, available, 1.0)
        elif not does:
            explorers.fill_chances(rule, board, available, 1.0)
        if does & LEARNS:
            action = actions[place]
            reward = rewards[place, action if does & DECIDES else 0]
            update(weights, board, rule, seen, action, reward, chances[place])
            features.note(clock, arms, columns, rows[place], action, reward)
