"""Rounds of online feature selection (Durand and Gagné 2014, Algorithm 2).

A round: choose features, look at those alone, standardise, score, compare with the class c, learn. Classes are -1 and
1. A score p of exactly 0 is read in two ways, as the paper prints them: for the chooser it is a success, H(p c) = 1 iff
p c >= 0 (Algorithm 2); for OFS p c <= 0 is a mistake (Algorithm 3). The perceptron and the additive model predict 1
there (Algorithm 4).
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.selection import additive_kernels as tables
from stumpery.selection import choosers_kernels as choosing
from stumpery.selection import classifiers_kernels as classifiers
from stumpery.selection.choosers_kernels import FeatureArms
from stumpery.selection.classifiers_kernels import ADDITIVE, NETWORK, PERCEPTRON, SPARSE
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, RandomState


class ClassifierState(NamedTuple):
    """The state of a classifier."""

    options: Floats  # (N_OPTIONS,)
    weights: Floats  # their layout depends on the kind
    squared_slopes: Floats  # AdaGrad's sums of squared slopes, one per weight of the additive model
    statistics: Floats  # (features, N_FEATURE_STATS) of the additive model
    columns: Floats  # (features, 3): moments of the values read


class RoundBuffers(NamedTuple):
    """Scratch buffers of one round."""

    scores: Floats  # (features,)
    best: Floats  # (features,)
    asked: Integers  # (features,): those chosen
    seen: Integers  # (features,): those of them that are not missing
    x: Floats  # (features,): their standardised values
    kept: Integers  # (features,)
    units: Floats  # (hidden units,)
    bins: Integers  # (features,)
    slots: Integers  # (pairs,)
    contributions: Floats  # (features,)


@internal
def new_round_buffers(options: Floats) -> RoundBuffers:
    """Buffers for the largest set of features."""
    n, size = int(options[classifiers.OPTION_N_FEATURES]), int(options[classifiers.OPTION_SIZE])
    n_pairs = size * (size - 1) // 2 if options[classifiers.OPTION_PAIRS] > 0.0 else 0
    return RoundBuffers(
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(max(int(options[classifiers.OPTION_N_HIDDEN]), 1)),
        np.empty(n, dtype=np.int64),
        np.empty(max(n_pairs, 1), dtype=np.int64),
        np.empty(n),
    )


@internal
def standardised_value(columns: Floats, feature: int, value: float) -> float:
    """A value in standard deviations from the mean of earlier values; 0 as long as these are equal.

    It is clipped at sqrt(n) deviations, the largest that one of n values can have.
    """
    count, squares = columns[feature, moments.COUNT], columns[feature, moments.SQUARES]
    if squares <= 0.0:
        return 0.0
    limit = math.sqrt(count)
    deviations: float = (value - columns[feature, moments.MEAN]) / math.sqrt(squares / count)
    return min(max(deviations, -limit), limit)


@internal
def read_values(model: ClassifierState, asked: Integers, n_asked: int, values: Floats, buffers: RoundBuffers) -> int:
    """Write the values that are not missing into the buffers, standardised; return how many."""
    n_seen = 0
    for index in range(n_asked):
        value = values[index]
        if not math.isnan(value):
            if model.options[classifiers.OPTION_STANDARDISE] > 0.0:
                value = standardised_value(model.columns, asked[index], value)
            buffers.seen[n_seen], buffers.x[n_seen] = asked[index], value
            n_seen += 1
    return n_seen


@internal
def score_round(model: ClassifierState, n_seen: int, buffers: RoundBuffers) -> float:
    """The classifier's score, whose sign is the predicted class."""
    kind = int(model.options[classifiers.OPTION_KIND])
    if kind == NETWORK:
        output = classifiers.network_output(
            model.options, model.weights, buffers.seen, n_seen, buffers.x, buffers.units
        )
        return 2.0 * output - 1.0 if model.options[classifiers.OPTION_LOGISTIC] > 0.0 else output
    if kind == ADDITIVE:
        return tables.additive_score(
            model.options,
            model.weights,
            model.statistics,
            buffers.seen,
            n_seen,
            buffers.x,
            buffers.bins,
            buffers.slots,
            buffers.contributions,
        )
    total = classifiers.linear_score(model.weights, buffers.seen, n_seen, buffers.x)
    if kind == PERCEPTRON:
        return 1.0 if total >= 0.0 else -1.0
    return total


@internal
def update_classifier(model: ClassifierState, n_seen: int, buffers: RoundBuffers, score: float, label: float) -> None:
    """Update the classifier by the class of the event in the buffers, in place."""
    options, weights, kind = model.options, model.weights, int(model.options[classifiers.OPTION_KIND])
    size = int(options[classifiers.OPTION_SIZE])
    if kind == NETWORK:
        is_logistic = options[classifiers.OPTION_LOGISTIC] > 0.0
        output = 0.5 + 0.5 * score if is_logistic else score
        target = 0.5 + 0.5 * label if is_logistic else label
        classifiers.network_step(options, weights, buffers.seen, n_seen, buffers.x, buffers.units, output, target)
    elif kind == ADDITIVE:
        tables.additive_step(
            options,
            weights,
            model.squared_slopes,
            model.statistics,
            buffers.seen,
            n_seen,
            buffers.bins,
            buffers.slots,
            buffers.contributions,
            score,
            label,
        )
    elif kind == SPARSE:
        if score * label <= 0.0:
            classifiers.sparse_step(options, weights, buffers.seen, n_seen, buffers.x, label)
            classifiers.truncate(weights, size, buffers.scores, buffers.kept, buffers.best)
    elif score * label < 0.0:
        classifiers.perceptron_step(options, weights, buffers.seen, n_seen, buffers.x, label)
        if options[classifiers.OPTION_TRUNCATE] > 0.0:
            classifiers.truncate(weights, size, buffers.scores, buffers.kept, buffers.best)


