"""From scores and uncertainties to a choice and its probability.

A scorer gives every action a score (an estimate of its reward, on the scale 0 to 1) and a uncertainty: 1 / sqrt(n) after n
rewards, infinite before the first. An explorer's rule is one small array, so that every scorer's kernels can hold any
explorer. All kinds but Thompson sampling fill a vector of probabilities and draw once from it: the probability of a choice
is exact. Thompson sampling draws from the posteriors; the probability of its choice is an estimate (see `lead`).
Its rules are a matrix of one row: by that the compiler knows which half of this file a policy needs, and leaves out the
other.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal, kernel
from stumpery.random import beta, choice, integer, normal, uniform
from stumpery.types import Floats, RandomState

GREEDY, UPPER_CONFIDENCE, INVERSE_GAP, BETA_THOMPSON, GAUSSIAN_THOMPSON, UNCERTAINTY_THOMPSON = range(6)

# A rule's fields. STRENGTH is rho, the scale of the inverse gap, the rewards' standard deviation, or how many uncertainties a
# draw is wide; BONUS is how many uncertainties are added to a score.
KIND, EPSILON, DECAY, FLOOR, STRENGTH, PRIOR_SUCCESSES, PRIOR_FAILURES, BONUS = range(8)
N_RULE_FIELDS = 8

# Action statistics's rows, each with a column per action.
SCORE, UNCERTAINTY, VALUE, PROBABILITY = range(4)
N_STATISTICS = 4

DECIDES, LEARNS = 1, 2  # what a contextual policy's run along rows does; neither: it only fills the statistics

MIN_PROBABILITY = 1e-6  # of a Thompson choice: its inverse stays usable as a weight
N_QUADRATURE_NODES = 24
TAIL_SDS = 4.0  # posterior standard deviations to either side


def new_action_statistics(n_actions: int) -> Floats:
    """Action statistics on which nothing is known yet."""
    statistics = np.zeros((N_STATISTICS, n_actions))
    statistics[UNCERTAINTY] = np.inf
    return statistics


@internal
def epsilon_at(rule: Floats, time: float) -> float:
    """The share of uniform choices at a time: epsilon * time^-decay, never below the floor."""
    epsilon: float = rule[EPSILON]
    if rule[DECAY] != 0.0:
        epsilon *= time ** -rule[DECAY]
    floor: float = rule[FLOOR]
    return max(epsilon, floor)


class Ranking(NamedTuple):
    """The highest value on action statistics, who has it first, how many share it, and of how many actions."""

    best: float
    leader: int
    n_best: int
    n_available: int


@internal
def rank(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> Ranking:
    """Write every value into the action statistics, in place: the score, plus a bonus where the rule has one and there is uncertainty."""
    scores, uncertainties, values = statistics[SCORE], statistics[UNCERTAINTY], statistics[VALUE]
    bonus = rule[BONUS]
    if rule[KIND] == UPPER_CONFIDENCE:
        bonus += math.sqrt(rule[STRENGTH] * math.log(time))
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
def nth(statistics: Floats, available: np.ndarray, least: float, n: int) -> int:
    """The n-th available action, from 0, whose value is at least `least`."""
    for action in range(statistics.shape[1]):
        if available[action] and statistics[VALUE, action] >= least:
            if n == 0:
                return action
            n -= 1
    return -1


@internal
def best_action(rng: RandomState, statistics: Floats, available: np.ndarray, ranking: Ranking) -> int:
    """The action of the highest value, drawn where several share it."""
    if ranking.n_best == 1:
        return ranking.leader
    return nth(statistics, available, ranking.best, integer(rng, ranking.n_best))


class Posterior(NamedTuple):
    """A posterior on the scale on which it is most like a bell: its middle and spread there, and its density's terms.

    That scale is the reward for a normal posterior, whose shapes are 0, and the reward's log odds for a Beta one: there
    even a lopsided Beta has a middle and two tails, and which of several draws is the largest stays the same.
    """

    middle: float
    sd: float
    a: float
    b: float
    log_scale: float


@internal
def log_gamma(x: float) -> float:
    """The logarithm of the Gamma function, to 1e-6; the library's own differs between compiled and plain Python."""
    y = x + 5.0
    steps = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0)
    return (y - 0.5) * math.log(y) - y + 0.9189385332046727 + 1.0 / (12.0 * y) - math.log(steps)


