"""Leaf predictors: the majority class or mean of all events, that of the recent events, or naive Bayes.

An adaptive leaf predicts with the one that was right more often of late: with all events unless another is clearly
better.
"""

import math

import numpy as np

from stumpery.array_forest.forest_kernels import NO_INDEX, Float32s
from stumpery.jit import internal
from stumpery.streaming.trees import naive_bayes_kernels as naive_bayes
from stumpery.streaming.trees.split_search_kernels import VARIANCE
from stumpery.streaming.trees.state_kernels import (
    ADAPTIVE,
    FLAG_TABLE,
    MAJORITY,
    MOMENT_MEAN,
    MOMENT_SQUARES,
    MOMENT_WEIGHT,
    N_LEAF_PREDICTORS,
    NAIVE_BAYES,
    OPTION_CRITERION,
    OPTION_LEAF_PREDICTOR,
    RECENT,
    ROW_ALL,
    ROW_INHERITED,
    ROW_RECENT,
    StreamState,
)
from stumpery.types import Floats

INHERITED_WEIGHT = 1.0  # events that the inherited statistics count as
RECENT_DECAY = np.float32(0.8)  # of the recent statistics, with each event
RECENT_DECAYS = (np.float64(RECENT_DECAY) ** np.arange(32)).astype(np.float32)
SCORE_DECAY = np.float32(0.995)  # of predictor scores, with each event
MIN_LEAD = np.float32(0.5)  # over the majority's score, in its square roots
MAX_WEIGHT = np.float32(2.0**23)  # of a class or of all numbers in a leaf: above it all are halved


@internal
def fill_class_probabilities(stats: Float32s, stat_row: int, shares: Floats) -> bool:
    """Write the probabilities of classes by a row of a leaf's statistics, in place; False before the first event."""
    n_classes = shares.shape[0]
    total = 0.0
    for label in range(n_classes):
        shares[label] = np.float64(stats[stat_row, label]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, label])
        total += shares[label]
    if total == 0.0:
        return False
    total = 1.0 / total
    for label in range(n_classes):
        shares[label] *= total
    return True


@internal
def apply_naive_bayes(model: StreamState, leaf: int, row: Floats, shares: Floats) -> None:
    """Turn the shares of classes, the prior, into naive Bayes' posterior of a row in a leaf, in place."""
    n_classes = shares.shape[0]
    for label in range(n_classes):
        shares[label] = math.log(shares[label]) if shares[label] > 0.0 else -np.inf
    naive_bayes.add_log_probabilities(
        model.bayes, model.flags[leaf, FLAG_TABLE], row, model.forest.kinds, model.doubles, shares
    )
    top = shares[argmax(shares)]
    total = 0.0
    for label in range(n_classes):
        shares[label] = math.exp(shares[label] - top)
        total += shares[label]
    for label in range(n_classes):
        shares[label] /= total


@internal
def argmax(values: Floats) -> int:
    """The index of the largest value, the first of equal ones."""
    best = 0
    for index in range(1, values.shape[0]):
        if values[index] > values[best]:
            best = index
    return best


@internal
def majority_class(stats: Float32s, stat_row: int) -> int:
    """The most probable class by a row of a leaf's statistics, the first of equal ones."""
    majority, max_weight = 0, np.float64(stats[stat_row, 0]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, 0])
    for label in range(1, stats.shape[1]):
        weight = np.float64(stats[stat_row, label]) + INHERITED_WEIGHT * np.float64(stats[ROW_INHERITED, label])
        if weight > max_weight:
            majority, max_weight = label, weight
    return majority


@internal
def select_predictor(scores: Float32s, options: Floats) -> int:
    """The leaf predictor that a leaf uses."""
    if options[OPTION_LEAF_PREDICTOR] != ADAPTIVE:
        return int(options[OPTION_LEAF_PREDICTOR])
    threshold = scores[MAJORITY] + MIN_LEAD * np.sqrt(scores[MAJORITY])
    best = MAJORITY
    for predictor in range(RECENT, N_LEAF_PREDICTORS):
        if scores[predictor] > threshold:
            threshold, best = scores[predictor], predictor
    return best


@internal
def predict(model: StreamState, leaf: int, row: Floats, options: Floats, output: Floats) -> None:
    """Write a leaf's class probabilities, or the number that it predicts, in place."""
    predictor = select_predictor(model.predictor_scores[leaf], options)
    stat_row = ROW_RECENT if predictor == RECENT else ROW_ALL
    if options[OPTION_CRITERION] == VARIANCE:
        output[0] = predicted_mean(model.forest.stats[leaf], stat_row)
        return
    has_events = fill_class_probabilities(model.forest.stats[leaf], stat_row, output)
    if has_events and predictor == NAIVE_BAYES and model.flags[leaf, FLAG_TABLE] != NO_INDEX:
        apply_naive_bayes(model, leaf, row, output)


