"""What a leaf of a stream's tree knows and predicts.

For classes it keeps the weight of each, for numbers their weight, mean and squared distances, each over all its events
and over the latest ones, and what it inherited. Three guess: all events, the latest ones, and for classes naive Bayes.
An adaptive leaf follows the one that was right more often of late; the first one unless another is clearly better.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.array_forest.forest_kernels import NO_INDEX, Float32s, ForestState, Int32s
from stumpery.array_forest.precision_kernels import Doubles
from stumpery.drift.adaptive_window_kernels import AdaptiveWindows
from stumpery.jit import internal
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.naive_bayes_kernels import NaiveBayesTables
from stumpery.types import Floats

ROW_ALL, ROW_INHERITED, ROW_RECENT = range(3)  # of a leaf's statistics
N_STAT_ROWS = 3
MOMENT_WEIGHT, MOMENT_MEAN, MOMENT_SQUARES = range(3)  # of such a row, where numbers are predicted
N_MOMENTS = 3
MAJORITY, RECENT, NAIVE_BAYES = range(3)  # who guesses
N_LEAF_PREDICTORS = 3
FLAG_DEPTH, FLAG_TABLE, FLAG_DEACTIVATED = range(3)  # of a leaf's marks
N_FLAGS = 3
(
    RULE_GRACE_PERIOD,
    RULE_DELTA,
    RULE_TAU,
    RULE_CRITERION,
    RULE_LEAF_PREDICTOR,
    RULE_MAX_DEPTH,
    RULE_N_DRAWN,
    RULE_TIMES,
    RULE_WARNING_DELTA,
    RULE_DRIFT_DELTA,
    RULE_MULTIWAY,
) = range(11)  # of the rule
N_RULE_FIELDS = 11
ADAPTIVE = 3  # beside the leaf_predictors
INHERITED_WEIGHT = 1.0  # events that what is inherited is worth
RECENT_DECAY = np.float32(0.8)  # of the latest events, with each one that comes
RECENT_DECAYS = (np.float64(RECENT_DECAY) ** np.arange(32)).astype(np.float32)
SCORE_DECAY = np.float32(0.995)  # of what the leaf_predictors were right about
MIN_LEAD = np.float32(0.5)  # in roots of the majority's score, that another must have
MAX_WEIGHT = np.float32(2.0**23)  # of a class or of all numbers in a leaf: at this all are halved


class StreamState(NamedTuple):
    """What the trees have learned."""

    forest: ForestState  # its statistics: (leaves, N_ROWS, classes or moments)
    events: Float32s  # (events, columns + 2): label and weight last
    flags: Int32s  # (leaves, N_MARKS)
    predictor_scores: Float32s  # (leaves, N_GUESSERS)
    bayes: NaiveBayesTables
    windows: AdaptiveWindows
    votes: Floats  # (trees, 2): fading sums of what was right, and of events
    standby: Int32s  # (trees,): whether a tree grows in the background
    importances: Floats  # (columns,)
    label_moments: Floats  # (N_MOMENTS,): of all numbers to predict
    doubles: Doubles


@internal
def fill_class_probabilities(stats: Float32s, place: int, shares: Floats) -> bool:
    """Write the shares of classes by all events or by the latest, in place; whether there are any."""
    n_classes = shares.shape[0]
    total = 0.0
    for each in range(n_classes):
        shares[each] = np.float64(stats[place, each]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, each])
        total += shares[each]
    if total == 0.0:  # before the first event a leaf says nothing
        return False
    total = 1.0 / total
    for each in range(n_classes):
        shares[each] *= total
    return True


@internal
def apply_naive_bayes(model: StreamState, leaf: int, row: Floats, shares: Floats) -> None:
    """Turn the shares of classes into what naive Bayes makes of them in a leaf, in place."""
    n_classes = shares.shape[0]
    for each in range(n_classes):
        shares[each] = math.log(shares[each]) if shares[each] > 0.0 else -np.inf
    naive_bayes.add_log_probabilities(
        model.bayes, model.flags[leaf, FLAG_TABLE], row, model.forest.kinds, model.doubles, shares
    )
    top = shares[argmax(shares)]
    total = 0.0
    for each in range(n_classes):
        shares[each] = math.exp(shares[each] - top)
        total += shares[each]
    for each in range(n_classes):
        shares[each] /= total


@internal
def argmax(values: Floats) -> int:
    """The place of the largest value, the first of equal ones."""
    found = 0
    for place in range(1, values.shape[0]):
        if values[place] > values[found]:
            found = place
    return found


@internal
def majority_class(stats: Float32s, place: int) -> int:
    """The likeliest class by all events or by the latest, the first of equal ones."""
    found, best = 0, np.float64(stats[place, 0]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, 0])
    for each in range(1, stats.shape[1]):
        weight = np.float64(stats[place, each]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, each])
        if weight > best:
            found, best = each, weight
    return found


@internal
def select_predictor(scores: Float32s, rule: Floats) -> int:
    """Whom a leaf follows."""
    if rule[RULE_LEAF_PREDICTOR] != ADAPTIVE:
        return int(rule[RULE_LEAF_PREDICTOR])
    bar = scores[MAJORITY] + MIN_LEAD * np.sqrt(scores[MAJORITY])
    found = MAJORITY
    for predictor in range(RECENT, N_LEAF_PREDICTORS):
        if scores[predictor] > bar:
            bar, found = scores[predictor], predictor
    return found


@internal
def predict(model: StreamState, leaf: int, row: Floats, rule: Floats, output: Floats) -> None:
    """Write a leaf's shares of classes, or the number that it expects, in place."""
    predictor = select_predictor(model.predictor_scores[leaf], rule)
    place = ROW_RECENT if predictor == RECENT else ROW_ALL
    if rule[RULE_CRITERION] == VARIANCE:
        output[0] = predicted_mean(model.forest.stats[leaf], place)
        return
    says = fill_class_probabilities(model.forest.stats[leaf], place, output)
    if says and predictor == NAIVE_BAYES and model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        apply_naive_bayes(model, leaf, row, output)


