"""Linear scorers over features that are there or not: columns as codes, alone or in pairs.

A bit is a feature when it is set, a name is the feature of its code, a number that of its bin, a missing value that of
code 0; one feature is always there. A weight for each slot and action starts at 0 and moves with its rate r_i: with
err = reward - prediction and u = sum r_i over the features in play, by err (1 - exp(-2 u)) / u * r_i, so that one step
never overshoots the reward. There are two rates. `follow` takes v G_i^(-1/2), with G_i += 4 err^2 and v = 1 / sqrt(mean
number of features): it stays quick, and follows a stream that changes. `settle` takes 1 / n_i, with n_i how often the
weight was in play: it comes to rest, as the many weights of pairs must. Pairs are hashed, so some share a slot; a slot
with c of n features moves the prediction c times, of c rates. On average c is 1 + (n - 1) / slots, by which u grows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import part
from stumpery.trees.forest_kernels import BIT, NUMBER, Float32s, Int32s
from stumpery.types import Floats

N_CODES = 64
N_BINS = 16
FIRST_BINS = 50  # events after which numbers get their first bins; new ones whenever these have doubled
SAMPLE = 1024
HASTE = 2.0
REACH = 128  # a feature makes pairs with so many, itself the first: a row of thousands costs no square of them


class Linear(NamedTuple):
    """Weights of one linear scorer."""

    weights: Float32s  # (slots, actions)
    past: Float32s  # (slots, actions): G_i or n_i


def new_linear(n_slots: int, n_actions: int) -> Linear:
    """All weights 0."""
    return Linear(np.zeros((n_slots, n_actions), np.float32), np.zeros((n_slots, n_actions), np.float32))


@part
def fill_codes(row: Float32s, kinds: NDArray[np.uint8], edges: Float32s, codes: Int32s) -> int:
    """Write the features of a row into `codes`, in place, the constant one first; give their number."""
    codes[0] = 0
    n = 1
    for column in range(row.shape[0]):
        value = row[column]
        if kinds[column] == BIT:
            if value == 0.0:
                continue
            code = 1 if value > 0.0 else 0
        elif kinds[column] == NUMBER:
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


@part
def fill_pairs(codes: Int32s, n: int, n_slots: int, slots: Int32s) -> int:
    """Write the slots of all features and of their pairs into `slots`, in place; give their number."""
    mask = np.uint32(n_slots - 1)
    n_pairs = 0
    for first in range(n):
        base = np.uint32(codes[first]) * np.uint32(0x9E3779B1)
        for second in range(first, min(n, first + REACH)):
            key = (base ^ (np.uint32(codes[second]) * np.uint32(0x85EBCA77))) * np.uint32(0xC2B2AE3D)
            slots[n_pairs] = np.int32((key ^ (key >> np.uint32(15))) & mask)
            n_pairs += 1
    return n_pairs


@part
def predict(linear: Linear, slots: Int32s, n: int, scores: Floats) -> None:
    """Write the sum of the weights of the slots in play for every action into `scores`, in place."""
    for action in range(scores.shape[0]):
        scores[action] = 0.0
    for index in range(n):
        weights = linear.weights[slots[index]]
        for action in range(scores.shape[0]):
            scores[action] += weights[action]


@part
def pace(error: float, total: float) -> float:
    """How far a weight moves for every unit of its rate, if the rates in play have this sum."""
    return error * (1.0 - math.exp(-HASTE * total)) / total


@part
def follow(linear: Linear, slots: Int32s, n: int, action: int, error: float, scale: float) -> None:
    """Move the weights of the slots in play towards the reward, in place, at rates that stay quick."""
    square = np.float32(4.0 * error * error)
    total = 0.0
    for index in range(n):
        slot = slots[index]
        linear.past[slot, action] += square
        if linear.past[slot, action] > 0.0:
            total += scale / math.sqrt(linear.past[slot, action])
    if total <= 0.0:
        return
    step = pace(error, total) * scale
    for index in range(n):
        slot = slots[index]
        if linear.past[slot, action] > 0.0:
            linear.weights[slot, action] += np.float32(step / math.sqrt(linear.past[slot, action]))


@part
def settle(linear: Linear, slots: Int32s, n: int, action: int, error: float) -> None:
    """Move the weights of the slots in play towards the reward, in place, at rates that come to rest."""
    shared = 1.0 + (n - 1) / linear.weights.shape[0]
    total = 0.0
    for index in range(n):
        slot = slots[index]
        linear.past[slot, action] += np.float32(1.0)
        total += 1.0 / linear.past[slot, action]
    step = pace(error, total * shared)
    for index in range(n):
        slot = slots[index]
        linear.weights[slot, action] += np.float32(step / linear.past[slot, action])


@part
def sort(values: Float32s, n: int) -> None:
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


@part
def renew_edges(edges: Float32s, events: Float32s, kinds: NDArray[np.uint8], n: int, sample: Float32s) -> None:
    """Set every number's bin edges to quantiles of the last `n` events, in place.

    Each stands there once: a number of few values then keeps its bins, whatever their shares in the sample.
    """
    size = min(n, sample.shape[0])
    for column in range(edges.shape[0]):
        if kinds[column] != NUMBER:
            continue
        found = 0
        for index in range(size):
            value = events[index * n // size, column]
            if value > -np.inf:
                sample[found] = value
                found += 1
        if found == 0:
            continue
        sort(sample, found)
        n_edges = 0
        for quantile in range(1, edges.shape[1] + 1):
            edge = sample[quantile * found // (edges.shape[1] + 1)]
            if n_edges == 0 or edge > edges[column, n_edges - 1]:
                edges[column, n_edges] = edge
                n_edges += 1
        for place in range(n_edges, edges.shape[1]):
            edges[column, place] = np.inf
