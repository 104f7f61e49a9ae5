"""The ridge scorer: ridge regression of every action's reward on standardised numbers and one-hot categories.

With A = RIDGE * I + the sum of x x' over the rows x that an action was played on, and b the sum of reward * x, its
score for x is w . x with w = A^-1 b. A^-1 and w are kept: with v = A^-1 x and s = 1 / (1 + x . v), one reward changes
them by - s v v' and by s v (reward - w . x) (Sherman and Morrison 1950). So a few dozen events suffice where rewards
are about linear, while the bins of the other linear scorers are still empty.

A row's features are a constant; every number, standardised by the mean and the variance so far and clipped; every set
bit; every category; and one for each column's missing values. A feature has an index of its own from its first event
on. There are so many indices at most, since an event takes time proportional to their square: later features share
them, with random signs (feature hashing, Weinberger et al. 2009).

The standard error of a score is sqrt(x' A^-1 x); times WIDTH it is the uncertainty of LinUCB (Li et al. 2010). It says
which actions are worth a try in a context before any leaf does, so it is mixed into the forest's uncertainty in
proportion to this scorer's weight in the stacking.

An action that was played often has weights that hardly change: from then on one of SPARSE_EVENTS events is learned, and
its uncertainty is the forest's; so are all where the scorer's weight is below MIN_WEIGHT.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import BINARY, CATEGORICAL, Int32s
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import internal
from stumpery.policies.reward_forest.scorers.scorers_kernels import CODES_PER_COLUMN
from stumpery.policies.standardisation_kernels import MAX_OBSERVED, MAX_SDS
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats

RIDGE = 4.0  # the prior weighs as much as four events
MIN_WEIGHT = 0.1  # of the scorer in the stacking, from which on its standard errors count
WIDTH = 0.5  # of the standard error, as an uncertainty
NO_FEATURE = 0  # of a code without an index; index 0 is the constant's
CODE_MISSING, CODE_VALUE = range(2)  # of numbers and bits; a category has its own code
MANY_PLAYS = 16  # times the features: from then on weights hardly change
SPARSE_EVENTS = 4
EXACT_SCALES, SCALE_INTERVAL = 64.0, 16.0  # events up to which a scale follows each, and between two updates later


class RidgeScorer(NamedTuple):
    """One ridge regression per action, over the same features."""

    weights: Floats  # (size, actions)
    inverses: Floats  # (actions, size, size)
    plays: Floats  # (actions,)
    columns: Floats  # (columns, N_FIELDS), moments of the numerical ones
    scales: Floats  # (columns,), 1 / standard deviation of the numerical ones, 0 where there is none
    features: Int32s  # (columns, CODES_PER_COLUMN), the index of each code, negative where it has the sign -
    n_used: Int32s  # (1,), indices in use


class RidgeRow(NamedTuple):
    """Scratch: a row's features, and A^-1 x."""

    indices: Int32s  # (1 + columns,)
    values: Floats  # the same
    direction: Floats  # (size,)


@internal
def standardised(ridge: RidgeScorer, column: int, number: float) -> float:
    """A number less its column's mean, in standard deviations, clipped."""
    deviation: float = (number - ridge.columns[column, moments.MEAN]) * ridge.scales[column]
    return min(max(deviation, -MAX_SDS), MAX_SDS)


@internal
def new_feature(ridge: RidgeScorer, column: int, code: int) -> int:
    """The next index, which is taken in place, or one to share if all are in use."""
    size, feature = ridge.weights.shape[0], int(ridge.n_used[0])
    if feature < size:
        ridge.n_used[0] = feature + 1
    else:
        key = splitmix64(np.uint64(column * CODES_PER_COLUMN + code + 1))
        feature = 1 + int((key >> np.uint64(8)) % np.uint64(size - 1))
        if key & np.uint64(1):
            feature = -feature
    return feature


@internal
def code_of(number: float, kind: int) -> int:
    """The code of a column's value."""
    if kind == CATEGORICAL:
        return min(int(number), CODES_PER_COLUMN - 1)
    return CODE_VALUE if number > -np.inf else CODE_MISSING


@internal
def add_features(ridge: RidgeScorer, row: Floats, kinds: NDArray[np.uint8]) -> bool:
    """Give the codes of a row an index that have none, in place; return whether there are such."""
    has_new = False
    for column in range(row.shape[0]):
        code = code_of(row[column], kinds[column])
        is_present = kinds[column] != BINARY or row[column] != 0.0
        if is_present and ridge.features[column, code] == NO_FEATURE:
            ridge.features[column, code] = new_feature(ridge, column, code)
            has_new = True
    return has_new


