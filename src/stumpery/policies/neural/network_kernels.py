"""Small neural networks with one hidden layer per action, several members side by side.

A network predicts an action's reward: v . h + c, with hidden units h = s(U x) and the softsign s(z) = z / (1 + |z|).
The hidden units of all members stand in one row, so that one pass over a sparse row serves them all.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.standardisation_kernels import SparseRow
from stumpery.random import uniform
from stumpery.types import Floats, RandomState

# Fields of a member: its first and past-the-last hidden unit, its learning rate, the logarithm of its Exp3 weight.
MEMBER_START, MEMBER_END, MEMBER_RATE, MEMBER_LOG_WEIGHT = range(4)

# Initial weights are uniform between these and their negatives; that of outputs is divided by sqrt(units of the
# member).
HIDDEN_INIT_RANGE = 0.1
OUTPUT_INIT_RANGE = 2.0


class Networks(NamedTuple):
    """The weights of all members."""

    hidden: Floats  # (actions, width + 1, units)
    outputs: Floats  # (actions, units + members), the members' biases last


class ForwardPass(NamedTuple):
    """The results of a forward pass of one row."""

    row: SparseRow
    units: Floats  # (actions, units)
    predictions: Floats  # (members, actions)


def new_committee(members: list[tuple[int, float]]) -> Floats:
    """Members of given numbers of hidden units and learning rates, all with the same weight."""
    ends = np.cumsum([n_units for n_units, _ in members])
    rows = [(end - n_units, end, rate, 0.0) for end, (n_units, rate) in zip(ends, members, strict=True)]
    return np.array(rows, dtype=np.float64)


@internal
def fill_uniform(rng: RandomState, weights: Floats, limit: float) -> None:
    """Draw weights uniformly from -limit to limit, in place."""
    for index in range(weights.shape[0]):
        weights[index] = limit * (2.0 * uniform(rng) - 1.0)


@kernel
def new_networks(rng: RandomState, committee: Floats, n_actions: int, size: int) -> Networks:
    """Networks with random weights, and biases of 0."""
    n_members, n_units = committee.shape[0], int(committee[-1, MEMBER_END])
    hidden, outputs = np.empty((n_actions, size, n_units)), np.zeros((n_actions, n_units + n_members))
    for action in range(n_actions):
        for column in range(size):
            fill_uniform(rng, hidden[action, column], HIDDEN_INIT_RANGE)
        for member in range(n_members):
            start, end = int(committee[member, MEMBER_START]), int(committee[member, MEMBER_END])
            fill_uniform(rng, outputs[action, start:end], OUTPUT_INIT_RANGE / math.sqrt(end - start))
    return Networks(hidden, outputs)


@internal
def forward(committee: Floats, columns: Floats, networks: Networks, row: Floats) -> ForwardPass:
    """Every member's prediction of every action's reward."""
    sparse = features.sparse_row(columns, row)
    n_actions, n_members = networks.outputs.shape[0], committee.shape[0]
    n_units = networks.hidden.shape[2]
    units, predictions = np.zeros((n_actions, n_units)), np.empty((n_members, n_actions))
    for action in range(n_actions):
        for index in range(sparse.n_set):
            column = sparse.indices[index]
            for unit in range(n_units):
                units[action, unit] += sparse.x[column] * networks.hidden[action, column, unit]
        for unit in range(n_units):
            units[action, unit] /= 1.0 + abs(units[action, unit])
        for member in range(n_members):
            prediction = networks.outputs[action, n_units + member]
            for unit in range(int(committee[member, MEMBER_START]), int(committee[member, MEMBER_END])):
                prediction += networks.outputs[action, unit] * units[action, unit]
            predictions[member, action] = prediction
    return ForwardPass(sparse, units, predictions)


@internal
def backpropagate(
    committee: Floats, networks: Networks, passed: ForwardPass, action: int, reward: float, probability: float
) -> None:
    """Update every member by back-propagation with the importance weight 1 / probability, in place.

    Steps are importance invariant, as long as infinitely many small ones would be, so that a large weight never
    overshoots the reward (Karampatziakis and Langford 2011).
    """
    units, outputs, row = passed.units[action], networks.outputs[action], passed.row
    n_units = units.shape[0]
    slopes = np.empty(n_units)
    square = 0.0
    for index in range(row.n_set):
        square += row.x[row.indices[index]] * row.x[row.indices[index]]
    for member in range(committee.shape[0]):
        start, end = int(committee[member, MEMBER_START]), int(committee[member, MEMBER_END])
        norm = 1.0
        for unit in range(start, end):
            root = 1.0 - abs(units[unit])  # its square is the slope of the softsign
            slopes[unit] = outputs[unit] * root * root
            norm += units[unit] * units[unit] + square * slopes[unit] * slopes[unit]
        error = reward - passed.predictions[member, action]
        step = -error * math.expm1(-committee[member, MEMBER_RATE] * norm / probability) / norm
        for unit in range(start, end):
            outputs[unit] += step * units[unit]
            slopes[unit] *= step
        outputs[n_units + member] += step
    for index in range(row.n_set):
        column = row.indices[index]
        for unit in range(n_units):
            networks.hidden[action, column, unit] += row.x[column] * slopes[unit]
