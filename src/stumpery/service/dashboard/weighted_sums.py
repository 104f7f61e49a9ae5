"""Sums of importance weights and rewards, for estimates by self-normalised inverse propensity weights."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

NORMAL_95 = 1.959963984540054


class Estimate(NamedTuple):
    """A mean with a 95 % interval by the normal distribution; None where there is nothing to estimate from."""

    mean: float | None
    low: float | None
    high: float | None


NOTHING = Estimate(None, None, None)


def interval(mean: float, variance: float) -> Estimate:
    """A mean with its interval; without one where the variance is not known."""
    if variance == inf:
        return Estimate(mean, None, None)
    half = NORMAL_95 * sqrt(variance)
    return Estimate(mean, mean - half, mean + half)


@dataclass
class WeightedSums:
    """Sums over rewards of a policy that is compared, by its importance weights: its probability by the logged one.

    Args:
        n: Rewards.
        weight: Sum of the weights w.
        weight_square: Sum of w².
        weighted: Sum of w · reward.
        weighted_1: Sum of w² · reward.
        weighted_2: Sum of w² · reward².
    """

    n: int = 0
    weight: float = 0.0
    weight_square: float = 0.0
    weighted: float = 0.0
    weighted_1: float = 0.0
    weighted_2: float = 0.0

    def add_reward(self, reward: float, weight: float) -> None:
        """Add the reward of a decision."""
        self.n += 1
        self.weight += weight
        self.weight_square += weight * weight
        self.weighted += weight * reward
        self.weighted_1 += weight * weight * reward
        self.weighted_2 += weight * weight * reward * reward

    def add(self, other: "WeightedSums") -> None:
        """Add other sums."""
        self.n += other.n
        self.weight += other.weight
        self.weight_square += other.weight_square
        self.weighted += other.weighted
        self.weighted_1 += other.weighted_1
        self.weighted_2 += other.weighted_2

    def estimate(self) -> Estimate:
        """What the policy would have earned in a decision."""
        if self.weight <= 0.0:
            return NOTHING
        mean = self.weighted / self.weight
        spread = self.weighted_2 - 2.0 * mean * self.weighted_1 + mean * mean * self.weight_square
        return interval(mean, max(spread, 0.0) / self.weight**2 if self.n > 1 else inf)

    def effective_size(self) -> float:
        """The effective sample size of the estimate."""
        return self.weight**2 / self.weight_square if self.weight_square > 0.0 else 0.0
