"""Crossed scorer in Python: size, terms of actions, allocation, actions that come and go, validation."""

import math
from collections.abc import Sequence

import numpy as np

from stumpery.array_forest.forest_kernels import Int32s
from stumpery.policies.reward_forest.action_features import ActionFeatures, Term, numbers_of
from stumpery.policies.reward_forest.scorers.crossed_kernels import (
    CROSSED_PLACES,
    CROSSED_RIDGE,
    N_CROSSED_COUNTS,
    QUALITY_PLAYS,
    CrossedRow,
    CrossedScorer,
)
from stumpery.policies.reward_forest.scorers.ridge_kernels import NO_FEATURE
from stumpery.policies.reward_forest.scorers.scorers_kernels import CODES_PER_COLUMN
from stumpery.policies.standardisation_kernels import MAX_SDS
from stumpery.saving.validation import MAX_EVENT_COUNT, check, check_learned, check_within
from stumpery.system.allocation import reserve
from stumpery.types import Floats

MAX_PRODUCTS = 384  # of context features and terms: an event takes time proportional to their square
MIN_PLACES = 4  # of context features, without which crossing them is of no use
MIN_DEVIATION = 1e-6  # of a number among actions, relative to its mean: a smaller one is none
INVERSE_SHARE = 64  # one so many-th of `max_bytes`, at most, is for the inverse