@internal
def digamma(x: float) -> float:
    """The logarithmic derivative of the Gamma function, to 1e-5: its recurrence, then its series."""
    y = x + 3.0
    return math.log(y) - 0.5 / y - 1.0 / (12.0 * y * y) - 1.0 / x - 1.0 / (x + 1.0) - 1.0 / (x + 2.0)


@internal
def trigamma(x: float) -> float:
    """The derivative of `digamma`, to 1e-4."""
    y = x + 3.0
    rest = 1.0 / y + 0.5 / (y * y) + 1.0 / (6.0 * y * y * y)
    return rest + 1.0 / (x * x) + 1.0 / ((x + 1.0) * (x + 1.0)) + 1.0 / ((x + 2.0) * (x + 2.0))


@internal
def shapes(rule: Floats, statistics: Floats, action: int) -> tuple[float, float]:
    """Successes and failures of an action, the prior's among them."""
    n = 1.0 / (statistics[UNCERTAINTY, action] * statistics[UNCERTAINTY, action])
    successes = n * min(max(statistics[SCORE, action], 0.0), 1.0) if n > 0.0 else 0.0  # a linear score may leave 0..1
    return rule[PRIOR_SUCCESSES] + successes, rule[PRIOR_FAILURES] + max(n - successes, 0.0)


@internal
def belief_in(rule: Floats, statistics: Floats, action: int) -> Posterior:
    """What Thompson sampling believes of an action, but for the scale of its density."""
    if rule[KIND] == UNCERTAINTY_THOMPSON:
        if statistics[UNCERTAINTY, action] < np.inf:
            return Posterior(statistics[SCORE, action], rule[STRENGTH] * statistics[UNCERTAINTY, action], 0.0, 0.0, 0.0)
        return Posterior(0.5, rule[STRENGTH], 0.0, 0.0, 0.0)  # as after one reward of a half
    a, b = shapes(rule, statistics, action)
    if rule[KIND] == GAUSSIAN_THOMPSON:
        return Posterior(a / (a + b), rule[STRENGTH] / math.sqrt(a + b), 0.0, 0.0, 0.0)
    return Posterior(digamma(a) - digamma(b), math.sqrt(trigamma(a) + trigamma(b)), a, b, 0.0)


@internal
def expected(rule: Floats, statistics: Floats, action: int) -> float:
    """The mean reward that Thompson sampling believes in."""
    if rule[KIND] == BETA_THOMPSON:
        a, b = shapes(rule, statistics, action)
        return a / (a + b)
    return belief_in(rule, statistics, action).middle


@internal
def scaled(belief: Posterior) -> Posterior:
    """The same belief with the scale of its density."""
    middle, sd, a, b, _ = belief
    if a == 0.0:
        return Posterior(middle, sd, a, b, math.log(sd * math.sqrt(2.0 * math.pi)))
    return Posterior(middle, sd, a, b, log_gamma(a) + log_gamma(b) - log_gamma(a + b))


@internal
def density(belief: Posterior, x: float) -> float:
    """The density of a scaled belief."""
    middle, sd, a, b, log_scale = belief
    if a == 0.0:
        z = (x - middle) / sd
        return math.exp(-0.5 * z * z - log_scale)
    log_probability = min(x, 0.0) - math.log1p(math.exp(-abs(x)))
    return math.exp((a + b) * log_probability - b * x - log_scale)


@internal
def below(z: float) -> float:
    """The standard normal distribution function, to 1.5e-4 (Page 1977)."""
    if z < -2.0 * TAIL_SDS:  # an exponential that plain Python refuses
        return 0.0
    return 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.070566 * z * z)))


@internal
def probability_of_being_optimal(rule: Floats, statistics: Floats, available: np.ndarray, action: int) -> float:
    """Estimate the probability that an action's posterior draw is the largest.

    It is the integral of the action's density times its rivals' distribution functions: none of it below the highest of
    the rivals' low ends, all of the density above the highest of their high ends, and a sum over nodes between.
    """
    belief = scaled(belief_in(rule, statistics, action))
    low, high = belief.middle - 1.5 * TAIL_SDS * belief.sd, belief.middle + 1.5 * TAIL_SDS * belief.sd
    settled = low  # from here on the rivals are beaten
    middles, sds = np.empty(statistics.shape[1]), np.empty(statistics.shape[1])
    n_rivals = 0
    for rival in range(statistics.shape[1]):
        if rival != action and available[rival]:
            other = belief_in(rule, statistics, rival)
            middles[n_rivals], sds[n_rivals] = other.middle, other.sd
            low = max(low, other.middle - TAIL_SDS * other.sd)
            settled = max(settled, other.middle + TAIL_SDS * other.sd)
            n_rivals += 1
    if n_rivals == 0:
        return 1.0
    if low >= high:
        return MIN_PROBABILITY
    settled = max(min(settled, high), low)
    step, rest = (settled - low) / N_QUADRATURE_NODES, (high - settled) / N_QUADRATURE_NODES
    weights = np.empty(N_QUADRATURE_NODES)
    for node in range(N_QUADRATURE_NODES):
        weights[node] = density(belief, low + (node + 0.5) * step) * step
    for rival in range(n_rivals):
        if middles[rival] + TAIL_SDS * sds[rival] > low:
            for node in range(N_QUADRATURE_NODES):
                weights[node] *= below((low + (node + 0.5) * step - middles[rival]) / sds[rival])
    probability = 0.0
    for node in range(N_QUADRATURE_NODES):
        probability += weights[node] + density(belief, settled + (node + 0.5) * rest) * rest
    return min(max(probability, MIN_PROBABILITY), 1.0)


