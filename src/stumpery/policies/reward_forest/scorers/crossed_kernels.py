"""The crossed scorer: one ridge regression over the products of context features and action features.

With x the features of a context, those of the ridge scorer (`ridge_kernels.py`), and z those of an action, a constant
first, the score is the sum of w_ij x_i z_j: the hybrid model of LinUCB (Li et al. 2010) without its own part. Every
reward teaches it about all actions with the same features, also those that were never played.

What an action earns beyond its features is its quality: the mean of n errors of this score, shrunk by n / (n + c), with
c = QUALITY_PRIOR plays. The scorer's prediction is the sum of the two.

w and the inverse of A = RIDGE * I + sum u u', u = x (x) z, are kept as in the ridge scorer. The standard error of a
score is sqrt(u' A^-1 u). With B_jl = sum x_i x_k A^-1_(ij, kl), computed once for a row, it is sqrt(z' B z) for every
action; of an action with more than MAX_EXACT_TERMS terms, as an embedding has, only the diagonal of B counts.

Products are bounded (`crossed.py`): context features have places in the order in which they come, and those that find
none take no part. Since the shared model (`shared_model_kernels.py`) has no such bound, the one of the two whose errors
were smaller of late is used.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import BINARY, CATEGORICAL, Int32s
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers.ridge_kernels import (
    CODE_VALUE,
    MANY_PLAYS,
    NO_FEATURE,
    SPARSE_EVENTS,
    RidgeScorer,
    code_of,
    standardised,
)
from stumpery.types import Floats

CROSSED_RIDGE = 1.0
CROSSED_WIDTH = 0.35  # of the standard error, as an uncertainty
QUALITY_PRIOR = 10.0  # plays at which one half of an action's quality is believed
QUALITY_VARIANCE = 1.0  # of an action, divided by plays + QUALITY_PRIOR: part of the squared standard error
MAX_EXACT_TERMS = 16
ERROR_DECAY = 1.0 - 1.0 / 2000.0
# Of the counts: places in use, plays, and decayed squared errors of both models.
CROSSED_PLACES, CROSSED_PLAYS, CROSSED_ERROR, SHARED_ERROR = range(4)
N_CROSSED_COUNTS = 4
QUALITY_PLAYS, QUALITY_MEAN = range(2)  # of an action


class CrossedScorer(NamedTuple):
    """One ridge regression over products of context features and terms of actions."""

    weights: Floats  # (places, terms); no places where there is no memory for them
    inverse: Floats  # (places * terms, the same)
    places: Int32s  # (columns, CODES_PER_COLUMN), the place of each code
    counts: Floats  # (N_CROSSED_COUNTS,)
    quality: Floats  # (actions, 2)
    terms: Int32s  # (actions, most terms of one), those of each action; then -1
    values: Floats  # the same, their numbers
    centres: Floats  # (terms,), mean of a number among actions
    scales: Floats  # (terms,), 1 / its standard deviation


class CrossedRow(NamedTuple):
    """Scratch: the features of a row, and what follows from them."""

    indices: Int32s  # (1 + columns,)
    values: Floats  # the same
    sums: Floats  # (terms,), weights of the row
    squares: Floats  # (terms, terms), B
    direction: Floats  # (places * terms,)
    similar: Floats  # (actions,), score without quality
    errors: Floats  # (actions,), uncertainties


@internal
def fill_places(
    crossed: CrossedScorer, ridge: RidgeScorer, row: Floats, kinds: NDArray[np.uint8], work: CrossedRow
) -> int:
    """Write a row's features that have a place into `work`, in place, and return their number."""
    work.indices[0] = 0
    work.values[0] = 1.0
    n = 1
    for column in range(row.shape[0]):
        code = code_of(row[column], kinds[column])
        place, value = crossed.places[column, code], 1.0
        if place == NO_FEATURE:
            continue
        if kinds[column] == BINARY and code == CODE_VALUE and row[column] != 1.0:
            continue
        if kinds[column] != BINARY and kinds[column] != CATEGORICAL and code == CODE_VALUE:
            value = standardised(ridge, column, row[column])
        work.indices[n] = place
        work.values[n] = value
        n += 1
    return n


@internal
def add_places(crossed: CrossedScorer, row: Floats, kinds: NDArray[np.uint8]) -> None:
    """Give the codes of a row a place that have none, while there are places, in place."""
    for column in range(row.shape[0]):
        n_used = int(crossed.counts[CROSSED_PLACES])
        if n_used >= crossed.weights.shape[0]:
            return
        code = code_of(row[column], kinds[column])
        is_present = kinds[column] != BINARY or row[column] != 0.0
        if is_present and crossed.places[column, code] == NO_FEATURE:
            crossed.places[column, code] = n_used
            crossed.counts[CROSSED_PLACES] = n_used + 1.0


