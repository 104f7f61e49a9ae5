"""A committee of neural networks (Allesiardo, Féraud, Bouneffouf 2014).

A member plays the action of its highest prediction, or any action with the probability gamma; which member to trust is
learned by Exp3 (Auer et al. 2002). The probability of an action is the mean of the members' probabilities, weighted by trust, so
that it is exact, and every member can be paid for what it would have played.
"""

import math

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration.explorer_kernels import DECIDES, LEARNS, PROBABILITY, SCORE, UNCERTAINTY, VALUE
from stumpery.policies.neural.network_kernels import CREDIT, Networks, correct, think
from stumpery.random import choice
from stumpery.types import Floats, Integers, RandomState

# A rule's fields: the shares of uniform choices among actions and among members.
GAMMA, EXPLORE = range(2)


@internal
def lead(guesses: Floats, available: np.ndarray, action: int) -> float:
    """An action's share of a member's lead: 1 for the highest guess alone, equal shares where some tie."""
    n_best = 1
    for other in range(guesses.shape[0]):
        if available[other]:
            if guesses[other] > guesses[action]:
                return 0.0
            n_best += other != action and guesses[other] == guesses[action]
    return 1.0 / n_best


@kernel
def trust(rule: Floats, committee: Floats) -> Floats:
    """The probability of every member to be followed; credits are at most 0 and one of them is 0."""
    probabilities = np.empty(committee.shape[0])
    total = 0.0
    for member in range(probabilities.shape[0]):
        probabilities[member] = math.exp(committee[member, CREDIT])
        total += probabilities[member]
    for member in range(probabilities.shape[0]):
        probabilities[member] = (
            rule[EXPLORE] / probabilities.shape[0] + (1.0 - rule[EXPLORE]) * probabilities[member] / total
        )
    return probabilities


@internal
def fill_statistics(
    statistics: Floats, rule: Floats, available: np.ndarray, committee: Floats, guesses: Floats
) -> None:
    """Write the trusted mean of the guesses, their spread and the probabilities into the action statistics, in place."""
    trusted = trust(rule, committee)
    n_available = 0
    for action in range(statistics.shape[1]):
        n_available += available[action]
    total = 0.0
    for action in range(statistics.shape[1]):
        score, square, share = 0.0, 0.0, 0.0
        for member in range(guesses.shape[0]):
            score += trusted[member] * guesses[member, action]
            square += trusted[member] * guesses[member, action] * guesses[member, action]
            if available[action]:
                share += trusted[member] * lead(guesses[member], available, action)
        statistics[SCORE, action] = statistics[VALUE, action] = score
        statistics[UNCERTAINTY, action] = math.sqrt(max(square - score * score, 0.0))
        statistics[PROBABILITY, action] = (
            rule[GAMMA] / n_available + (1.0 - rule[GAMMA]) * share if available[action] else 0.0
        )
        total += statistics[PROBABILITY, action]
    for action in range(statistics.shape[1]):  # trust may miss 1 by a rounding
        statistics[PROBABILITY, action] /= total


@internal
def credit(rule: Floats, committee: Floats, guesses: Floats, action: int, reward: float, probability: float) -> None:
    """Give every member its estimated reward, in place: its own probability of the action times reward / probability."""
    n_members, n_actions = guesses.shape
    available = np.ones(n_actions, dtype=np.bool_)
    highest = -np.inf
    for member in range(n_members):
        own = rule[GAMMA] / n_actions + (1.0 - rule[GAMMA]) * lead(guesses[member], available, action)
        committee[member, CREDIT] += rule[EXPLORE] / n_members * own * reward / probability
        highest = max(highest, committee[member, CREDIT])
    for member in range(n_members):
        committee[member, CREDIT] -= highest


@kernel
def run(
    rng: RandomState,
    rule: Floats,
    clock: Floats,
    arms: Floats,
    columns: Floats,
    committee: Floats,
    hidden: Floats,
    outputs: Floats,
    statistics: Floats,
    rows: Floats,
    rewards: Floats,
    actions: Integers,
    probabilities: Floats,
    available: np.ndarray,
    does: int,
) -> None:
    """Go along rows, in place: decide, learn given actions, both, or fill the statistics."""
    networks = Networks(hidden, outputs)
    for place in range(rows.shape[0]):
        thoughts = think(committee, columns, networks, rows[place])
        if not does & LEARNS or does & DECIDES:
            fill_statistics(statistics, rule, available, committee, thoughts.guesses)
        if does & DECIDES:
            actions[place] = choice(rng, statistics[PROBABILITY])
            probabilities[place] = statistics[PROBABILITY, actions[place]]
        if does & LEARNS:
            action, probability = actions[place], probabilities[place]
            reward = rewards[place, action if does & DECIDES else 0]
            credit(rule, committee, thoughts.guesses, action, reward, probability)
            correct(committee, networks, thoughts, action, reward, probability)
            features.update(clock, arms, columns, rows[place], action, reward)