@kernel
def fill_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's probability into the action statistics, in place."""
    if rule.ndim == 2:
        fill_posterior_probabilities(rule[0], statistics, available, time)
    else:
        fill_exact_probabilities(rule, statistics, available, time)


@internal
def fill_exact_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Those of all rules but Thompson's."""
    best, _, n_best, n_available = rank(rule, statistics, available, time)
    epsilon = epsilon_at(rule, time)
    sharpness = rule[STRENGTH] * math.sqrt(time)
    left = 1.0
    for action in range(statistics.shape[1]):
        share = 0.0
        if available[action]:
            if rule[KIND] == INVERSE_GAP and statistics[VALUE, action] < best < np.inf:
                share = 1.0 / (n_available + sharpness * (best - statistics[VALUE, action]))
            left -= share
            share = epsilon / n_available + (1.0 - epsilon) * share
        statistics[PROBABILITY, action] = share
    for action in range(statistics.shape[1]):
        if available[action] and statistics[VALUE, action] == best:
            statistics[PROBABILITY, action] = epsilon / n_available + (1.0 - epsilon) * left / n_best


@internal
def fill_posterior_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Those of Thompson's rules."""
    n_available = rank(rule, statistics, available, time).n_available
    epsilon = epsilon_at(rule, time)
    for action in range(statistics.shape[1]):
        share = 0.0
        if available[action]:
            share = epsilon / n_available + (1.0 - epsilon) * probability_of_being_optimal(
                rule, statistics, available, action
            )
            statistics[VALUE, action] = expected(rule, statistics, action)
        statistics[PROBABILITY, action] = share


@internal
def sample(rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray) -> int:
    """Draw once from every available action's posterior and take the largest."""
    winner, highest = -1, -np.inf
    for action in range(statistics.shape[1]):
        if available[action]:
            if rule[KIND] == BETA_THOMPSON:
                a, b = shapes(rule, statistics, action)
                draw = beta(rng, a, b)
            else:
                belief = belief_in(rule, statistics, action)
                draw = belief.middle + belief.sd * normal(rng)
            if winner < 0 or draw > highest:
                winner, highest = action, draw
    return winner


@kernel
def choose(rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw an action; give it and the probability with which it was drawn. Values and probabilities in the action statistics are scratch."""
    if rule.ndim == 2:
        return choose_sampled(rng, rule[0], statistics, available, time)
    return choose_ranked(rng, rule, statistics, available, time)


@internal
def choose_ranked(
    rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float
) -> tuple[int, float]:
    """Draw by any rule but Thompson's."""
    if rule[KIND] == INVERSE_GAP:
        fill_exact_probabilities(rule, statistics, available, time)
        action = choice(rng, statistics[PROBABILITY])
        return action, statistics[PROBABILITY, action]
    ranking = rank(rule, statistics, available, time)
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth(statistics, available, -np.inf, integer(rng, ranking.n_available))
    else:
        action = best_action(rng, statistics, available, ranking)
    share = 1.0 / ranking.n_best if statistics[VALUE, action] == ranking.best else 0.0
    return action, epsilon / ranking.n_available + (1.0 - epsilon) * share


@internal
def choose_sampled(
    rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float
) -> tuple[int, float]:
    """Draw by one of Thompson's rules."""
    n_available = rank(rule, statistics, available, time).n_available
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth(statistics, available, -np.inf, integer(rng, n_available))
    else:
        action = sample(rng, rule, statistics, available)
    return action, epsilon / n_available + (1.0 - epsilon) * probability_of_being_optimal(
        rule, statistics, available, action
    )
