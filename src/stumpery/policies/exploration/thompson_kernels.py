"""Thompson sampling: draws from posteriors, and an estimate of the probability that an action's draw is the largest.

The posterior of an action's mean reward is a Beta distribution, a normal one for rewards of known standard deviation,
or a normal one around the score, some uncertainties wide.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import internal
from stumpery.policies.exploration.rule_kernels import (
    ACTION_SCORE,
    ACTION_UNCERTAINTY,
    BETA_THOMPSON,
    GAUSSIAN_THOMPSON,
    RULE_KIND,
    RULE_PRIOR_FAILURES,
    RULE_PRIOR_SUCCESSES,
    RULE_STRENGTH,
    UNCERTAINTY_THOMPSON,
)
from stumpery.random import beta, normal
from stumpery.types import Floats, RandomState

MIN_THOMPSON_PROBABILITY = 1e-6  # its inverse stays usable as a weight
N_QUADRATURE_NODES = 24
TAIL_SDS = 4.0  # posterior standard deviations to either side


class Posterior(NamedTuple):
    """A posterior on the scale on which it is most like a normal one: its mean and deviation there, and its density.

    That scale is the reward for a normal posterior, whose shapes a and b are 0, and the log-odds of the reward for a
    Beta one: there even a skewed Beta has two tails, and which of several draws is the largest stays the same.
    """

    mean: float
    sd: float
    a: float
    b: float
    log_normaliser: float  # of the density; 0 where it is not needed


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
def normal_cdf(z: float) -> float:
    """The standard normal distribution function, to 1.5e-4 (Page 1977)."""
    if z < -2.0 * TAIL_SDS:  # an exponential that plain Python refuses
        return 0.0
    return 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.070566 * z * z)))


@internal
def beta_shapes(rule: Floats, statistics: Floats, action: int) -> tuple[float, float]:
    """The Beta posterior's shapes: successes and failures of an action, those of the prior included."""
    n = 1.0 / (statistics[ACTION_UNCERTAINTY, action] * statistics[ACTION_UNCERTAINTY, action])
    successes = (
        n * min(max(statistics[ACTION_SCORE, action], 0.0), 1.0) if n > 0.0 else 0.0
    )  # linear scores may leave 0..1
    return rule[RULE_PRIOR_SUCCESSES] + successes, rule[RULE_PRIOR_FAILURES] + max(n - successes, 0.0)


@internal
def posterior_of(rule: Floats, statistics: Floats, action: int) -> Posterior:
    """The posterior of an action, without its normaliser."""
    if rule[RULE_KIND] == UNCERTAINTY_THOMPSON:
        uncertainty = statistics[ACTION_UNCERTAINTY, action]
        if uncertainty < np.inf:
            return Posterior(statistics[ACTION_SCORE, action], rule[RULE_STRENGTH] * uncertainty, 0.0, 0.0, 0.0)
        return Posterior(0.5, rule[RULE_STRENGTH], 0.0, 0.0, 0.0)  # as after one reward of a half
    a, b = beta_shapes(rule, statistics, action)
    if rule[RULE_KIND] == GAUSSIAN_THOMPSON:
        return Posterior(a / (a + b), rule[RULE_STRENGTH] / math.sqrt(a + b), 0.0, 0.0, 0.0)
    return Posterior(digamma(a) - digamma(b), math.sqrt(trigamma(a) + trigamma(b)), a, b, 0.0)


@internal
def posterior_mean(rule: Floats, statistics: Floats, action: int) -> float:
    """The mean reward of an action by its posterior."""
    if rule[RULE_KIND] == BETA_THOMPSON:
        a, b = beta_shapes(rule, statistics, action)
        return a / (a + b)
    return posterior_of(rule, statistics, action).mean


@internal
def with_normaliser(posterior: Posterior) -> Posterior:
    """The same posterior with the normaliser of its density."""
    mean, sd, a, b, _ = posterior
    if a == 0.0:
        return Posterior(mean, sd, a, b, math.log(sd * math.sqrt(2.0 * math.pi)))
    return Posterior(mean, sd, a, b, log_gamma(a) + log_gamma(b) - log_gamma(a + b))


@internal
def density(posterior: Posterior, x: float) -> float:
    """The density of a posterior that has its normaliser."""
    mean, sd, a, b, log_normaliser = posterior
    if a == 0.0:
        z = (x - mean) / sd
        return math.exp(-0.5 * z * z - log_normaliser)
    log_probability = min(x, 0.0) - math.log1p(math.exp(-abs(x)))
    return math.exp((a + b) * log_probability - b * x - log_normaliser)


@internal
def probability_of_being_optimal(rule: Floats, statistics: Floats, available: np.ndarray, action: int) -> float:
    """Estimate the probability that an action's posterior draw is the largest.

    It is the integral of the action's density times its rivals' distribution functions, which are taken for normal:
    0 below the highest of the rivals' lower tails, the density alone above the highest of their upper tails, and a sum
    over nodes between.
    """
    posterior = with_normaliser(posterior_of(rule, statistics, action))
    low = posterior.mean - 1.5 * TAIL_SDS * posterior.sd
    high = posterior.mean + 1.5 * TAIL_SDS * posterior.sd
    above_all = low  # from here on every rival's distribution function is 1
    means, sds = np.empty(statistics.shape[1]), np.empty(statistics.shape[1])
    n_rivals = 0
    for rival in range(statistics.shape[1]):
        if rival != action and available[rival]:
            other = posterior_of(rule, statistics, rival)
            means[n_rivals], sds[n_rivals] = other.mean, other.sd
            low = max(low, other.mean - TAIL_SDS * other.sd)
            above_all = max(above_all, other.mean + TAIL_SDS * other.sd)
            n_rivals += 1
    if n_rivals == 0:
        return 1.0
    if low >= high:
        return MIN_THOMPSON_PROBABILITY
    above_all = max(min(above_all, high), low)
    step, upper_step = (above_all - low) / N_QUADRATURE_NODES, (high - above_all) / N_QUADRATURE_NODES
    weights = np.empty(N_QUADRATURE_NODES)
    for node in range(N_QUADRATURE_NODES):
        weights[node] = density(posterior, low + (node + 0.5) * step) * step
    for rival in range(n_rivals):
        if means[rival] + TAIL_SDS * sds[rival] > low:
            for node in range(N_QUADRATURE_NODES):
                weights[node] *= normal_cdf((low + (node + 0.5) * step - means[rival]) / sds[rival])
    probability = 0.0
    for node in range(N_QUADRATURE_NODES):
        probability += weights[node] + density(posterior, above_all + (node + 0.5) * upper_step) * upper_step
    return min(max(probability, MIN_THOMPSON_PROBABILITY), 1.0)


@internal
def sample_posteriors(rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray) -> int:
    """Draw once from every available action's posterior; return the action of the largest draw."""
    winner, highest = -1, -np.inf
    for action in range(statistics.shape[1]):
        if available[action]:
            if rule[RULE_KIND] == BETA_THOMPSON:
                a, b = beta_shapes(rule, statistics, action)
                draw = beta(rng, a, b)
            else:
                posterior = posterior_of(rule, statistics, action)
                draw = posterior.mean + posterior.sd * normal(rng)
            if winner < 0 or draw > highest:
                winner, highest = action, draw
    return winner
