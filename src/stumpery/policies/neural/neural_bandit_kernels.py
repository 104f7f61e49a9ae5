"""NeuralBandit: a committee of neural networks weighted by Exp3 (Allesiardo, Féraud and Bouneffouf 2014).

A member plays the action of its highest prediction, or any action with the probability gamma. Exp3 (Auer et al. 2002)
learns the probability of each member. The probability of an action is the mean of the members' probabilities, weighted
by those of the members, so that it is exact, and every member is rewarded for what it would have played.
"""

import math

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies import standardisation_kernels as features
from stumpery.policies.exploration.rule_kernels import (
    ACTION_PROBABILITY,
    ACTION_SCORE,
    ACTION_UNCERTAINTY,
    ACTION_VALUE,
)
from stumpery.policies.mode_kernels import DECIDES, FILLS, LEARNS, reward_of, write_probabilities_and_scores
from stumpery.policies.neural.network_kernels import MEMBER_LOG_WEIGHT, Networks, backpropagate, forward
from stumpery.random import choice
from stumpery.types import Floats, Integers, RandomState

# Fields of the options: the probabilities of a uniform choice among actions and among members.
OPTION_GAMMA, OPTION_EXPLORE = range(2)


@internal
def greedy_share(predictions: Floats, available: np.ndarray, action: int) -> float:
    """A member's greedy probability of an action: 1 if its prediction is the highest, equal shares for ties."""
    n_best = 1
    for other in range(predictions.shape[0]):
        if available[other]:
            if predictions[other] > predictions[action]:
                return 0.0
            n_best += other != action and predictions[other] == predictions[action]
    return 1.0 / n_best


@kernel
def member_probabilities(options: Floats, committee: Floats) -> Floats:
    """The Exp3 probability of every member; log-weights are at most 0 and one of them is 0."""
    probabilities = np.empty(committee.shape[0])
    total = 0.0
    for member in range(probabilities.shape[0]):
        probabilities[member] = math.exp(committee[member, MEMBER_LOG_WEIGHT])
        total += probabilities[member]
    for member in range(probabilities.shape[0]):
        probabilities[member] = (
            options[OPTION_EXPLORE] / probabilities.shape[0]
            + (1.0 - options[OPTION_EXPLORE]) * probabilities[member] / total
        )
    return probabilities


@internal
def fill_statistics(
    statistics: Floats, options: Floats, available: np.ndarray, committee: Floats, predictions: Floats
) -> None:
    """Write the weighted mean and deviation of the predictions and the probabilities into the statistics, in place."""
    weights = member_probabilities(options, committee)
    n_available = 0
    for action in range(statistics.shape[1]):
        n_available += available[action]
    total = 0.0
    for action in range(statistics.shape[1]):
        score, square, greedy = 0.0, 0.0, 0.0
        for member in range(predictions.shape[0]):
            score += weights[member] * predictions[member, action]
            square += weights[member] * predictions[member, action] * predictions[member, action]
            if available[action]:
                greedy += weights[member] * greedy_share(predictions[member], available, action)
        statistics[ACTION_SCORE, action] = statistics[ACTION_VALUE, action] = score
        statistics[ACTION_UNCERTAINTY, action] = math.sqrt(max(square - score * score, 0.0))
        statistics[ACTION_PROBABILITY, action] = (
            options[OPTION_GAMMA] / n_available + (1.0 - options[OPTION_GAMMA]) * greedy if available[action] else 0.0
        )
        total += statistics[ACTION_PROBABILITY, action]
    for action in range(statistics.shape[1]):  # weights may miss 1 by a rounding error
        statistics[ACTION_PROBABILITY, action] /= total


@internal
def update_credits(
    options: Floats, committee: Floats, predictions: Floats, action: int, reward: float, probability: float
) -> None:
    """Update every member's log-weight, in place, by its own probability of the action times reward / probability."""
    n_members, n_actions = predictions.shape
    available = np.ones(n_actions, dtype=np.bool_)
    highest = -np.inf
    for member in range(n_members):
        member_probability = options[OPTION_GAMMA] / n_actions + (1.0 - options[OPTION_GAMMA]) * greedy_share(
            predictions[member], available, action
        )
        committee[member, MEMBER_LOG_WEIGHT] += (
            options[OPTION_EXPLORE] / n_members * member_probability * reward / probability
        )
        highest = max(highest, committee[member, MEMBER_LOG_WEIGHT])
    for member in range(n_members):
        committee[member, MEMBER_LOG_WEIGHT] -= highest


@kernel
def run(
    rng: RandomState,
    options: Floats,
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
    mode: int,
) -> None:
    """Go along rows by `mode`, in place: decide, learn the given actions, both, or only fill the statistics."""
    networks = Networks(hidden, outputs)
    for row in range(rows.shape[0]):
        passed = forward(committee, columns, networks, rows[row])
        if mode != LEARNS:
            fill_statistics(statistics, options, available, committee, passed.predictions)
        if mode & DECIDES:
            actions[row] = choice(rng, statistics[ACTION_PROBABILITY])
            probabilities[row] = statistics[ACTION_PROBABILITY, actions[row]]
        action, probability = actions[row], probabilities[row]
        reward = reward_of(rewards, row, action, mode) if mode & LEARNS else 0.0
        if mode & FILLS:
            write_probabilities_and_scores(statistics, rewards, row)
        if mode & LEARNS:
            update_credits(options, committee, passed.predictions, action, reward, probability)
            backpropagate(committee, networks, passed, action, reward, probability)
            features.count_event(clock, arms, columns, rows[row], action, reward)
