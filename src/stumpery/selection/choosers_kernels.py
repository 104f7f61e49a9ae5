"""Which features to look at: scores from what is known of each, and the feasible set with the largest sum of them.

What is known of a feature is a row of two sums: how often it was looked at, and the rewards of those rounds, each the
reward of the whole set. The kinds EPSILON_GREEDY and WORTH take their scores from the classifier instead.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.random import beta, integer, uniform
from stumpery.types import Floats, Integers, RandomState

PLAYS, REWARD = range(2)
N_SUMS = 2

# The kinds of choosers.
THOMPSON, UPPER_CONFIDENCE, EPSILON_GREEDY, FIXED, EVERYTHING, WORTH = range(6)

# A rule: its kind, how many features it takes, what it may spend (0: prices do not matter), the numbers of its kind.
KIND, SIZE, BUDGET, EPSILON, WIDTH, ALPHA, BETA, FIRST, NON_ZERO = range(9)
N_RULE = 9

PRICE, MARK = range(2)  # of a feature: what it costs, and whether it is one of the fixed


class Arms(NamedTuple):
    """What a chooser knows of every feature."""

    sums: Floats  # (features, N_SUMS)
    facts: Floats  # (features, 2): PRICE and MARK
    clock: Floats  # (1,): rounds learned


@internal
def fill_draws(rng: RandomState, sums: Floats, alpha: float, beta_0: float, scores: Floats) -> None:
    """Draw every arm's mean from its Beta posterior, in place (Algorithm 1, lines 6 to 10)."""
    for arm in range(sums.shape[0]):
        won = sums[arm, REWARD]
        scores[arm] = beta(rng, alpha + won, beta_0 + sums[arm, PLAYS] - won)


@internal
def fill_bounds(sums: Floats, width: float, time: float, scores: Floats) -> None:
    """Write every arm's upper confidence bound, infinite before its first round, in place."""
    for arm in range(sums.shape[0]):
        n = sums[arm, PLAYS]
        scores[arm] = sums[arm, REWARD] / n + math.sqrt(width * math.log(time) / n) if n > 0.0 else np.inf


@internal
def take_top(scores: Floats, size: int, least: float, asked: Integers, best: Floats) -> int:
    """Write the `size` highest scores above `least` in falling order into `asked`, in place; of equals the earlier."""
    n = 0
    for arm in range(scores.shape[0]):
        score = scores[arm]
        if score <= least or (n == size and score <= best[n - 1]):
            continue
        place = n if n < size else size - 1
        while place > 0 and best[place - 1] < score:
            best[place], asked[place] = best[place - 1], asked[place - 1]
            place -= 1
        best[place], asked[place] = score, arm
        if n < size:
            n += 1
    return n


@internal
def take_within(scores: Floats, facts: Floats, size: int, budget: float, asked: Integers, best: Floats) -> int:
    """Write what pays most for its price, again and again while it can be afforded, into `asked`, in place.

    The greedy answer to the knapsack: `best` is scratch, a score that is not above 0 is worth no money, and `size` is
    as many as the cheapest would be.
    """
    n_arms, n, left = scores.shape[0], 0, budget * (1.0 + 1e-12)
    for arm in range(n_arms):
        best[arm] = scores[arm] / facts[arm, PRICE] if scores[arm] > 0.0 else -np.inf
    while n < size:
        top, found = -np.inf, -1
        for arm in range(n_arms):
            if best[arm] > top and facts[arm, PRICE] <= left:
                top, found = best[arm], arm
        if found < 0:
            break
        asked[n] = found
        best[found] = -np.inf
        left -= facts[found, PRICE]
        n += 1
    return n


@internal
def take_any(rng: RandomState, n_arms: int, size: int, asked: Integers, best: Floats) -> int:
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
def take(rule: Floats, facts: Floats, scores: Floats, asked: Integers, best: Floats) -> int:
    """The feasible set with the largest scores: so many features, or what the budget allows."""
    if rule[BUDGET] > 0.0:
        return take_within(scores, facts, int(rule[SIZE]), rule[BUDGET], asked, best)
    return take_top(scores, int(rule[SIZE]), 0.0 if rule[NON_ZERO] > 0.0 else -np.inf, asked, best)


@internal
def choose(rng: RandomState, rule: Floats, arms: Arms, scores: Floats, asked: Integers, best: Floats) -> int:
    """Write the features to look at into `asked`, in place, and give their number.

    Under EPSILON_GREEDY and WORTH `scores` holds the classifier's; otherwise it is scratch, as `best` is.
    """
    n_arms, kind = int(scores.shape[0]), int(rule[KIND])
    if kind == EVERYTHING:
        for arm in range(n_arms):
            asked[arm] = arm
        return n_arms
    if kind == FIXED:
        n = 0
        for arm in range(n_arms):
            if arms.facts[arm, MARK] > 0.0:
                asked[n] = arm
                n += 1
        return n
    if kind == THOMPSON:
        fill_draws(rng, arms.sums, rule[ALPHA], rule[BETA], scores)
    elif kind == UPPER_CONFIDENCE:
        fill_bounds(arms.sums, rule[WIDTH], arms.clock[0] + 1.0, scores)
    elif kind == EPSILON_GREEDY and uniform(rng) < rule[EPSILON]:
        if rule[BUDGET] == 0.0:
            return take_any(rng, n_arms, int(rule[SIZE]), asked, best)
        for arm in range(n_arms):
            scores[arm] = uniform(rng) * arms.facts[arm, PRICE]  # any order, whatever the prices
    return take(rule, arms.facts, scores, asked, best)


@internal
def credit(arms: Arms, asked: Integers, n_asked: int, reward: float) -> None:
    """Fold the reward of a set into each of its features, in place (Algorithm 1, line 13)."""
    for place in range(n_asked):
        arm = asked[place]
        arms.sums[arm, PLAYS] += 1.0
        arms.sums[arm, REWARD] += reward
    arms.clock[0] += 1.0


@kernel
def draw_scores(rng: RandomState, sums: Floats, alpha: float, beta_0: float, scores: Floats) -> None:
    """Draw every arm's mean into `scores`, in place."""
    fill_draws(rng, sums, alpha, beta_0, scores)


@kernel
def top_arms(scores: Floats, size: int) -> Integers:
    """The `size` highest scores' arms, fewer where fewer are above minus infinity, highest first."""
    asked = np.empty(size, dtype=np.int64)
    return asked[: take_top(scores, size, -np.inf, asked, np.empty(size))]
