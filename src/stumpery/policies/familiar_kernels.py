"""Contexts that come again: what each action earned there beyond what the scorers expected.

A context is known again by a print of its values. Only actions that were played there take memory: for each there is
the mean of the errors, reward - score, as if there had been one more of 0, and their number. These lie in buckets of
eight, those played last first; when a bucket is full the last of them is forgotten. How far the means are trusted is
learned: by the factor, from 0 to 1, that would have made them the best forecast of the errors after them. Where no
context comes again, or where what is left of the rewards is chance, nothing is trusted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import bits_of, part, prefetch
from stumpery.policies.hashed_kernels import LONGEST
from stumpery.trees.forest_kernels import NAME, Float32s
from stumpery.trees.scratch_kernels import mixed
from stumpery.types import Floats, Words

WAYS = 8  # of a bucket: as many prints as fit into a line of memory
MEAN, PLAYS = range(2)  # of the errors of an action in a context
N_ERRORS = 2
PRINT_STARTS = np.uint64(24)  # a print's bits below are for an action
ACTIONS = np.uint64(2**24 - 1)
EMPTY, USED = np.uint64(0), np.uint64(2**63)  # the second is set in every print
SHARE, PRODUCTS, SQUARES = range(3)  # what is trusted; sums of means times the errors after them, of means squared
N_TRUST = 3
DISTRUST = 1.0  # what is added to the squares
FADING = 0.9995  # of both sums, with each mean that is put to the test


class Familiar(NamedTuple):
    """What is known of contexts that may come again."""

    prints: Words  # (buckets, WAYS): of a context, and an action in the bits that are left free for it
    errors: Float32s  # (buckets, WAYS, MEAN and PLAYS)
    trust: Floats  # (N_TRUST,)


@part
def print_of(row: Float32s, kinds: NDArray[np.uint8]) -> np.uint64:
    """A number that other values as good as never have; what is missing is the same in all kinds of columns."""
    found = np.uint64(row.shape[0])
    for column in range(row.shape[0]):
        value = row[column]
        if kinds[column] == NAME and value == 0.0:
            value = np.float32(-np.inf)
        found = (found ^ np.uint64(bits_of(value + np.float32(0.0)))) * np.uint64(0x9E3779B97F4A7C15)  # -0 is 0
        found ^= found >> np.uint64(32)
    return (mixed(found) | USED) & ~ACTIONS


@part
def bucket_of(familiar: Familiar, found: np.uint64, action: int) -> int:
    """Where an action of a context would be: eight neighbours in one bucket, the next eight in the next."""
    buckets = np.uint64(familiar.prints.shape[0] - 1)
    return int(np.int64(((found >> PRINT_STARTS) + np.uint64(action // WAYS)) & buckets))


@part
def look_up(familiar: Familiar, row: Float32s, kinds: NDArray[np.uint8]) -> np.uint64:
    """Give a context's print, and have its first bucket fetched meanwhile."""
    found = print_of(row, kinds)
    prefetch(familiar.prints, bucket_of(familiar, found, 0))
    prefetch(familiar.errors, bucket_of(familiar, found, 0))
    return found


@part
def recall(familiar: Familiar, found: np.uint64, scores: Floats) -> None:
    """Add what is known of a context to its scores, in place."""
    share, n_actions = familiar.trust[SHARE], scores.shape[0]
    if share == 0.0:
        return
    for first in range(0, min(n_actions, WAYS * familiar.prints.shape[0]), WAYS):
        bucket = bucket_of(familiar, found, first)
        for way in range(WAYS):
            known = familiar.prints[bucket, way]
            if known & ~ACTIONS == found:
                scores[np.int64(known & ACTIONS)] += share * np.float64(familiar.errors[bucket, way, MEAN])


@part
def learn(familiar: Familiar, found: np.uint64, action: int, error: float) -> None:
    """Note the error of a context's score, in place."""
    bucket, trust = bucket_of(familiar, found, action), familiar.trust
    prints, errors = familiar.prints[bucket], familiar.errors[bucket]
    found |= np.uint64(action)
    way = 0
    while way < WAYS - 1 and prints[way] != found:
        way += 1
    mean, plays = 0.0, 0.0
    if prints[way] == found:
        mean, plays = np.float64(errors[way, MEAN]), np.float64(errors[way, PLAYS])
        trust[PRODUCTS] = FADING * trust[PRODUCTS] + mean * error
        trust[SQUARES] = FADING * trust[SQUARES] + mean * mean
        trust[SHARE] = min(max(trust[PRODUCTS] / (trust[SQUARES] + DISTRUST), 0.0), 1.0)
    for place in range(way, 0, -1):
        prints[place] = prints[place - 1]
        errors[place, MEAN] = errors[place - 1, MEAN]
        errors[place, PLAYS] = errors[place - 1, PLAYS]
    prints[0] = found
    errors[0, MEAN] = mean + (error - mean) / (plays + 2.0)
    errors[0, PLAYS] = min(plays + 1.0, LONGEST)
