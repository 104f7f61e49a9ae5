"""One round of online feature selection, and many (Durand and Gagné 2014, Algorithm 2).

A round: choose features, look at those alone, standardise, score, compare with the class, learn. Classes are -1 and 1.
Two readings of a score p of exactly 0 stand side by side, as printed: for the chooser it is a success, H(p c) = 1 iff
p c >= 0 (Algorithm 2), while OFS takes p c <= 0 for a mistake (Algorithm 3). The perceptron and the additive model say
1 there (Algorithm 4).
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.selection import additive_kernels as tables
from stumpery.selection import choosers_kernels as choosing
from stumpery.selection import classifiers_kernels as classifiers
from stumpery.selection.choosers_kernels import Arms
from stumpery.selection.classifiers_kernels import ADDITIVE, NETWORK, PERCEPTRON, SPARSE
from stumpery.summaries import moments_kernels as moments
from stumpery.types import Floats, Integers, RandomState


class Model(NamedTuple):
    """A classifier and what it knows."""

    options: Floats  # (N_OPTIONS,)
    weights: Floats  # by the kind of classifier
    paces: Floats  # the additive model's squared steps, one for each weight
    grounds: Floats  # (features, N_GROUNDS) of the additive model
    columns: Floats  # (features, 3): moments of what was looked at


class Desk(NamedTuple):
    """Room for one round's work; nothing on it outlives the round."""

    scores: Floats  # (features,)
    best: Floats  # (features,)
    asked: Integers  # (features,): what was chosen
    seen: Integers  # (features,): what of it was not missing
    x: Floats  # (features,): its standardised values
    kept: Integers  # (features,)
    units: Floats  # (hidden units,)
    bins: Integers  # (features,)
    slots: Integers  # (pairs,)
    own: Floats  # (features,)


@internal
def new_desk(options: Floats) -> Desk:
    """Room for as many features as may be looked at."""
    n, most = int(options[classifiers.N_FEATURES]), int(options[classifiers.SIZE])
    n_pairs = most * (most - 1) // 2 if options[classifiers.PAIRS] > 0.0 else 0
    return Desk(
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(max(int(options[classifiers.N_HIDDEN]), 1)),
        np.empty(n, dtype=np.int64),
        np.empty(max(n_pairs, 1), dtype=np.int64),
        np.empty(n),
    )


@internal
def standard(columns: Floats, feature: int, value: float) -> float:
    """A value in standard deviations from the mean of those seen before; 0 while they do not differ.

    Of n values none lies more than sqrt(n) deviations off, so nothing counts for more.
    """
    count, squares = columns[feature, moments.COUNT], columns[feature, moments.SQUARES]
    if squares <= 0.0:
        return 0.0
    reach = math.sqrt(count)
    deviations: float = (value - columns[feature, moments.MEAN]) / math.sqrt(squares / count)
    return min(max(deviations, -reach), reach)


@internal
def look(model: Model, asked: Integers, n_asked: int, values: Floats, desk: Desk) -> int:
    """Put what was looked at and is not missing on the desk, standardised; give its number."""
    n_seen = 0
    for place in range(n_asked):
        value = values[place]
        if not math.isnan(value):
            if model.options[classifiers.STANDARDISE] > 0.0:
                value = standard(model.columns, asked[place], value)
            desk.seen[n_seen], desk.x[n_seen] = asked[place], value
            n_seen += 1
    return n_seen


@internal
def score_seen(model: Model, n_seen: int, desk: Desk) -> float:
    """The classifier's score: its sign is the class."""
    kind = int(model.options[classifiers.KIND])
    if kind == NETWORK:
        output = classifiers.network(model.options, model.weights, desk.seen, n_seen, desk.x, desk.units)
        return 2.0 * output - 1.0 if model.options[classifiers.LOGISTIC] > 0.0 else output
    if kind == ADDITIVE:
        return tables.additive(
            model.options, model.weights, model.grounds, desk.seen, n_seen, desk.x, desk.bins, desk.slots, desk.own
        )
    total = classifiers.linear(model.weights, desk.seen, n_seen, desk.x)
    if kind == PERCEPTRON:
        return 1.0 if total >= 0.0 else -1.0
    return total


@internal
def learn_seen(model: Model, n_seen: int, desk: Desk, score: float, label: float) -> None:
    """Learn from the class of what is on the desk, in place."""
    options, weights, kind = model.options, model.weights, int(model.options[classifiers.KIND])
    size = int(options[classifiers.SIZE])
    if kind == NETWORK:
        is_logistic = options[classifiers.LOGISTIC] > 0.0
        output = 0.5 + 0.5 * score if is_logistic else score
        target = 0.5 + 0.5 * label if is_logistic else label
        classifiers.network_step(options, weights, desk.seen, n_seen, desk.x, desk.units, output, target)
    elif kind == ADDITIVE:
        tables.additive_step(
            options,
            weights,
            model.paces,
            model.grounds,
            desk.seen,
            n_seen,
            desk.bins,
            desk.slots,
            desk.own,
            score,
            label,
        )
    elif kind == SPARSE:
        if score * label <= 0.0:
            classifiers.sparse_step(options, weights, desk.seen, n_seen, desk.x, label)
            classifiers.truncate(weights, size, desk.scores, desk.kept, desk.best)
    elif score * label < 0.0:
        classifiers.perceptron_step(options, weights, desk.seen, n_seen, desk.x, label)
        if options[classifiers.TRUNCATE] > 0.0:
            classifiers.truncate(weights, size, desk.scores, desk.kept, desk.best)


