"""Contexts that come again: what each action earned there beyond what the scorers expected.

A context is known again by a print of its values. Only actions that were played there take memory, a word each: a
print, the action, the number of its plays, at most 63, and the mean of the errors, reward - score, as if there had been
one more of 0, in steps of 2^-16 and within two rewards of 0. They lie in buckets of eight, those played last first. In
a full one a new error takes the place of the least sum of errors, or none if its own is less: what the scorers expect
anyway need not be known by heart, and where more contexts come in turn than there is room for, the most telling stay.
Each eighth time that something new comes to a full bucket, the last one in it counts from then on for half of its
plays, or its mean for half, and goes first: so all that never comes again is forgotten at last. The 65,537th action and
those behind it are not known again. How far the means are trusted is learned: by the factor, from 0 to 1, that would
have made them the best forecast of the errors after them. Where no context comes again, or where what is left of the
rewards is probability, nothing is trusted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import CATEGORICAL
from stumpery.hashing_kernels import splitmix64
from stumpery.jit import bitcast, internal, prefetch
from stumpery.types import Floats, RandomState

WAYS = 8  # words of a bucket: a line of memory
# Of a word, from its highest bits on: 24 of a print, which are not all 0; 16 of an action; 6 of plays; 18 of a mean.
PRINT, ACTION, PLAYS = np.uint64(40), np.uint64(24), np.uint64(18)  # where each begins
MOST_ACTIONS, MOST_PLAYS, MOST_STEPS = 2**16, 2**6 - 1, 2**18 - 1
STEPS, ZERO = 2.0**16, 2.0**17  # of a mean in a unit of reward; what stands for no error at all
SHARE, PRODUCTS, SQUARES = range(3)  # what is trusted; sums of means times the errors after them, of means squared
N_TRUST = 3
DISTRUST = 1.0  # what is added to the squares
FADING = 0.9995  # of both sums, with each mean that is put to the test
AGING = np.uint64(7)  # bits of a key, all 0 in one of eight


class ContextMemory(NamedTuple):
    """What is known of contexts that may come again."""

    buckets: RandomState  # (buckets, WAYS); 0 where nothing is known
    trust: Floats  # (N_TRUST,)


@internal
def print_of(row: Floats, kinds: NDArray[np.uint8]) -> np.uint64:
    """A number that other values as good as never have; what is missing is the same in all kinds of columns."""
    found, n_wide = np.uint64(row.shape[0]), 0
    for column in range(row.shape[0]):
        value = np.float32(row[column])
        n_wide += int(row[column] != value)
        if kinds[column] == CATEGORICAL and value == 0.0:
            value = np.float32(-np.inf)
        found = (found ^ np.uint64(bitcast(value + np.float32(0.0)))) * np.uint64(0x9E3779B97F4A7C15)  # -0 is 0
        found ^= found >> np.uint64(32)
    if n_wide > 0:
        found = add_wide(found, row)
    return splitmix64(found) | (np.uint64(1) << PRINT)


@internal
def add_wide(found: np.uint64, row: Floats) -> np.uint64:
    """The same with all bits of the values that 32 bits do not tell."""
    for column in range(row.shape[0]):
        value = np.float64(row[column])
        bits = bitcast(value) if np.float64(np.float32(value)) != value else np.uint64(0)
        found = (found ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return found


@internal
def bucket_of(familiar: ContextMemory, found: np.uint64, action: int) -> int:
    """Where an action of a context would be: eight neighbours in one bucket, the next eight in the next."""
    n_buckets = np.uint64(familiar.buckets.shape[0])
    return int(np.int64((found + np.uint64(action // WAYS)) & (n_buckets - np.uint64(1))))


@internal
def action_of(word: np.uint64) -> int:
    """Whose errors these are."""
    return int(np.int64((word >> ACTION) & np.uint64(MOST_ACTIONS - 1)))


@internal
def plays_of(word: np.uint64) -> float:
    """How many there were."""
    return float(np.int64((word >> PLAYS) & np.uint64(MOST_PLAYS)))


@internal
def mean_of(word: np.uint64) -> float:
    """The mean of the errors."""
    return (float(np.int64(word & np.uint64(MOST_STEPS))) - ZERO) / STEPS


@internal
def word_of(found: np.uint64, action: int, plays: float, mean: float) -> np.uint64:
    """What is known of an action in a context."""
    steps = np.uint64(min(max(np.rint(mean * STEPS) + ZERO, 0.0), float(MOST_STEPS)))
    rest = (np.uint64(action) << ACTION) | (np.uint64(min(plays, float(MOST_PLAYS))) << PLAYS) | steps
    return ((found >> PRINT) << PRINT) | rest


@internal
def look_up(familiar: ContextMemory, row: Floats, kinds: NDArray[np.uint8]) -> np.uint64:
    """Give a context's print, and have its first bucket fetched meanwhile."""
    found = print_of(row, kinds)
    prefetch(familiar.buckets, bucket_of(familiar, found, 0))
    return found