@internal
def is_mistake(model: ClassifierState, score: float, label: float) -> bool:
    """Whether the round is a mistake; a score of 0 is one for OFS only."""
    kind = int(model.options[classifiers.OPTION_KIND])
    if kind == SPARSE:
        return score * label <= 0.0
    if kind == ADDITIVE:
        return (score >= 0.0) != (label > 0.0)
    return score * label < 0.0


@internal
def is_success(model: ClassifierState, score: float, label: float) -> bool:
    """Whether the chooser is rewarded: H(p c), and for the other classifiers whether it is no mistake."""
    return (
        score * label >= 0.0
        if int(model.options[classifiers.OPTION_KIND]) == SPARSE
        else not is_mistake(model, score, label)
    )


@internal
def choose_set(rng: RandomState, rule: Floats, arms: FeatureArms, model: ClassifierState, buffers: RoundBuffers) -> int:
    """Write the selected features into the buffers; return how many."""
    kind = int(rule[choosing.RULE_KIND])
    if kind == choosing.EPSILON_GREEDY:
        classifiers.fill_weight_magnitudes(model.options, model.weights, buffers.scores)
    elif kind == choosing.LOSS_REDUCTION:
        tables.fill_loss_reduction_draws(
            rng, model.statistics, rule[choosing.RULE_FIRST], rule[choosing.RULE_WIDTH], buffers.scores
        )
    return choosing.choose(rng, rule, arms, buffers.scores, buffers.asked, buffers.best)


@internal
def learn_round(
    arms: FeatureArms,
    model: ClassifierState,
    asked: Integers,
    n_asked: int,
    values: Floats,
    buffers: RoundBuffers,
    label: float,
) -> tuple[float, bool]:
    """Score, compare and learn, in place; return the score and whether it was a mistake."""
    n_seen = read_values(model, asked, n_asked, values, buffers)
    score = score_round(model, n_seen, buffers)
    update_classifier(model, n_seen, buffers, score, label)
    choosing.reward_set(arms, asked, n_asked, 1.0 if is_success(model, score, label) else 0.0)
    if model.options[classifiers.OPTION_STANDARDISE] > 0.0:
        for index in range(n_asked):
            if not math.isnan(values[index]):
                moments.add(model.columns, asked[index], values[index], 1.0)
    return score, is_mistake(model, score, label)


@kernel
def ask(rng: RandomState, rule: Floats, arms: FeatureArms, model: ClassifierState) -> Integers:
    """Select the features of the next round."""
    buffers = new_round_buffers(model.options)
    return buffers.asked[: choose_set(rng, rule, arms, model, buffers)]


@kernel
def predict(model: ClassifierState, asked: Integers, values: Floats) -> float:
    """The score of one event from the values of its selected features."""
    buffers = new_round_buffers(model.options)
    return score_round(model, read_values(model, asked, asked.shape[0], values, buffers), buffers)


@kernel
def tell(
    arms: FeatureArms, model: ClassifierState, asked: Integers, values: Floats, label: float
) -> tuple[float, bool]:
    """Learn the class of one event, in place; return its score and whether that was a mistake."""
    return learn_round(arms, model, asked, asked.shape[0], values, new_round_buffers(model.options), label)


@kernel
def reward(arms: FeatureArms, asked: Integers, success: float) -> None:
    """Learn the reward of a set in the chooser only, in place."""
    choosing.reward_set(arms, asked, asked.shape[0], success)


@kernel
def play(
    rng: RandomState,
    rule: Floats,
    arms: FeatureArms,
    model: ClassifierState,
    rows: Floats,
    labels: Floats,
    order: Integers,
    scores: Floats,
    mistakes: np.ndarray,
    spent: Floats,
    looks: Integers,
) -> None:
    """Play a round for each row in `order`; write scores, mistakes, prices and looks into the last four, in place."""
    buffers, values = new_round_buffers(model.options), np.empty(rows.shape[1])
    for turn in range(order.shape[0]):
        row = order[turn]
        n_asked = choose_set(rng, rule, arms, model, buffers)
        for index in range(n_asked):
            feature = buffers.asked[index]
            values[index] = rows[row, feature]
            spent[turn] += arms.facts[feature, choosing.FEATURE_PRICE]
            looks[feature] += 1
        scores[turn], mistakes[turn] = learn_round(arms, model, buffers.asked, n_asked, values, buffers, labels[row])


@kernel
def log_loss_reductions(statistics: Floats) -> Floats:
    """Twice the log-loss per event that each feature saves."""
    reductions = np.empty(statistics.shape[0])
    for feature in range(statistics.shape[0]):
        reductions[feature] = tables.log_loss_reduction(statistics, feature)
    return reductions