@internal
def fill_features(ridge: RidgeScorer, row: Floats, kinds: NDArray[np.uint8], work: RidgeRow) -> int:
    """Write a row's features that have an index into `work`, in place, and return their number."""
    work.indices[0] = 0
    work.values[0] = 1.0
    n = 1
    for column in range(row.shape[0]):
        code = code_of(row[column], kinds[column])
        feature, value = int(ridge.features[column, code]), 1.0
        if feature == NO_FEATURE:
            continue
        if kinds[column] == BINARY and code == CODE_VALUE and row[column] != 1.0:
            continue
        if kinds[column] != BINARY and kinds[column] != CATEGORICAL and code == CODE_VALUE:
            value = standardised(ridge, column, row[column])
        work.indices[n] = abs(feature)
        work.values[n] = value if feature > 0 else -value
        n += 1
    return n


@internal
def add_scores(ridge: RidgeScorer, work: RidgeRow, n: int, scores: Floats) -> None:
    """Add every action's score of n features to `scores`, in place."""
    for index in range(n):
        weights, value = ridge.weights[work.indices[index]], work.values[index]
        for action in range(scores.shape[0]):
            scores[action] += value * weights[action]


@internal
def mix_uncertainties(ridge: RidgeScorer, work: RidgeRow, n: int, weight: float, uncertainties: Floats) -> None:
    """Mix the standard errors of actions with few plays into their uncertainties, in place, by this scorer's weight."""
    if weight < MIN_WEIGHT:
        return
    for action in range(uncertainties.shape[0]):
        if ridge.plays[action] >= MANY_PLAYS * ridge.n_used[0]:
            continue
        inverse, square = ridge.inverses[action], 0.0
        for index in range(n):  # the inverse is symmetric
            line, part = inverse[work.indices[index]], 0.0
            for other in range(index):
                part += work.values[other] * line[work.indices[other]]
            square += work.values[index] * (2.0 * part + work.values[index] * line[work.indices[index]])
        width = WIDTH * math.sqrt(max(square, 0.0))
        uncertainties[action] += weight * (width - uncertainties[action])


@internal
def update(ridge: RidgeScorer, work: RidgeRow, n: int, action: int, reward: float) -> None:
    """Update an action's inverse and weights by a row and its reward, in place."""
    inverse, v, n_used = ridge.inverses[action], work.direction, ridge.n_used[0]
    for index in range(n_used):
        v[index] = 0.0
    for index in range(n):
        line, value = inverse[work.indices[index]], work.values[index]
        for other in range(n_used):
            v[other] += value * line[other]
    product, score = 0.0, 0.0
    for index in range(n):
        product += work.values[index] * v[work.indices[index]]
        score += work.values[index] * ridge.weights[work.indices[index], action]
    shrink = 1.0 / (1.0 + max(product, 0.0))
    gain = (reward - score) * shrink
    for index in range(n_used):
        ridge.weights[index, action] += gain * v[index]
        factor = shrink * v[index]
        if factor != 0.0:
            line = inverse[index]
            for other in range(n_used):
                line[other] -= factor * v[other]


@internal
def observe(ridge: RidgeScorer, row: Floats, kinds: NDArray[np.uint8]) -> None:
    """Add a row's numbers to the moments of their columns, in place."""
    for column in range(row.shape[0]):
        if kinds[column] != CATEGORICAL and kinds[column] != BINARY and abs(row[column]) <= MAX_OBSERVED:
            moments.add(ridge.columns, column, row[column], 1.0)
            count = ridge.columns[column, moments.COUNT]
            if count <= EXACT_SCALES or count % SCALE_INTERVAL == 0.0:
                variance = ridge.columns[column, moments.SQUARES] / count
                ridge.scales[column] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0


@internal
def learn(
    ridge: RidgeScorer,
    row: Floats,
    kinds: NDArray[np.uint8],
    work: RidgeRow,
    n: int,
    action: int,
    reward: float,
    key: np.uint64,
) -> None:
    """Learn one event whose n features `fill_features` has just written, in place; its `key` is random."""
    plays = ridge.plays[action]
    ridge.plays[action] = plays + 1.0
    if plays < MANY_PLAYS * ridge.n_used[0] or (key >> np.uint64(44)) % np.uint64(SPARSE_EVENTS) == np.uint64(0):
        if add_features(ridge, row, kinds):
            n = fill_features(ridge, row, kinds, work)
        update(ridge, work, n, action, reward)
    observe(ridge, row, kinds)