@internal
def predicted_mean(stats: Float32s, stat_row: int) -> float:
    """The mean by a row of a leaf's statistics, shrunk towards what was inherited."""
    count, mean = np.float64(stats[stat_row, MOMENT_WEIGHT]), np.float64(stats[stat_row, MOMENT_MEAN])
    inherited, weight = np.float64(stats[ROW_INHERITED, MOMENT_MEAN]), np.float64(stats[ROW_INHERITED, MOMENT_WEIGHT])
    return float(inherited + (mean - inherited) * count / (count + INHERITED_WEIGHT * weight + 1e-30))


@internal
def decay_of(weight: float) -> np.float32:
    """The factor by which an event that counts `weight` times decays the recent statistics."""
    times = int(weight)
    if times == weight and times < RECENT_DECAYS.shape[0]:
        return np.float32(RECENT_DECAYS[times])
    return np.float32(np.float64(RECENT_DECAY) ** weight)


@internal
def learn_class(stats: Float32s, scores: Float32s, label: int, weight: float, options: Floats) -> None:
    """Score the leaf predictors, then add an event to a leaf's weights of classes, in place."""
    if options[OPTION_LEAF_PREDICTOR] == ADAPTIVE:
        scores[MAJORITY] = scores[MAJORITY] * SCORE_DECAY + np.float32(majority_class(stats, ROW_ALL) == label)
        scores[RECENT] = scores[RECENT] * SCORE_DECAY + np.float32(majority_class(stats, ROW_RECENT) == label)
    total, recent = stats[ROW_ALL], stats[ROW_RECENT]
    decay = decay_of(weight)
    for index in range(recent.shape[0]):
        recent[index] *= decay
    recent[label] += (np.float32(1.0) - decay) / (np.float32(1.0) - RECENT_DECAY)
    total[label] += np.float32(weight)
    if total[label] > MAX_WEIGHT:
        for index in range(total.shape[0]):
            total[index] *= np.float32(0.5)


@internal
def score_naive_bayes(model: StreamState, leaf: int, row: Floats, label: int, shares: Floats) -> None:
    """Score naive Bayes on an event before a leaf learns it, in place."""
    if fill_class_probabilities(model.forest.stats[leaf], ROW_ALL, shares):
        apply_naive_bayes(model, leaf, row, shares)
        scores = model.predictor_scores[leaf]
        scores[NAIVE_BAYES] = scores[NAIVE_BAYES] * SCORE_DECAY + np.float32(argmax(shares) == label)


@internal
def learn_number(stats: Float32s, scores: Float32s, number: float, weight: float, options: Floats) -> None:
    """Score the leaf predictors, then add an event to a leaf's moments of numbers, in place."""
    if options[OPTION_LEAF_PREDICTOR] == ADAPTIVE:
        nearer = abs(predicted_mean(stats, ROW_RECENT) - number) < abs(predicted_mean(stats, ROW_ALL) - number)
        scores[MAJORITY] = scores[MAJORITY] * SCORE_DECAY + np.float32(not nearer)
        scores[RECENT] = scores[RECENT] * SCORE_DECAY + np.float32(nearer)
    update_moments(stats[ROW_ALL], number, weight)
    decay = decay_of(weight)
    stats[ROW_RECENT, MOMENT_WEIGHT] *= decay
    stats[ROW_RECENT, MOMENT_SQUARES] *= decay
    update_moments(stats[ROW_RECENT], number, np.float64((np.float32(1.0) - decay) / (np.float32(1.0) - RECENT_DECAY)))


@internal
def update_moments(row: Float32s, number: float, weight: float) -> None:
    """Add a number to a weight, a mean and squared deviations, in place."""
    count = np.float64(row[MOMENT_WEIGHT]) + weight
    distance = number - np.float64(row[MOMENT_MEAN])
    mean = np.float64(row[MOMENT_MEAN]) + distance * weight / count
    share = 0.5 if count > MAX_WEIGHT else 1.0
    row[MOMENT_SQUARES] = (np.float64(row[MOMENT_SQUARES]) + weight * distance * (number - mean)) * share
    row[MOMENT_WEIGHT] = count * share
    row[MOMENT_MEAN] = mean