def n_places_within(max_bytes: int, n_columns: int, n_terms: int) -> int:
    """The number of context features that are crossed with so many terms; 0 where these are none or too many."""
    if not n_terms:
        return 0
    n_products = min(MAX_PRODUCTS, int(math.sqrt(max_bytes / INVERSE_SHARE / 8)))
    n_places = min(n_products // n_terms, 1 + n_columns * CODES_PER_COLUMN)
    return n_places if n_places >= MIN_PLACES else 0


def crossed_bytes(n_places: int, n_columns: int, n_terms: int, n_actions: int, n_active: int) -> int:
    """The bytes of a crossed scorer; of one without terms none."""
    if not n_terms:
        return 0
    products = n_places * n_terms
    learned = 8 * (products * products + products + N_CROSSED_COUNTS + 2 * n_terms + 2 * n_actions)
    return learned + 12 * n_actions * n_active + 4 * n_columns * CODES_PER_COLUMN


def n_terms_of(features: ActionFeatures) -> int:
    """The number of terms, with the constant."""
    return 1 + len(features.terms) if features.terms else 0


def n_active_of(features: ActionFeatures) -> int:
    """The most terms of one action, with the constant."""
    return 1 + max((len(list(numbers_of(each))) for each in features.described.values()), default=0)


def new_crossed(features: ActionFeatures, n_columns: int, max_bytes: int) -> CrossedScorer:
    """A crossed scorer that has learned nothing; the constant of contexts has its place."""
    n_terms = n_terms_of(features)
    n_places = n_places_within(max_bytes, n_columns, n_terms)
    reserve(crossed_bytes(n_places, n_columns, n_terms, len(features.actions), n_active_of(features)))
    counts = np.zeros(N_CROSSED_COUNTS)
    counts[CROSSED_PLACES] = min(n_places, 1)
    centres, scales = _standardisation(features)
    terms, values = _tables(features, centres, scales)
    return CrossedScorer(
        weights=np.zeros((n_places, n_terms)),
        inverse=np.eye(n_places * n_terms) / CROSSED_RIDGE,
        places=np.zeros((n_columns if n_terms else 0, CODES_PER_COLUMN), np.int32),
        counts=counts,
        quality=np.zeros((len(features.actions) if n_terms else 0, 2)),
        terms=terms,
        values=values,
        centres=centres,
        scales=scales,
    )


def new_crossed_row(crossed: CrossedScorer, n_columns: int, n_actions: int) -> CrossedRow:
    """Scratch buffers for a crossed scorer."""
    n_places, n_terms = crossed.weights.shape
    return CrossedRow(
        indices=np.zeros(n_columns + 1, np.int32),
        values=np.zeros(n_columns + 1),
        sums=np.zeros(n_terms),
        squares=np.zeros((n_terms, n_terms)),
        direction=np.zeros(n_places * n_terms),
        similar=np.zeros(n_actions),
        errors=np.zeros(n_actions),
    )


def crossed_with_actions(
    crossed: CrossedScorer,
    before: ActionFeatures,
    after: ActionFeatures,
    keep: Sequence[int | None],
    n_columns: int,
    max_bytes: int,
) -> CrossedScorer:
    """A crossed scorer for other actions: those of `keep`, given by their old index, or None for a new one.

    Terms that stay keep their weights and their part of the inverse; with more terms there may be fewer places.
    """
    made = new_crossed(after, n_columns, max_bytes)
    if not before.terms or not after.terms:
        return made
    new_of = {term: index for index, term in enumerate(after.terms, start=1)}
    pairs = [(0, 0), *((index, new_of[term]) for index, term in enumerate(before.terms, start=1) if term in new_of)]
    old, new = (np.array(side) for side in zip(*pairs, strict=True))
    stays = crossed.scales[old] > 0.0  # what was the same for all actions has taught nothing
    made.centres[new[stays]], made.scales[new[stays]] = crossed.centres[old[stays]], crossed.scales[old[stays]]
    n_places = min(int(crossed.counts[CROSSED_PLACES]), len(made.weights))
    made.counts[:] = crossed.counts
    made.counts[CROSSED_PLACES] = n_places
    made.places[:] = np.where(crossed.places < n_places, crossed.places, NO_FEATURE)
    made.weights[:n_places, new] = crossed.weights[:n_places, old]
    starts = np.arange(n_places)[:, None]
    from_, into = (starts * len(crossed.scales) + old).ravel(), (starts * len(made.scales) + new).ravel()
    made.inverse[np.ix_(into, into)] = crossed.inverse[np.ix_(from_, from_)]
    kept = [index for index, old_action in enumerate(keep) if old_action is not None]
    made.quality[kept] = crossed.quality[[each for each in keep if each is not None]]
    terms, values = _tables(after, made.centres, made.scales)
    return made._replace(terms=terms, values=values)


def validate(crossed: CrossedScorer, features: ActionFeatures) -> None:
    """Refuse weights that cannot have been learned, places that do not exist, and terms of other actions."""
    n_places, n_terms = crossed.weights.shape
    check_learned(crossed.weights, "a weight of the crossed scorer")
    check(bool(np.isfinite(crossed.inverse).all()), "the inverse of the crossed scorer is not finite")
    variances = np.diagonal(crossed.inverse)
    check_within(variances, 0.0, (1.0 + 1e-6) / CROSSED_RIDGE, "a variance of the crossed scorer")
    check_within(crossed.counts, 0.0, MAX_EVENT_COUNT, "a count of the crossed scorer")
    n_used = float(crossed.counts[CROSSED_PLACES])
    check(n_used == int(n_used), "the number of places of the crossed scorer is not whole")
    check_within(np.array(n_used), min(n_places, 1), n_places, "the number of places of the crossed scorer")
    check_within(crossed.places, 0, max(int(n_used) - 1, 0), "a place of the crossed scorer")
    check_within(crossed.quality[:, QUALITY_PLAYS], 0.0, MAX_EVENT_COUNT, "the plays of an action")
    check_learned(crossed.quality, "the quality of an action")
    check_learned(crossed.centres, "the mean of a feature")
    check_within(crossed.scales, 0.0, MAX_EVENT_COUNT, "the scale of a feature")
    terms, values = _tables(features, crossed.centres, crossed.scales)
    fits = np.array_equal(terms, crossed.terms) and np.array_equal(values, crossed.values)
    check(fits and n_terms == n_terms_of(features), "its terms do not match its actions")


def _is_number(term: Term) -> bool:
    return not isinstance(term[1], str)


def _standardisation(features: ActionFeatures) -> tuple[Floats, Floats]:
    """The mean and 1 / the standard deviation of each number among the actions that have it; 0 and 1 of categories."""
    n_terms = n_terms_of(features)
    centres, scales = np.zeros(n_terms), np.ones(n_terms)
    numbers: dict[Term, list[float]] = {term: [] for term in features.terms if _is_number(term)}
    for described in features.described.values():
        for term, number in numbers_of(described):
            if term in numbers:
                numbers[term].append(number)
    for index, term in enumerate(features.terms, start=1):
        if term in numbers:
            deviation = float(np.std(numbers[term]))
            centres[index] = np.mean(numbers[term])
            is_spread = deviation > MIN_DEVIATION * max(abs(centres[index]), MIN_DEVIATION)
            scales[index] = 1.0 / deviation if is_spread else 0.0
    return centres, scales


def _tables(features: ActionFeatures, centres: Floats, scales: Floats) -> tuple[Int32s, Floats]:
    """The terms of each action that are not 0, the constant first, and their numbers; then -1 and 0."""
    if not features.terms:
        return np.zeros((0, 0), np.int32), np.zeros((0, 0))
    shape = len(features.actions), n_active_of(features)
    terms, values = np.full(shape, -1, np.int32), np.zeros(shape)
    index_of = {term: index for index, term in enumerate(features.terms, start=1)}
    for row, action in enumerate(features.actions):
        if not features.described.get(action):
            continue
        terms[row, 0], values[row, 0], n = 0, 1.0, 1
        for term, number in numbers_of(features.described[action]):
            index = index_of[term]
            value = (number - centres[index]) * scales[index]
            if value != 0.0:
                terms[row, n], values[row, n] = index, min(max(value, -MAX_SDS), MAX_SDS)
                n += 1
    return terms, values
