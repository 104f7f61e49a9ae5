"""Off-policy evaluation, event by event: estimators, confidence sequences by numerical integration and by bets."""

import math


def weights_of(target, logged):
    return [p / q for p, q in zip(target, logged, strict=True)]


def ips(weights, rewards):
    total = 0.0
    for w, r in zip(weights, rewards, strict=True):
        total += w * r
    return total / len(rewards)


def snips(weights, rewards):
    above = below = 0.0
    for w, r in zip(weights, rewards, strict=True):
        above += w * r
        below += w
    return above / below


def doubly_robust(weights, rewards, predicted, values):
    total = 0.0
    for w, r, q, v in zip(weights, rewards, predicted, values, strict=True):
        total += v + w * (r - q)
    return total / len(rewards)


def self_normalised_dr(weights, rewards, predicted, values):
    errors = [w * (r - q) for w, r, q in zip(weights, rewards, predicted, strict=True)]
    return sum(values) / len(values) + sum(errors) / sum(weights)


def clipped(weights, limit):
    return [w if w < limit else limit for w in weights]


def switched(weights, limit):
    return [w if w <= limit else 0.0 for w in weights]


def shrunk(weights, strength):
    return [strength * w / (w * w + strength) for w in weights]


def sequence_sums(terms, floor, cap):
    """The sum of terms and the sum of squared deviations from predictable means, both scaled by floor + cap."""
    total = squares = 0.0
    for n, term in enumerate(terms):
        predicted = min(max((total + 0.5) / (n + 1.0), -floor), cap)
        squares += ((term - predicted) / (floor + cap)) ** 2
        total += term
    return total / (floor + cap), squares


def log_wealth(s, v, n_steps=200_000):
    """The logarithm of the mixture of bets, by the midpoint rule over stakes between 0 and 1.

    The density of a stake is that of Howard et al. 2021: proportional to (1 - stake)^(rho - 1) exp(-rho (1 - stake))
    with rho = 1; a bet's wealth is exp(stake * s - (-log(1 - stake) - stake) * v).
    """
    logs = []
    for step in range(n_steps):
        stake = (step + 0.5) / n_steps
        bet = stake * s + (math.log1p(-stake) + stake) * v
        logs.append(bet - (1.0 - stake))
    top = max(logs)
    mixture = sum(math.exp(each - top) for each in logs) / n_steps
    return top + math.log(mixture) - math.log(1.0 - math.exp(-1.0))


def betting_wealth(terms, floor, mean):
    """The logarithm of the mean wealth of twelve constant bets against a mean of terms of -floor or more.

    Waudby-Smith and Ramdas 2023: a bet's wealth is the product of 1 + stake * (x - mean), with terms and mean scaled to
    x = (term + floor) / (1 + floor). Stakes are 3/4, 3/8, 3/16, ...
    """
    logs = []
    for power in range(12):
        stake, wealth = 0.75 * 0.5**power, 0.0
        for term in terms:
            wealth += math.log1p(stake * (term - mean) / (1.0 + floor))
        logs.append(wealth)
    top = max(logs)
    return top + math.log(sum(math.exp(each - top) for each in logs) / 12.0)


def betting_lower(terms, floor, alpha):
    """The greatest mean in 0..1 at which the bets' wealth is above 1 / alpha, by bisection."""
    if betting_wealth(terms, floor, 0.0) <= math.log(1.0 / alpha):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        if betting_wealth(terms, floor, middle) > math.log(1.0 / alpha):
            low = middle
        else:
            high = middle
    return low
