"""Selection of features: a score for each feature, and the feasible set with the largest sum of scores.

A feature is an arm of a bandit with two sums: how often it was selected, and the rewards of those rounds, each the
reward of the whole set. The kinds EPSILON_GREEDY and LOSS_REDUCTION take their scores from the classifier instead.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.random import beta, integer, uniform
from stumpery.types import Floats, Integers, RandomState

ARM_PLAYS, ARM_REWARD = range(2)
N_ARM_FIELDS = 2

# The kinds of choosers.
THOMPSON, UPPER_CONFIDENCE, EPSILON_GREEDY, FIXED, EVERYTHING, LOSS_REDUCTION = range(6)

# Fields of a rule: its kind, the size of a set, the budget (0: prices do not matter), and the parameters of its kind.
RULE_KIND, RULE_SIZE, RULE_BUDGET, RULE_EPSILON, RULE_WIDTH, RULE_ALPHA, RULE_BETA, RULE_FIRST, RULE_NON_ZERO = range(9)
N_RULE_FIELDS = 9

FEATURE_PRICE, FEATURE_IS_FIXED = range(2)


class FeatureArms(NamedTuple):
    """The state of a chooser: every feature as an arm."""

    sums: Floats  # (features, N_SUMS)
    facts: Floats  # (features, 2): FEATURE_PRICE and FEATURE_IS_FIXED
    clock: Floats  # (1,): rounds learned


@internal
def fill_posterior_draws(rng: RandomState, sums: Floats, alpha: float, beta_0: float, scores: Floats) -> None:
    """Draw every arm's mean from its Beta posterior into `scores`, in place (Algorithm 1, lines 6 to 10)."""
    for arm in range(sums.shape[0]):
        successes = sums[arm, ARM_REWARD]
        scores[arm] = beta(rng, alpha + successes, beta_0 + sums[arm, ARM_PLAYS] - successes)


@internal
def fill_bounds(sums: Floats, width: float, time: float, scores: Floats) -> None:
    """Write every arm's upper confidence bound into `scores`, in place; it is infinite before the first round."""
    for arm in range(sums.shape[0]):
        n = sums[arm, ARM_PLAYS]
        scores[arm] = sums[arm, ARM_REWARD] / n + math.sqrt(width * math.log(time) / n) if n > 0.0 else np.inf


@internal
def take_top(scores: Floats, size: int, threshold: float, asked: Integers, best: Floats) -> int:
    """Write the arms of the `size` highest scores above a threshold into `asked`, in place; return how many."""
    n = 0
    for arm in range(scores.shape[0]):
        score = scores[arm]
        if score <= threshold or (n == size and score <= best[n - 1]):
            continue
        rank = n if n < size else size - 1
        while rank > 0 and best[rank - 1] < score:
            best[rank], asked[rank] = best[rank - 1], asked[rank - 1]
            rank -= 1
        best[rank], asked[rank] = score, arm
        if n < size:
            n += 1
    return n


@internal
def take_within(scores: Floats, facts: Floats, size: int, budget: float, asked: Integers, best: Floats) -> int:
    """Write a set within the budget into `asked`, in place, by the greedy knapsack algorithm; return its size.

    Arms are taken in the order of score over price while they can be afforded, those with scores above 0 only. `best`
    is scratch, and `size` is the largest number of arms that the budget affords.
    """
    n_arms, n, rest = scores.shape[0], 0, budget * (1.0 + 1e-12)
    for arm in range(n_arms):
        best[arm] = scores[arm] / facts[arm, FEATURE_PRICE] if scores[arm] > 0.0 else -np.inf
    while n < size:
        highest, chosen = -np.inf, -1
        for arm in range(n_arms):
            if best[arm] > highest and facts[arm, FEATURE_PRICE] <= rest:
                highest, chosen = best[arm], arm
        if chosen < 0:
            break
        asked[n] = chosen
        best[chosen] = -np.inf
        rest -= facts[chosen, FEATURE_PRICE]
        n += 1
    return n


@internal
def take_random(rng: RandomState, n_arms: int, size: int, asked: Integers, best: Floats) -> int:
    """Write a random set of `size` arms into `asked`, in place (Floyd's algorithm; `best` is scratch)."""
    for arm in range(n_arms):
        best[arm] = 0.0
    for n in range(size):
        last = n_arms - size + n
        arm = integer(rng, last + 1)
        if best[arm] > 0.0:
            arm = last
        best[arm] = 1.0
        asked[n] = arm
    return size


@internal
def take_best_set(rule: Floats, facts: Floats, scores: Floats, asked: Integers, best: Floats) -> int:
    """Write the feasible set with the largest sum of scores into `asked`, in place; return its size."""
    if rule[RULE_BUDGET] > 0.0:
        return take_within(scores, facts, int(rule[RULE_SIZE]), rule[RULE_BUDGET], asked, best)
    return take_top(scores, int(rule[RULE_SIZE]), 0.0 if rule[RULE_NON_ZERO] > 0.0 else -np.inf, asked, best)


@internal
def choose(rng: RandomState, rule: Floats, arms: FeatureArms, scores: Floats, asked: Integers, best: Floats) -> int:
    """Write the selected features into `asked`, in place; return how many.

    For EPSILON_GREEDY and LOSS_REDUCTION `scores` are the classifier's, otherwise scratch, as `best` is.
    """
    n_arms, kind = int(scores.shape[0]), int(rule[RULE_KIND])
    if kind == EVERYTHING:
        for arm in range(n_arms):
            asked[arm] = arm
        return n_arms
    if kind == FIXED:
        n = 0
        for arm in range(n_arms):
            if arms.facts[arm, FEATURE_IS_FIXED] > 0.0:
                asked[n] = arm
                n += 1
        return n
    if kind == THOMPSON:
        fill_posterior_draws(rng, arms.sums, rule[RULE_ALPHA], rule[RULE_BETA], scores)
    elif kind == UPPER_CONFIDENCE:
        fill_bounds(arms.sums, rule[RULE_WIDTH], arms.clock[0] + 1.0, scores)
    elif kind == EPSILON_GREEDY and uniform(rng) < rule[RULE_EPSILON]:
        if rule[RULE_BUDGET] == 0.0:
            return take_random(rng, n_arms, int(rule[RULE_SIZE]), asked, best)
        for arm in range(n_arms):
            scores[arm] = uniform(rng) * arms.facts[arm, FEATURE_PRICE]  # a random order, whatever the prices
    return take_best_set(rule, arms.facts, scores, asked, best)


@internal
def reward_set(arms: FeatureArms, asked: Integers, n_asked: int, reward: float) -> None:
    """Add the reward of a set to each of its features, in place (Algorithm 1, line 13)."""
    for index in range(n_asked):
        arm = asked[index]
        arms.sums[arm, ARM_PLAYS] += 1.0
        arms.sums[arm, ARM_REWARD] += reward
    arms.clock[0] += 1.0


@kernel
def draw_scores(rng: RandomState, sums: Floats, alpha: float, beta_0: float, scores: Floats) -> None:
    """Draw every arm's mean from its Beta posterior into `scores`, in place."""
    fill_posterior_draws(rng, sums, alpha, beta_0, scores)


@kernel
def top_arms(scores: Floats, size: int) -> Integers:
    """The arms of the `size` highest scores above minus infinity, highest first."""
    asked = np.empty(size, dtype=np.int64)
    return asked[: take_top(scores, size, -np.inf, asked, np.empty(size))]