@internal
def predicted_mean(stats: Float32s, place: int) -> float:
    """The number to expect by all events or by the latest."""
    count, mean = np.float64(stats[place, MOMENT_WEIGHT]), np.float64(stats[place, MOMENT_MEAN])
    inherited, weight = np.float64(stats[ROW_INHERITED, MOMENT_MEAN]), np.float64(stats[ROW_INHERITED, MOMENT_WEIGHT])
    return float(inherited + (mean - inherited) * count / (count + INHERITED_WEIGHT * weight + 1e-30))


@internal
def decay_of(weight: float) -> np.float32:
    """What is left of the latest events after one that counts `weight` times."""
    times = int(weight)
    if times == weight and times < RECENT_DECAYS.shape[0]:
        return np.float32(RECENT_DECAYS[times])
    return np.float32(np.float64(RECENT_DECAY) ** weight)


@internal
def learn_class(stats: Float32s, scores: Float32s, label: int, weight: float, rule: Floats) -> None:
    """Let all events and the latest guess, then fold one event into a leaf's weights, in place."""
    if rule[RULE_LEAF_PREDICTOR] == ADAPTIVE:
        scores[MAJORITY] = scores[MAJORITY] * SCORE_DECAY + np.float32(majority_class(stats, ROW_ALL) == label)
        scores[RECENT] = scores[RECENT] * SCORE_DECAY + np.float32(majority_class(stats, ROW_RECENT) == label)
    everything, latest = stats[ROW_ALL], stats[ROW_RECENT]
    fading = decay_of(weight)
    for each in range(latest.shape[0]):
        latest[each] *= fading
    latest[label] += (np.float32(1.0) - fading) / (np.float32(1.0) - RECENT_DECAY)
    everything[label] += np.float32(weight)
    if everything[label] > MAX_WEIGHT:
        for each in range(everything.shape[0]):
            everything[each] *= np.float32(0.5)


@internal
def score_naive_bayes(model: StreamState, leaf: int, row: Floats, label: int, shares: Floats) -> None:
    """Let naive Bayes guess before a leaf learns an event, in place."""
    if fill_class_probabilities(model.forest.stats[leaf], ROW_ALL, shares):
        apply_naive_bayes(model, leaf, row, shares)
        scores = model.predictor_scores[leaf]
        scores[NAIVE_BAYES] = scores[NAIVE_BAYES] * SCORE_DECAY + np.float32(argmax(shares) == label)


@internal
def learn_number(stats: Float32s, scores: Float32s, number: float, weight: float, rule: Floats) -> None:
    """Let all events and the latest guess, then fold one event into a leaf's moments, in place."""
    if rule[RULE_LEAF_PREDICTOR] == ADAPTIVE:
        nearer = abs(predicted_mean(stats, ROW_RECENT) - number) < abs(predicted_mean(stats, ROW_ALL) - number)
        scores[MAJORITY] = scores[MAJORITY] * SCORE_DECAY + np.float32(not nearer)
        scores[RECENT] = scores[RECENT] * SCORE_DECAY + np.float32(nearer)
    update_moments(stats[ROW_ALL], number, weight)
    fading = decay_of(weight)
    stats[ROW_RECENT, MOMENT_WEIGHT] *= fading
    stats[ROW_RECENT, MOMENT_SQUARES] *= fading
    update_moments(stats[ROW_RECENT], number, np.float64((np.float32(1.0) - fading) / (np.float32(1.0) - RECENT_DECAY)))


@internal
def update_moments(row: Float32s, number: float, weight: float) -> None:
    """Fold a number into a weight, a mean and squared distances, in place."""
    count = np.float64(row[MOMENT_WEIGHT]) + weight
    distance = number - np.float64(row[MOMENT_MEAN])
    mean = np.float64(row[MOMENT_MEAN]) + distance * weight / count
    kept = 0.5 if count > MAX_WEIGHT else 1.0
    row[MOMENT_SQUARES] = (np.float64(row[MOMENT_SQUARES]) + weight * distance * (number - mean)) * kept
    row[MOMENT_WEIGHT] = count * kept
    row[MOMENT_MEAN] = mean
