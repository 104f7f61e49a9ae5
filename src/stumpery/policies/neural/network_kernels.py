"""Small neural networks, one hidden layer for each action, several members side by side.

A network predicts an action's reward: v . h + c, with hidden units h = s(U x) and s(z) = z / (1 + |z|). The hidden
units of all members stand in one row, so that one walk over the set places of a row serves them all.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.standardisation_kernels import Sparse
from stumpery.random import uniform
from stumpery.types import Floats, RandomState

# A member's fields: its first and past-the-last hidden unit, its learning rate, and the logarithm of its credit.
START, END, RATE, CREDIT = range(4)

# The first weights' reach to either side of 0; that of outputs is shared by the units of a member.
HIDDEN_REACH = 0.1
OUTPUT_REACH = 2.0


class Networks(NamedTuple):
    """The weights of all members, side by side."""

    hidden: Floats  # (actions, width + 1, units)
    outputs: Floats  # (actions, units + members), the members' constants last


class Thoughts(NamedTuple):
    """What the networks make of one row."""

    seen: Sparse
    units: Floats  # (actions, units)
    guesses: Floats  # (members, actions)


def new_committee(members: list[tuple[int, float]]) -> Floats:
    """Members by number of hidden units and learning rate, all with the same credit."""
    ends = np.cumsum([n_units for n_units, _ in members])
    rows = [(end - n_units, end, rate, 0.0) for end, (n_units, rate) in zip(ends, members, strict=True)]
    return np.array(rows, dtype=np.float64)


@internal
def fill(rng: RandomState, weights: Floats, reach: float) -> None:
    """Draw weights from -reach to reach, in place."""
    for place in range(weights.shape[0]):
        weights[place] = reach * (2.0 * uniform(rng) - 1.0)


@kernel
def new_networks(rng: RandomState, committee: Floats, n_actions: int, size: int) -> Networks:
    """Weights drawn at random, constants 0."""
    n_members, n_units = committee.shape[0], int(committee[-1, END])
    hidden, outputs = np.empty((n_actions, size, n_units)), np.zeros((n_actions, n_units + n_members))
    for action in range(n_actions):
        for place in range(size):
            fill(rng, hidden[action, place], HIDDEN_REACH)
        for member in range(n_members):
            start, end = int(committee[member, START]), int(committee[member, END])
            fill(rng, outputs[action, start:end], OUTPUT_REACH / math.sqrt(end - start))
    return Networks(hidden, outputs)


@internal
def think(committee: Floats, columns: Floats, networks: Networks, row: Floats) -> Thoughts:
    """Every member's prediction of every action's reward."""
    seen = features.sparse(columns, row)
    n_actions, n_members = networks.outputs.shape[0], committee.shape[0]
    n_units = networks.hidden.shape[2]
    units, guesses = np.zeros((n_actions, n_units)), np.empty((n_members, n_actions))
    for action in range(n_actions):
        for nth in range(seen.n_set):
            place = seen.places[nth]
            for unit in range(n_units):
                units[action, unit] += seen.x[place] * networks.hidden[action, place, unit]
        for unit in range(n_units):
            units[action, unit] /= 1.0 + abs(units[action, unit])
        for member in range(n_members):
            guess = networks.outputs[action, n_units + member]
            for unit in range(int(committee[member, START]), int(committee[member, END])):
                guess += networks.outputs[action, unit] * units[action, unit]
            guesses[member, action] = guess
    return Thoughts(seen, units, guesses)


@internal
def correct(
    committee: Floats, networks: Networks, thoughts: Thoughts, action: int, reward: float, probability: float
) -> None:
    """Move every member's prediction towards the reward, in place: back-propagation with the weight 1 / probability.

    A step is as long as infinitely many small ones would be, so that a large weight never overshoots the reward
    (Karampatziakis and Langford 2011).
    """
    units, outputs, seen = thoughts.units[action], networks.outputs[action], thoughts.seen
    n_units = units.shape[0]
    slopes = np.empty(n_units)
    length = 0.0
    for nth in range(seen.n_set):
        length += seen.x[seen.places[nth]] * seen.x[seen.places[nth]]
    for member in range(committee.shape[0]):
        start, end = int(committee[member, START]), int(committee[member, END])
        norm = 1.0
        for unit in range(start, end):
            room = 1.0 - abs(units[unit])
            slopes[unit] = outputs[unit] * room * room
            norm += units[unit] * units[unit] + length * slopes[unit] * slopes[unit]
        error = reward - thoughts.guesses[member, action]
        step = -error * math.expm1(-committee[member, RATE] * norm / probability) / norm
        for unit in range(start, end):
            outputs[unit] += step * units[unit]
            slopes[unit] *= step
        outputs[n_units + member] += step
    for nth in range(seen.n_set):
        place = seen.places[nth]
        for unit in range(n_units):
            networks.hidden[action, place, unit] += seen.x[place] * slopes[unit]
