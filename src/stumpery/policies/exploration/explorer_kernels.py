"""Explorers: from scores, uncertainties and the time to one drawn action and the probability with which it was drawn.

Ranking rules (greedy, upper confidence, inverse gap) are a vector, and their probabilities are exact. Rules of Thompson
sampling are a matrix of one row, and their probabilities are estimates (`thompson_kernels.py`): by the number of
dimensions the compiler knows which a policy needs, and leaves out the other.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.policies.exploration.rule_kernels import (
    ACTION_PROBABILITY,
    ACTION_SCORE,
    ACTION_UNCERTAINTY,
    ACTION_VALUE,
    INVERSE_GAP,
    RULE_BONUS,
    RULE_DECAY,
    RULE_EPSILON,
    RULE_FLOOR,
    RULE_KIND,
    RULE_MANY,
    RULE_STRENGTH,
    UPPER_CONFIDENCE,
)
from stumpery.policies.exploration.thompson_kernels import (
    posterior_mean,
    probability_of_being_optimal,
    sample_posteriors,
)
from stumpery.random import choice, integer, uniform
from stumpery.types import Floats, RandomState


class Ranking(NamedTuple):
    """The highest value, the first action that has it, how many share it, and how many actions are available."""

    best: float
    leader: int
    n_best: int
    n_available: int


@internal
def epsilon_at(rule: Floats, time: float) -> float:
    """The probability of a uniform choice at a time: epsilon * time^-decay, at least the floor."""
    epsilon: float = rule[RULE_EPSILON]
    if rule[RULE_DECAY] != 0.0:
        epsilon *= time ** -rule[RULE_DECAY]
    floor: float = rule[RULE_FLOOR]
    return max(epsilon, floor)


@internal
def nth_candidate(statistics: Floats, available: np.ndarray, threshold: float, n: int) -> int:
    """The n-th available action, from 0, whose value is at least a threshold."""
    for action in range(statistics.shape[1]):
        if available[action] and statistics[ACTION_VALUE, action] >= threshold:
            if n == 0:
                return action
            n -= 1
    return -1


@internal
def rank(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> Ranking:
    """Write every available action's value into the statistics, in place: score plus bonus for uncertainty."""
    scores, uncertainties, values = statistics[ACTION_SCORE], statistics[ACTION_UNCERTAINTY], statistics[ACTION_VALUE]
    bonus = rule[RULE_BONUS]
    if rule[RULE_MANY] > 0.0:
        bonus *= math.sqrt(min(rule[RULE_MANY] / available.sum(), 1.0))
    if rule[RULE_KIND] == UPPER_CONFIDENCE:
        bonus += math.sqrt(rule[RULE_STRENGTH] * math.log(time))
    best, leader, n_best, n_available = -np.inf, -1, 0, 0
    for action in range(scores.shape[0]):
        if not available[action]:
            continue
        n_available += 1
        value = scores[action]
        if bonus > 0.0 and uncertainties[action] < np.inf:
            value += bonus * uncertainties[action]
        values[action] = value
        if value > best or leader < 0:
            best, leader, n_best = value, action, 1
        elif value == best:
            n_best += 1
    return Ranking(best, leader, n_best, n_available)


@internal
def best_action(rng: RandomState, statistics: Floats, available: np.ndarray, ranking: Ranking) -> int:
    """The action of the highest value; ties are drawn."""
    if ranking.n_best == 1:
        return ranking.leader
    return nth_candidate(statistics, available, ranking.best, integer(rng, ranking.n_best))


@internal
def fill_ranked_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's exact probability into the statistics, in place."""
    best, _, n_best, n_available = rank(rule, statistics, available, time)
    epsilon = epsilon_at(rule, time)
    gap_scale = rule[RULE_STRENGTH] * math.sqrt(time)
    if 0.0 < rule[RULE_MANY] < n_available:
        gap_scale *= n_available / rule[RULE_MANY]
    rest = 1.0
    for action in range(statistics.shape[1]):
        probability = 0.0
        if available[action]:
            if rule[RULE_KIND] == INVERSE_GAP and statistics[ACTION_VALUE, action] < best < np.inf:
                probability = 1.0 / (n_available + gap_scale * (best - statistics[ACTION_VALUE, action]))
            rest -= probability
            probability = epsilon / n_available + (1.0 - epsilon) * probability
        statistics[ACTION_PROBABILITY, action] = probability
    for action in range(statistics.shape[1]):
        if available[action] and statistics[ACTION_VALUE, action] == best:
            statistics[ACTION_PROBABILITY, action] = epsilon / n_available + (1.0 - epsilon) * rest / n_best


@internal
def choose_ranked(
    rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float
) -> tuple[int, float]:
    """Draw an action by a ranking rule; return it and its exact probability."""
    if rule[RULE_KIND] == INVERSE_GAP:
        fill_ranked_probabilities(rule, statistics, available, time)
        action = choice(rng, statistics[ACTION_PROBABILITY])
        return action, statistics[ACTION_PROBABILITY, action]
    ranking = rank(rule, statistics, available, time)
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth_candidate(statistics, available, -np.inf, integer(rng, ranking.n_available))
    else:
        action = best_action(rng, statistics, available, ranking)
    greedy = 1.0 / ranking.n_best if statistics[ACTION_VALUE, action] == ranking.best else 0.0
    return action, epsilon / ranking.n_available + (1.0 - epsilon) * greedy


@internal
def fill_thompson_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's posterior mean and estimated probability into the statistics, in place."""
    n_available = rank(rule, statistics, available, time).n_available
    epsilon = epsilon_at(rule, time)
    for action in range(statistics.shape[1]):
        probability = 0.0
        if available[action]:
            optimal = probability_of_being_optimal(rule, statistics, available, action)
            probability = epsilon / n_available + (1.0 - epsilon) * optimal
            statistics[ACTION_VALUE, action] = posterior_mean(rule, statistics, action)
        statistics[ACTION_PROBABILITY, action] = probability


@internal
def choose_by_thompson(
    rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float
) -> tuple[int, float]:
    """Draw an action by Thompson sampling; return it and its estimated probability."""
    n_available = rank(rule, statistics, available, time).n_available
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth_candidate(statistics, available, -np.inf, integer(rng, n_available))
    else:
        action = sample_posteriors(rng, rule, statistics, available)
    optimal = probability_of_being_optimal(rule, statistics, available, action)
    return action, epsilon / n_available + (1.0 - epsilon) * optimal


@kernel
def choose(rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw an action; return it and its probability. Values and probabilities in the statistics are overwritten."""
    if rule.ndim == 2:
        return choose_by_thompson(rng, rule[0], statistics, available, time)
    return choose_ranked(rng, rule, statistics, available, time)


@kernel
def fill_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's value and probability into the statistics, in place."""
    if rule.ndim == 2:
        fill_thompson_probabilities(rule[0], statistics, available, time)
    else:
        fill_ranked_probabilities(rule, statistics, available, time)