@internal
def is_mistake(model: Model, score: float, label: float) -> bool:
    """Whether the round counts as a mistake; only OFS takes a score of 0 for one."""
    kind = int(model.options[classifiers.KIND])
    if kind == SPARSE:
        return score * label <= 0.0
    if kind == ADDITIVE:
        return (score >= 0.0) != (label > 0.0)
    return score * label < 0.0


@internal
def is_success(model: Model, score: float, label: float) -> bool:
    """Whether the chooser is rewarded: H(p c), and for the additive model what is not a mistake."""
    return (
        score * label >= 0.0 if int(model.options[classifiers.KIND]) == SPARSE else not is_mistake(model, score, label)
    )


@internal
def choose_set(rng: RandomState, rule: Floats, arms: Arms, model: Model, desk: Desk) -> int:
    """Put the features to look at on the desk; give their number."""
    kind = int(rule[choosing.KIND])
    if kind == choosing.EPSILON_GREEDY:
        classifiers.fill_sizes(model.options, model.weights, desk.scores)
    elif kind == choosing.WORTH:
        tables.fill_worths(rng, model.grounds, rule[choosing.FIRST], rule[choosing.WIDTH], desk.scores)
    return choosing.choose(rng, rule, arms, desk.scores, desk.asked, desk.best)


@internal
def learn_round(
    arms: Arms, model: Model, asked: Integers, n_asked: int, values: Floats, desk: Desk, label: float
) -> tuple[float, bool]:
    """Score, compare, learn, in place; give the score and whether it was a mistake."""
    n_seen = look(model, asked, n_asked, values, desk)
    score = score_seen(model, n_seen, desk)
    learn_seen(model, n_seen, desk, score, label)
    choosing.credit(arms, asked, n_asked, 1.0 if is_success(model, score, label) else 0.0)
    if model.options[classifiers.STANDARDISE] > 0.0:
        for place in range(n_asked):
            if not math.isnan(values[place]):
                moments.add(model.columns, asked[place], values[place], 1.0)
    return score, is_mistake(model, score, label)


@kernel
def ask(rng: RandomState, rule: Floats, arms: Arms, model: Model) -> Integers:
    """The features to look at next."""
    desk = new_desk(model.options)
    return desk.asked[: choose_set(rng, rule, arms, model, desk)]


@kernel
def predict(model: Model, asked: Integers, values: Floats) -> float:
    """The score of one event, from the values of what was asked."""
    desk = new_desk(model.options)
    return score_seen(model, look(model, asked, asked.shape[0], values, desk), desk)


@kernel
def tell(arms: Arms, model: Model, asked: Integers, values: Floats, label: float) -> tuple[float, bool]:
    """Learn the class of one event, in place; give its score and whether that was a mistake."""
    return learn_round(arms, model, asked, asked.shape[0], values, new_desk(model.options), label)


@kernel
def reward(arms: Arms, asked: Integers, success: float) -> None:
    """Fold the reward of a set into the chooser alone, in place."""
    choosing.credit(arms, asked, asked.shape[0], success)


@kernel
def play(
    rng: RandomState,
    rule: Floats,
    arms: Arms,
    model: Model,
    rows: Floats,
    labels: Floats,
    order: Integers,
    scores: Floats,
    mistakes: np.ndarray,
    spent: Floats,
    looks: Integers,
) -> None:
    """A round for each row that `order` names; scores, mistakes, money and looks go into the last four, in place."""
    desk, values = new_desk(model.options), np.empty(rows.shape[1])
    for turn in range(order.shape[0]):
        row = order[turn]
        n_asked = choose_set(rng, rule, arms, model, desk)
        for place in range(n_asked):
            feature = desk.asked[place]
            values[place] = rows[row, feature]
            spent[turn] += arms.facts[feature, choosing.PRICE]
            looks[feature] += 1
        scores[turn], mistakes[turn] = learn_round(arms, model, desk.asked, n_asked, values, desk, labels[row])


@kernel
def worths(grounds: Floats) -> Floats:
    """Twice the log-loss that each feature can save per event."""
    found = np.empty(grounds.shape[0])
    for feature in range(grounds.shape[0]):
        found[feature] = tables.worth(grounds, feature)
    return found
