"""What actions have in common: one linear scorer for all of them, over the context's codes and the actions' features.

An action's features are a vector z whose first number is 1 (see `action_features.py`). Every code of a context (see
`hashed_kernels.py`) has a weight for each feature; an action's score is the sum of weights times features. Whatever
action is played, all that have its features learn: one that never was played has a score, too. Weights move as in
`hashed_kernels.settle`, with sums of z^2 in place of counts.

How much of it an action borrows depends on what is known of itself: after n plays, where the context leads to, the
share c / (n + c) of its score and of its doubt. The strength c is the one of STRENGTHS that would have predicted recent
rewards best, above all those of actions with few plays; 0 is among them, for features that tell nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import part
from stumpery.policies.explorers_kernels import DOUBT, SCORE
from stumpery.policies.hashed_kernels import LONGEST, PAST, WEIGHT, pace
from stumpery.trees.forest_kernels import Float32s, Int32s, spread
from stumpery.types import Floats

STRENGTHS = (0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
FIRST = 2  # the place of the strength to begin with
FADING = 0.005  # the part of a loss that an event of weight 1 lets go
HASTE = 1.0
LARGEST_WEIGHT = np.float32(1e6)  # what a feature of a millionth needs to make all of a reward


class Shared(NamedTuple):
    """One scorer for all actions."""

    features: Floats  # (actions, features); where there are none it has one dimension only, and nothing is lent
    linear: Float32s  # (slots, WEIGHT and PAST, features)
    losses: Floats  # (STRENGTHS,): fading sums of squared errors


class Loans(NamedTuple):
    """What was borrowed for one context: room of a call."""

    weights: Floats  # (features,): sums over the codes in play
    doubts: Floats  # (features,): means
    own: Floats  # (actions,): scores before
    common: Floats  # (actions,): scores of the features
    plays: Floats  # (actions,): of the action itself


@part
def new_loans(n_features: int, n_actions: int) -> Loans:
    """Room for one context."""
    return Loans(
        np.zeros(n_features), np.zeros(n_features), np.zeros(n_actions), np.zeros(n_actions), np.zeros(n_actions)
    )


@part
def share(place: int, plays: float) -> float:
    """How much is borrowed after so many plays, with the strength of this place."""
    strength = STRENGTHS[place]
    return strength / (plays + strength) if strength > 0.0 else 0.0


@part
def best_place(losses: Floats) -> int:
    """That of the strength with the least loss."""
    best = FIRST
    for place in range(losses.shape[0]):
        if losses[place] < losses[best]:
            best = place
    return best


@part
def lend(features: Floats, shared: Shared, codes: Int32s, n: int, means: Floats, loans: Loans, board: Floats) -> None:
    """Move every score and doubt on the board towards those of the features, in place; `means` are the forest's."""
    if features.ndim == 1:  # known before compiling: the rest is left out
        return
    weights, doubts = loans.weights, loans.doubts
    n_features = features.shape[1]
    for feature in range(n_features):
        weights[feature] = 0.0
        doubts[feature] = 0.0
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(n_features):
            weights[feature] += slot[WEIGHT, feature]
            past = np.float64(slot[PAST, feature])  # wide also in plain Python
            doubts[feature] += 1.0 / math.sqrt(1.0 + past) / n
    place = best_place(shared.losses)
    for action in range(board.shape[1]):
        score, doubt, squares = 0.0, 0.0, 0.0
        for feature in range(n_features):
            value = features[action, feature]
            score += weights[feature] * value
            doubt += doubts[feature] * value * value
            squares += value * value
        score = min(max(score, 0.0), 1.0)
        own = board[SCORE, action]
        certainty = spread(means[action]) / board[DOUBT, action]
        loans.own[action] = own
        loans.common[action] = score
        loans.plays[action] = certainty * certainty - 1.0
        part_lent = share(place, loans.plays[action])
        board[SCORE, action] = own + part_lent * (score - own)
        board[DOUBT, action] += part_lent * (doubt / squares * spread(score) - board[DOUBT, action])


@part
def learn(features: Floats, shared: Shared, codes: Int32s, n: int, loans: Loans, action: int, reward: float) -> None:
    """Let weights and losses learn one event for which `lend` has just been called, in place."""
    if features.ndim == 1:
        return
    own, common, plays = loans.own[action], loans.common[action], loans.plays[action]
    weight = 1.0 / math.sqrt(1.0 + plays)
    for place in range(shared.losses.shape[0]):
        error = reward - own - share(place, plays) * (common - own)
        shared.losses[place] += weight * (error * error - FADING * shared.losses[place])
    mine = features[action]
    score, total = 0.0, 0.0
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(mine.shape[0]):
            square = mine[feature] * mine[feature]
            if square > 0.0:
                past = min(slot[PAST, feature] + np.float32(square), LONGEST)
                slot[PAST, feature] = past
                total += square / np.float64(past)
                score += slot[WEIGHT, feature] * mine[feature]
    step = pace(reward - score, total, HASTE)
    for index in range(n):
        slot = shared.linear[codes[index]]
        for feature in range(mine.shape[0]):
            if mine[feature] != 0.0:
                moved = slot[WEIGHT, feature] + np.float32(step * mine[feature] / np.float64(slot[PAST, feature]))
                slot[WEIGHT, feature] = min(max(moved, -LARGEST_WEIGHT), LARGEST_WEIGHT)
