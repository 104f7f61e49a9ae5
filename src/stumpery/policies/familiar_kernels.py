"""Contexts that come again: what each action earned there beyond what the scorers expected.

A context is known again by a print of its values; a slot belongs to the context that came to it last. It keeps, for
each action, the mean of the errors, reward - score, as if there had been one more of 0. How far these means are trusted
is learned: by the factor, from 0 to 1, that would have made them the best forecast of the errors after them. Where no
context comes again, or where what is left of the rewards is chance, nothing is trusted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import bits_of, part, prefetch
from stumpery.policies.hashed_kernels import LONGEST, PAST, WEIGHT
from stumpery.trees.forest_kernels import NAME, Float32s
from stumpery.trees.scratch_kernels import mixed
from stumpery.types import Floats, Words

SHARE, PRODUCTS, SQUARES = range(3)  # what is trusted; sums of means times the errors after them, of means squared
N_TRUST = 3
DISTRUST = 1.0  # what is added to the squares
FADING = 0.9995  # of both sums, with each mean that is put to the test


class Familiar(NamedTuple):
    """What is known of contexts that may come again."""

    prints: Words  # (slots,): of the context that came last
    errors: Float32s  # (slots, WEIGHT and PAST, actions): means, and of how many
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
    return mixed(found)


@part
def slot_of(familiar: Familiar, found: np.uint64) -> int:
    """Where a context's errors are, or those of another one."""
    return int(np.int64(found & np.uint64(familiar.prints.shape[0] - 1)))


@part
def look_up(familiar: Familiar, row: Float32s, kinds: NDArray[np.uint8]) -> np.uint64:
    """Give a context's print, and have its slot fetched meanwhile."""
    found = print_of(row, kinds)
    prefetch(familiar.prints, slot_of(familiar, found))
    prefetch(familiar.errors, slot_of(familiar, found))
    return found


@part
def recall(familiar: Familiar, found: np.uint64, scores: Floats) -> None:
    """Add what is known of a context to its scores, in place."""
    slot, share = slot_of(familiar, found), familiar.trust[SHARE]
    if share == 0.0 or familiar.prints[slot] != found:
        return
    for action in range(scores.shape[0]):
        scores[action] += share * np.float64(familiar.errors[slot, WEIGHT, action])


@part
def learn(familiar: Familiar, found: np.uint64, action: int, error: float) -> None:
    """Note the error of a context's score, in place."""
    slot, trust = slot_of(familiar, found), familiar.trust
    line = familiar.errors[slot]
    if familiar.prints[slot] != found:
        familiar.prints[slot] = found
        for each in range(line.shape[1]):
            line[WEIGHT, each] = 0.0
            line[PAST, each] = 0.0
    mean, n = np.float64(line[WEIGHT, action]), np.float64(line[PAST, action])
    if n > 0.0:
        trust[PRODUCTS] = FADING * trust[PRODUCTS] + mean * error
        trust[SQUARES] = FADING * trust[SQUARES] + mean * mean
        trust[SHARE] = min(max(trust[PRODUCTS] / (trust[SQUARES] + DISTRUST), 0.0), 1.0)
    line[WEIGHT, action] = mean + (error - mean) / (n + 2.0)
    line[PAST, action] = min(n + 1.0, LONGEST)