@internal
def recall(familiar: ContextMemory, found: np.uint64, scores: Floats) -> None:
    """Add what is known of a context to its scores, in place."""
    share, n_actions = familiar.trust[SHARE], scores.shape[0]
    if share == 0.0:
        return
    for first in range(0, min(n_actions, WAYS * familiar.buckets.shape[0]), WAYS):
        bucket = familiar.buckets[bucket_of(familiar, found, first)]
        for way in range(WAYS):
            if bucket[way] >> PRINT == found >> PRINT:
                scores[action_of(bucket[way])] += share * mean_of(bucket[way])


@internal
def worth_of(word: np.uint64) -> float:
    """How telling it is what is known of an action in a context: the sum of its errors, of either sign."""
    return abs(mean_of(word)) * (plays_of(word) + 1.0)


@internal
def least_telling(bucket: RandomState) -> int:
    """Where a full bucket has the least sum of errors; of several the last."""
    least, lowest = 0, np.inf
    for way in range(WAYS):
        worth = worth_of(bucket[way])
        if worth <= lowest:
            least, lowest = way, worth
    return least


@internal
def age_last(bucket: RandomState) -> None:
    """Let the last word count for half of its plays, or its mean for half when none are left; it goes first."""
    last = bucket[WAYS - 1]
    for place in range(WAYS - 1, 0, -1):
        bucket[place] = bucket[place - 1]
    plays, mean = np.floor(plays_of(last) / 2.0), mean_of(last)
    bucket[0] = word_of(last, action_of(last), plays, mean if plays_of(last) > 0.0 else mean / 2.0)


@internal
def learn(familiar: ContextMemory, found: np.uint64, action: int, error: float, key: np.uint64) -> None:
    """Note the error of a context's score, in place; `key` decides whether others age."""
    if action >= MOST_ACTIONS:
        return
    bucket, trust = familiar.buckets[bucket_of(familiar, found, action)], familiar.trust
    sought = word_of(found, action, 0.0, 0.0) >> ACTION
    way = 0
    while way < WAYS - 1 and bucket[way] >> ACTION != sought:
        way += 1
    mean, plays = 0.0, 0.0
    if bucket[way] >> ACTION == sought:
        mean, plays = mean_of(bucket[way]), plays_of(bucket[way])
        trust[PRODUCTS] = FADING * trust[PRODUCTS] + mean * error
        trust[SQUARES] = FADING * trust[SQUARES] + mean * mean
        trust[SHARE] = min(max(trust[PRODUCTS] / (trust[SQUARES] + DISTRUST), 0.0), 1.0)
    elif bucket[way] != np.uint64(0):
        if key & AGING == np.uint64(0):
            age_last(bucket)
        way = least_telling(bucket)
        if worth_of(bucket[way]) > abs(error):
            return
    for place in range(way, 0, -1):
        bucket[place] = bucket[place - 1]
    bucket[0] = word_of(found, action, plays + 1.0, mean + (error - mean) / (plays + 2.0))
