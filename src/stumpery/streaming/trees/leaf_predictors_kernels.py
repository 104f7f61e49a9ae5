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
from stumpery.drift.adaptive_window_kernels import Windows
from stumpery.jit import internal
from stumpery.streaming.trees import naive_bayes_kernels as bayes_kernels
from stumpery.streaming.trees.criterion_kernels import VARIANCE
from stumpery.streaming.trees.naive_bayes_kernels import Bayes
from stumpery.types import Floats

ALL, INHERITED, LATEST = range(3)  # of a leaf's statistics
N_ROWS = 3
COUNT, MEAN, SQUARES = range(3)  # of such a row, where numbers are predicted
N_MOMENTS = 3
MAJORITY, RECENT, BAYES = range(3)  # who guesses
N_GUESSERS = 3
DEPTH, TABLE, DEACTIVATED = range(3)  # of a leaf's marks
N_MARKS = 3
GRACE, DELTA, TAU, CRITERION, GUESSER, MAX_DEPTH, N_DRAWN, TIMES, WARNING, DRIFT, MULTIWAY = range(11)  # of the rule
N_RULES = 11
ADAPTIVE = 3  # beside the guessers
INHERITANCE = 1.0  # events that what is inherited is worth
FADING = np.float32(0.8)  # of the latest events, with each one that comes
FADINGS = (np.float64(FADING) ** np.arange(32)).astype(np.float32)
DUEL_FADING = np.float32(0.995)  # of what the guessers were right about
LEAD = np.float32(0.5)  # in roots of the majority's score, that another must have
MOST_WEIGHT = np.float32(2.0**23)  # of a class or of all numbers in a leaf: at this all are halved


class StreamState(NamedTuple):
    """What the trees have learned."""

    forest: ForestState  # its statistics: (leaves, N_ROWS, classes or moments)
    events: Float32s  # (events, columns + 2): label and weight last
    marks: Int32s  # (leaves, N_MARKS)
    duels: Float32s  # (leaves, N_GUESSERS)
    bayes: Bayes
    windows: Windows
    votes: Floats  # (trees, 2): fading sums of what was right, and of events
    standby: Int32s  # (trees,): whether a tree grows in the background
    importances: Floats  # (columns,)
    spread: Floats  # (N_MOMENTS,): of all numbers to predict
    doubles: Doubles


@internal
def fill_shares(stats: Float32s, place: int, shares: Floats) -> bool:
    """Write the shares of classes by all events or by the latest, in place; whether there are any."""
    n_classes = shares.shape[0]
    total = 0.0
    for each in range(n_classes):
        shares[each] = np.float64(stats[place, each]) + INHERITANCE * np.float64(stats[INHERITED, each])
        total += shares[each]
    if total == 0.0:  # before the first event a leaf says nothing
        return False
    total = 1.0 / total
    for each in range(n_classes):
        shares[each] *= total
    return True


@internal
def fill_bayes(model: StreamState, leaf: int, row: Floats, shares: Floats) -> None:
    """Turn the shares of classes into what naive Bayes makes of them in a leaf, in place."""
    n_classes = shares.shape[0]
    for each in range(n_classes):
        shares[each] = math.log(shares[each]) if shares[each] > 0.0 else -np.inf
    bayes_kernels.add_logs(model.bayes, model.marks[leaf, TABLE], row, model.forest.kinds, model.doubles, shares)
    top = shares[largest(shares)]
    total = 0.0
    for each in range(n_classes):
        shares[each] = math.exp(shares[each] - top)
        total += shares[each]
    for each in range(n_classes):
        shares[each] /= total


@internal
def largest(values: Floats) -> int:
    """The place of the largest value, the first of equal ones."""
    found = 0
    for place in range(1, values.shape[0]):
        if values[place] > values[found]:
            found = place
    return found


@internal
def guess(stats: Float32s, place: int) -> int:
    """The likeliest class by all events or by the latest, the first of equal ones."""
    found, best = 0, np.float64(stats[place, 0]) + INHERITANCE * np.float64(stats[INHERITED, 0])
    for each in range(1, stats.shape[1]):
        weight = np.float64(stats[place, each]) + INHERITANCE * np.float64(stats[INHERITED, each])
        if weight > best:
            found, best = each, weight
    return found


