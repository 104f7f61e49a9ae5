"""A multiclass perceptron that sees only whether its own guess was right (Kakade, Shalev-Shwartz, Tewari 2008).

With weights W_k, a row x, the leader l = argmax W_k . x, a choice c drawn with chance P and its reward r, the
Banditron's step is W_c += x r / P and W_l -= x. Leaders that tie share the second part, as they share the choice.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.policies import explorers_kernels as explorers
from stumpery.policies import features_kernels as features
from stumpery.policies.explorers_kernels import N_ROWS, SCORE, VALUE
from stumpery.policies.features_kernels import Sparse
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, Words


@kernel
def new_scores(weights: Floats, seen: Sparse) -> Floats:
    """A board with every action's score; a perceptron knows no doubt."""
    board = np.zeros((N_ROWS, weights.shape[0]))
    for action in range(weights.shape[0]):
        board[SCORE, action] = features.dot(weights[action], seen)
    return board


@kernel
def add(weights: Floats, seen: Sparse, factor: float) -> None:
    """Add a multiple of a row to one action's weights, in place."""
    for nth in range(seen.n_set):
        place = seen.places[nth]
        weights[place] += factor * seen.x[place]


@kernel
def fill_board(
    board: Floats,
    rule: Floats,
    available: np.ndarray,
    columns: Floats,
    weights: Floats,
    row: Floats,
) -> None:
    """Write scores, values and chances for one row onto the board, in place."""
    board[:] = new_scores(weights, features.sparse(columns, row))
    explorers.fill_chances(rule, board, available, 1.0)


@kernel
def decide(
    rng: Words, rule: Floats, available: np.ndarray, columns: Floats, weights: Floats, row: Floats
) -> tuple[int, float]:
    """Choose for one row."""
    return explorers.choose(rng, rule, new_scores(weights, features.sparse(columns, row)), available, 1.0)


@kernel
def learn(
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    weights: Floats,
    row: Floats,
    action: int,
    reward: float,
    chance: float,
) -> None:
    """Take the reward of one row, in place; the leaders are those of now, among all actions."""
    seen = features.sparse(columns, row)
    board = new_scores(weights, seen)
    best, _, n_best, _ = explorers.rank(rule, board, np.ones(weights.shape[0], dtype=np.bool_), 1.0)
    for leader in range(weights.shape[0]):
        if board[VALUE, leader] == best:
            add(weights[leader], seen, -1.0 / n_best)
    if reward > 0.0:
        add(weights[action], seen, reward / chance)
    features.observe(columns, row)
    moments.add(arms, action, reward, 1.0)
    clock[0] += 1.0


@kernel
def play(
    rng: Words,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    weights: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    chances: Floats,
) -> None:
    """Decide, look up the reward and learn, once for every row; the choices go into the last two."""
    available = np.ones(weights.shape[0], dtype=np.bool_)
    for place in range(rows.shape[0]):
        action, chance = decide(rng, rule, available, columns, weights, rows[place])
        learn(rule, clock, arms, columns, weights, rows[place], action, rewards[place, action], chance)
        actions[place], chances[place] = action, chance
