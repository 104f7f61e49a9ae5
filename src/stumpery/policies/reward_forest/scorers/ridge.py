"""Ridge scorer in Python: size, allocation, actions that come and go, validation."""

import math
from collections.abc import Sequence

import numpy as np

from stumpery.policies.reward_forest.scorers.ridge_kernels import NO_FEATURE, RIDGE, RidgeRow, RidgeScorer
from stumpery.policies.reward_forest.scorers.scorers_kernels import CODES_PER_COLUMN
from stumpery.saving.validation import check, check_learned, check_within
from stumpery.summaries import moments_kernels as moments

MAX_FEATURES = 128  # with an index of their own
MIN_FEATURES = 2
MEMORY_SHARE = 64  # one so many-th of `max_bytes`, at most, is for the inverses
GROWN_SHARE = 32  # the same where actions have been added


def ridge_size(max_bytes: int, n_columns: int, n_actions: int) -> int:
    """The number of features with an index of their own, within a share of the memory.

    It does not depend on kinds of columns: one may turn out to be categorical late.
    """
    affordable = int(math.sqrt(max_bytes / MEMORY_SHARE / 8 / n_actions))
    return max(MIN_FEATURES, min(1 + n_columns * CODES_PER_COLUMN, MAX_FEATURES, affordable))


def narrowed(ridge: RidgeScorer, max_bytes: int, n_actions: int) -> RidgeScorer:
    """The scorer with as many of its first features as so many actions have room for; the rest will share these.

    The first ones keep their weights and their part of each inverse: the posterior of these weights, whatever the rest.
    """
    size = max(MIN_FEATURES, int(math.sqrt(max_bytes / GROWN_SHARE / 8 / max(n_actions, 1))))
    if len(ridge.weights) <= size:
        return ridge
    return ridge._replace(
        weights=ridge.weights[:size].copy(),
        inverses=ridge.inverses[:, :size, :size].copy(),
        features=np.where(np.abs(ridge.features) < size, ridge.features, NO_FEATURE).astype(np.int32),
        n_used=np.minimum(ridge.n_used, size).astype(np.int32),
    )


def ridge_bytes(size: int, n_columns: int, n_actions: int) -> int:
    """The bytes of a ridge scorer."""
    return 8 * n_actions * (size * size + size + 1) + n_columns * (8 * moments.N_FIELDS + 8 + 4 * CODES_PER_COLUMN) + 4


def new_ridge(size: int, n_columns: int, n_actions: int) -> RidgeScorer:
    """A ridge scorer that has learned nothing; the constant has its index."""
    return RidgeScorer(
        weights=np.zeros((size, n_actions)),
        inverses=np.tile(np.eye(size) / RIDGE, (n_actions, 1, 1)),
        plays=np.zeros(n_actions),
        columns=moments.new_moments(n_columns),
        scales=np.zeros(n_columns),
        features=np.zeros((n_columns, CODES_PER_COLUMN), np.int32),
        n_used=np.ones(1, np.int32),
    )


def new_ridge_row(ridge: RidgeScorer) -> RidgeRow:
    """Scratch buffers for a ridge scorer."""
    n_columns, size = len(ridge.columns), len(ridge.weights)
    return RidgeRow(np.zeros(n_columns + 1, np.int32), np.zeros(n_columns + 1), np.zeros(size))


def ridge_with_actions(ridge: RidgeScorer, keep: Sequence[int | None]) -> RidgeScorer:
    """A ridge scorer for other actions: those of `keep`, given by their old index, or None for a new one."""
    made = new_ridge(len(ridge.weights), len(ridge.columns), len(keep))
    places = [index for index, old in enumerate(keep) if old is not None]
    olds = [old for old in keep if old is not None]
    made.weights[:, places] = ridge.weights[:, olds]
    made.inverses[places] = ridge.inverses[olds]
    made.plays[places] = ridge.plays[olds]
    return made._replace(columns=ridge.columns, scales=ridge.scales, features=ridge.features, n_used=ridge.n_used)


def validate(ridge: RidgeScorer) -> None:
    """Refuse weights that cannot have been learned, and indices that do not exist."""
    size = len(ridge.weights)
    check_learned(ridge.weights, "a weight of the ridge scorer")
    variances = np.diagonal(ridge.inverses, axis1=1, axis2=2)
    check(bool(np.isfinite(ridge.inverses).all()), "an inverse of the ridge scorer is not finite")
    check_within(variances, 0.0, (1.0 + 1e-6) / RIDGE, "a variance of the ridge scorer")  # rewards only reduce it
    check_within(ridge.plays, 0.0, 2.0**53, "a number of plays of the ridge scorer")
    moments.validate(ridge.columns)
    check(bool((ridge.scales >= 0.0).all()), "a scale of the ridge scorer is negative or NaN")
    check_within(ridge.n_used, 1, size, "the number of features of the ridge scorer")
    check_within(np.abs(ridge.features), 0, int(ridge.n_used[0]) - 1, "a feature of the ridge scorer")