@internal
def chosen_guesser(duel: Float32s, rule: Floats) -> int:
    """Whom a leaf follows."""
    if rule[GUESSER] != ADAPTIVE:
        return int(rule[GUESSER])
    bar = duel[MAJORITY] + LEAD * np.sqrt(duel[MAJORITY])
    found = MAJORITY
    for guesser in range(RECENT, N_GUESSERS):
        if duel[guesser] > bar:
            bar, found = duel[guesser], guesser
    return found


@internal
def predict(model: StreamState, leaf: int, row: Floats, rule: Floats, output: Floats) -> None:
    """Write a leaf's shares of classes, or the number that it expects, in place."""
    guesser = chosen_guesser(model.duels[leaf], rule)
    place = LATEST if guesser == RECENT else ALL
    if rule[CRITERION] == VARIANCE:
        output[0] = expected(model.forest.stats[leaf], place)
        return
    says = fill_shares(model.forest.stats[leaf], place, output)
    if says and guesser == BAYES and model.marks[leaf, TABLE] != NO_INDEX:
        fill_bayes(model, leaf, row, output)


@internal
def expected(stats: Float32s, place: int) -> float:
    """The number to expect by all events or by the latest."""
    count, mean = np.float64(stats[place, COUNT]), np.float64(stats[place, MEAN])
    inherited, weight = np.float64(stats[INHERITED, MEAN]), np.float64(stats[INHERITED, COUNT])
    return float(inherited + (mean - inherited) * count / (count + INHERITANCE * weight + 1e-30))


@internal
def faded(weight: float) -> np.float32:
    """What is left of the latest events after one that counts `weight` times."""
    times = int(weight)
    if times == weight and times < FADINGS.shape[0]:
        return np.float32(FADINGS[times])
    return np.float32(np.float64(FADING) ** weight)


@internal
def update_class(stats: Float32s, duel: Float32s, label: int, weight: float, rule: Floats) -> None:
    """Let all events and the latest guess, then fold one event into a leaf's weights, in place."""
    if rule[GUESSER] == ADAPTIVE:
        duel[MAJORITY] = duel[MAJORITY] * DUEL_FADING + np.float32(guess(stats, ALL) == label)
        duel[RECENT] = duel[RECENT] * DUEL_FADING + np.float32(guess(stats, LATEST) == label)
    everything, latest = stats[ALL], stats[LATEST]
    fading = faded(weight)
    for each in range(latest.shape[0]):
        latest[each] *= fading
    latest[label] += (np.float32(1.0) - fading) / (np.float32(1.0) - FADING)
    everything[label] += np.float32(weight)
    if everything[label] > MOST_WEIGHT:
        for each in range(everything.shape[0]):
            everything[each] *= np.float32(0.5)


@internal
def try_bayes(model: StreamState, leaf: int, row: Floats, label: int, shares: Floats) -> None:
    """Let naive Bayes guess before a leaf learns an event, in place."""
    if fill_shares(model.forest.stats[leaf], ALL, shares):
        fill_bayes(model, leaf, row, shares)
        duel = model.duels[leaf]
        duel[BAYES] = duel[BAYES] * DUEL_FADING + np.float32(largest(shares) == label)


@internal
def update_number(stats: Float32s, duel: Float32s, number: float, weight: float, rule: Floats) -> None:
    """Let all events and the latest guess, then fold one event into a leaf's moments, in place."""
    if rule[GUESSER] == ADAPTIVE:
        nearer = abs(expected(stats, LATEST) - number) < abs(expected(stats, ALL) - number)
        duel[MAJORITY] = duel[MAJORITY] * DUEL_FADING + np.float32(not nearer)
        duel[RECENT] = duel[RECENT] * DUEL_FADING + np.float32(nearer)
    add_moment(stats[ALL], number, weight)
    fading = faded(weight)
    stats[LATEST, COUNT] *= fading
    stats[LATEST, SQUARES] *= fading
    add_moment(stats[LATEST], number, np.float64((np.float32(1.0) - fading) / (np.float32(1.0) - FADING)))


@internal
def add_moment(row: Float32s, number: float, weight: float) -> None:
    """Fold a number into a weight, a mean and squared distances, in place."""
    count = np.float64(row[COUNT]) + weight
    distance = number - np.float64(row[MEAN])
    mean = np.float64(row[MEAN]) + distance * weight / count
    kept = 0.5 if count > MOST_WEIGHT else 1.0
    row[SQUARES] = (np.float64(row[SQUARES]) + weight * distance * (number - mean)) * kept
    row[COUNT] = count * kept
    row[MEAN] = mean
