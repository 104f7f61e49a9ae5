"""Linear scorers over features that are there or not: columns as codes, alone or in pairs.

A bit is a feature when it is set, a name is the feature of its code, a number that of its bin, a missing value that of
code 0; one feature is always there. A weight for each slot and action starts at 0 and moves with its rate r_i: with
err = reward - prediction, a haste h and u = sum r_i over the features in play, by err (1 - exp(-h u)) / u * r_i, so
that one step never overshoots the reward. There are two rates. `follow` takes v G_i^(-1/2), with G_i += 4 err^2 and
v = 1 / sqrt(mean number of features): it stays so quick that it knows the latest events only. `settle` takes 1 / n_i,
with n_i how often the weight was in play, at most LONGEST: it all but comes to rest, and is best while the stream stays
as it is.

Pairs are hashed, by a multiple of the golden ratio, which lays those of neighbours apart: where slots are few, fewer
share one than if each had been drawn. A slot with c of n features moves the prediction c times, of c rates. By probability c
would be 1 + (n - 1) / slots on average, by which u grows.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import BINARY, NUMERICAL, Float32s, Int32s, aligned_zeros
from stumpery.jit import internal, prefetch
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, value_of
from stumpery.types import Floats

N_CODES = 64
N_BINS = 16
FIRST_BINS = 50  # events after which numbers get their first bins; they are looked at whenever these have doubled
SAMPLE = 1024
WORN = 1.25  # times what the fullest bin would hold: then bins are set anew
LONGEST = np.float32(4096.0)  # of n_i: a weight that was in play for ever can still follow a change
REACH = 128  # a feature makes pairs with so many, itself the first: a row of thousands costs no square of them

WEIGHT, PAST = range(2)  # of a slot, for each action: what it adds to the score, and G_i or n_i


def new_linear(n_slots: int, n_actions: int) -> Float32s:
    """One linear scorer: (slots, WEIGHT and PAST, actions), all 0."""
    return aligned_zeros((n_slots, 2, n_actions), np.float32)


@internal
def fill_codes(row: Floats, kinds: NDArray[np.uint8], edges: Floats, codes: Int32s) -> int:
    """Write the features of a row into `codes`, in place, the constant one first; give their number."""
    codes[0] = 0
    n = 1
    for column in range(row.shape[0]):
        value = row[column]
        if kinds[column] == BINARY:
            if value == 0.0:
                continue
            code = 1 if value > 0.0 else 0
        elif kinds[column] == NUMERICAL:
            code = 0
            if value > -np.inf:
                code = 1
                for edge in range(edges.shape[1]):
                    code += value > edges[column, edge]
        else:
            code = int(value)
        codes[n] = (column + 1) * N_CODES + code
        n += 1
    return n


@internal
def fill_pairs(linear: Float32s, codes: Int32s, n: int, slots: Int32s) -> int:
    """Write the slots of all features and of their pairs into `slots`, in place; give their number."""
    mask = np.uint64(linear.shape[0] - 1)
    n_pairs = 0
    for first in range(n):
        base = np.uint64(codes[first]) << np.uint64(16)
        for second in range(first, min(n, first + REACH)):
            key = (base + np.uint64(codes[second])) * np.uint64(0x9E3779B97F4A7C15)
            slots[n_pairs] = np.int32((key >> np.uint64(40)) & mask)
            prefetch(linear, slots[n_pairs])
            n_pairs += 1
    return n_pairs


@internal
def predict(linear: Float32s, slots: Int32s, n: int, scores: Floats) -> None:
    """Add the weights of the slots in play for every action to `scores`, in place."""
    for index in range(n):
        weights = linear[slots[index], WEIGHT]
        for action in range(scores.shape[0]):
            scores[action] += weights[action]


@internal
def pace(error: float, total: float, haste: float) -> float:
    """How far a weight moves for every unit of its rate, if the rates in play have this sum."""
    return error * (1.0 - math.exp(-haste * total)) / total


@internal
def follow(
    linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, error: float, haste: float, scale: float
) -> None:
    """Move the weights of the slots in play towards the reward, in place, at rates that stay quick."""
    square = np.float32(4.0 * error * error)
    total = 0.0
    for index in range(n):
        slot = slots[index]
        linear[slot, PAST, action] += square
        past = linear[slot, PAST, action]
        rates[index] = scale / np.float64(np.sqrt(past)) if past > 0.0 else 0.0
        total += rates[index]
    if total > 0.0:
        move(linear, slots, n, rates, action, pace(error, total, haste))


@internal
def settle(linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, error: float, haste: float) -> None:
    """Move the weights of the slots in play towards the reward, in place, at rates that come to rest."""
    shared = 1.0 + (n - 1) / linear.shape[0]
    total = 0.0
    for index in range(n):
        slot = slots[index]
        past = min(linear[slot, PAST, action] + np.float32(1.0), LONGEST)
        linear[slot, PAST, action] = past
        rates[index] = 1.0 / np.float64(past)  # wide also in plain Python
        total += rates[index]
    move(linear, slots, n, rates, action, pace(error, total * shared, haste))


@internal
def move(linear: Float32s, slots: Int32s, n: int, rates: Floats, action: int, step: float) -> None:
    """Move each weight by its rate, in place."""
    for index in range(n):
        linear[slots[index], WEIGHT, action] += np.float32(step * rates[index])


@internal
def sort(values: Floats, n: int) -> None:
    """Put the first n values in ascending order, in place (Shell 1959)."""
    gap = n // 2
    while gap > 0:
        for index in range(gap, n):
            value, place = values[index], index
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 2


@internal
def fullest(values: Floats, n: int, edges: Floats) -> int:
    """How many of the first n values, which ascend, are in the bin that has most of them."""
    most, first = 0, 0
    for edge in range(edges.shape[0] + 1):
        end = first
        while end < n and (edge == edges.shape[0] or values[end] <= edges[edge]):
            end += 1
        most = max(most, end - first)
        first = end
    return most


@internal
def renew_edges(edges: Floats, ring: Ring, kinds: NDArray[np.uint8], first: int, end: int, sample: Floats) -> None:
    """Set the bin edges of numbers to quantiles of the events from `first` on, in place, where that makes them better.

    A weight is of a bin, so whenever this comes to mean other values, all must be learned anew: a column keeps its bins
    unless there would be more, or the fullest holds `WORN` times as much as it would. Equal edges stand there once.
    """
    n = end - first
    size = min(n, SAMPLE)
    fresh = sample[SAMPLE:]  # room for new edges
    for column in range(edges.shape[0]):
        if kinds[column] != NUMERICAL:
            continue
        found = 0
        for index in range(size):
            value = value_of(ring, (first + index * n // size) % ring.bytes.shape[0], column)
            if value > -np.inf:
                sample[found] = value
                found += 1
        sort(sample, found)
        n_edges = 0
        for quantile in range(1, fresh.shape[0] + 1 if found > 0 else 0):
            edge = sample[quantile * found // (fresh.shape[0] + 1)]
            if n_edges == 0 or edge > fresh[n_edges - 1]:
                fresh[n_edges] = edge
                n_edges += 1
        has_more = n_edges > 0 and edges[column, n_edges - 1] == np.inf
        for place in range(n_edges, fresh.shape[0]):
            fresh[place] = np.inf
        if has_more or fullest(sample, found, edges[column]) > WORN * fullest(sample, found, fresh):
            for place in range(fresh.shape[0]):
                edges[column, place] = fresh[place]