@internal
def sum_places(crossed: CrossedScorer, work: CrossedRow, n: int) -> None:
    """Sum weights and the inverse over the n features of a row, in place: for each term, and each pair of terms."""
    n_terms = crossed.weights.shape[1]
    sums, squares = work.sums, work.squares
    for term in range(n_terms):
        sums[term] = 0.0
        for other in range(n_terms):
            squares[term, other] = 0.0
    for index in range(n):
        place, value = work.indices[index], work.values[index]
        for term in range(n_terms):
            sums[term] += value * crossed.weights[place, term]
        for second in range(index + 1):
            start = work.indices[second] * n_terms
            product = value * work.values[second] * (1.0 if second == index else 2.0)
            for term in range(n_terms):
                line, into = crossed.inverse[place * n_terms + term], squares[term]
                for other in range(n_terms):
                    into[other] += product * line[start + other]


@internal
def fill_scores(crossed: CrossedScorer, work: CrossedRow) -> None:
    """Write every action's score without quality, and its standard error, into `work`, in place."""
    for action in range(crossed.terms.shape[0]):
        terms, values = crossed.terms[action], crossed.values[action]
        n, score, square = 0, 0.0, 0.0
        while n < terms.shape[0] and terms[n] >= 0:
            score += values[n] * work.sums[terms[n]]
            n += 1
        for index in range(n):
            line = work.squares[terms[index]]
            if n > MAX_EXACT_TERMS:
                square += values[index] * values[index] * line[terms[index]]
                continue
            part = 0.0
            for other in range(n):
                part += values[other] * line[terms[other]]
            square += values[index] * part
        work.similar[action] = score
        plays = crossed.quality[action, QUALITY_PLAYS]
        variance = max(square, 0.0) + QUALITY_VARIANCE / (plays + QUALITY_PRIOR)
        work.errors[action] = CROSSED_WIDTH * math.sqrt(variance)


@internal
def is_better(crossed: CrossedScorer) -> bool:
    """Whether this scorer's errors were no larger of late than those of the shared model."""
    has_places = crossed.weights.shape[0] > 0
    return bool(has_places and crossed.counts[CROSSED_ERROR] <= crossed.counts[SHARED_ERROR])


@internal
def quality_of(crossed: CrossedScorer, action: int) -> float:
    """What an action is believed to earn beyond its features."""
    plays = crossed.quality[action, QUALITY_PLAYS]
    quality: float = crossed.quality[action, QUALITY_MEAN] * plays / (plays + QUALITY_PRIOR)
    return quality


@internal
def update(crossed: CrossedScorer, work: CrossedRow, n: int, action: int, reward: float) -> float:
    """Update the inverse and the weights by the n features of a row and an action's reward, in place.

    Returns the error before.
    """
    n_terms = crossed.weights.shape[1]
    n_used = int(crossed.counts[CROSSED_PLACES]) * n_terms
    v, terms, values = work.direction, crossed.terms[action], crossed.values[action]
    for index in range(n_used):
        v[index] = 0.0
    for index in range(n):
        start = work.indices[index] * n_terms
        for position in range(terms.shape[0]):
            if terms[position] < 0:
                break
            value = work.values[index] * values[position]
            line = crossed.inverse[start + terms[position]]
            for other in range(n_used):
                v[other] += value * line[other]
    product, score = 0.0, 0.0
    for index in range(n):
        place = work.indices[index]
        for position in range(terms.shape[0]):
            if terms[position] < 0:
                break
            value = work.values[index] * values[position]
            product += value * v[place * n_terms + terms[position]]
            score += value * crossed.weights[place, terms[position]]
    shrink = 1.0 / (1.0 + max(product, 0.0))
    gain = (reward - score) * shrink
    for index in range(n_used):
        crossed.weights[index // n_terms, index % n_terms] += gain * v[index]
        factor = shrink * v[index]
        if factor != 0.0:
            line = crossed.inverse[index]
            for other in range(n_used):
                line[other] -= factor * v[other]
    return reward - score


@internal
def learn(
    crossed: CrossedScorer,
    ridge: RidgeScorer,
    row: Floats,
    kinds: NDArray[np.uint8],
    work: CrossedRow,
    action: int,
    reward: float,
    shared_error: float,
    key: np.uint64,
) -> None:
    """Learn one event of an action with features, in place, and compare with the shared model's error.

    The event's `key` is random.
    """
    if crossed.weights.shape[0] == 0:
        return
    plays = crossed.counts[CROSSED_PLAYS]
    crossed.counts[CROSSED_PLAYS] = plays + 1.0
    n_products = crossed.counts[CROSSED_PLACES] * crossed.weights.shape[1]
    if plays < MANY_PLAYS * n_products or (key >> np.uint64(48)) % np.uint64(SPARSE_EVENTS) == np.uint64(0):
        add_places(crossed, row, kinds)
        n = fill_places(crossed, ridge, row, kinds, work)
        error, counts = update(crossed, work, n, action, reward), crossed.counts
        counts[CROSSED_ERROR] = ERROR_DECAY * counts[CROSSED_ERROR] + error * error
        counts[SHARED_ERROR] = ERROR_DECAY * counts[SHARED_ERROR] + shared_error * shared_error


@internal
def learn_quality(crossed: CrossedScorer, action: int, error: float) -> None:
    """Fold the error of a score without quality into an action's, in place."""
    quality = crossed.quality[action]
    quality[QUALITY_PLAYS] += 1.0
    quality[QUALITY_MEAN] += (error - quality[QUALITY_MEAN]) / quality[QUALITY_PLAYS]
