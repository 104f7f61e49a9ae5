"""Sums of decisions and rewards by time, in a bounded number of buckets that widen as time passes."""

from collections import Counter
from dataclasses import dataclass, field, fields
from math import inf, sqrt
from typing import Any, NamedTuple

FIRST_WIDTH_MS = 1_000
MAX_BUCKETS, MAX_ROWS = 240, 60
NORMAL_95 = 1.959963984540054
MAX_ACTIONS = 1_000  # that a bucket counts; further ones count together
OTHERS = "other actions"


class Estimate(NamedTuple):
    """A mean with a 95 % interval by the normal distribution; None where there is nothing to estimate from."""

    mean: float | None
    low: float | None
    high: float | None


NOTHING = Estimate(None, None, None)


@dataclass
class Bucket:
    """Sums over the decisions of one interval of time, and over the rewards of these decisions.

    Args:
        n_decisions: Decisions made.
        n_explored: Decisions that took another action than the likeliest.
        actions: Decisions of each action.
        n_rewards: Rewards that count: learned at once, or settled at the end of the wait.
        n_defaults: Those of them that are the default, because none came.
        reward: Sum of rewards.
        square: Sum of squared rewards.
        weight: Sum of the importance weights of the uniform policy, w = 1 / (actions · probability).
        weight_square: Sum of w².
        weighted: Sum of w · reward.
        weighted_1: Sum of w² · reward.
        weighted_2: Sum of w² · reward².
    """

    n_decisions: int = 0
    n_explored: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    n_rewards: int = 0
    n_defaults: int = 0
    reward: float = 0.0
    square: float = 0.0
    weight: float = 0.0
    weight_square: float = 0.0
    weighted: float = 0.0
    weighted_1: float = 0.0
    weighted_2: float = 0.0

    def add_decision(self, action: str, *, is_explored: bool) -> None:
        """Count a decision."""
        self.n_decisions += 1
        self.n_explored += is_explored
        self.actions[action if action in self.actions or len(self.actions) < MAX_ACTIONS else OTHERS] += 1

    def add_reward(self, reward: float, weight: float, *, is_default: bool) -> None:
        """Add the reward of a decision of this interval of time."""
        self.n_rewards += 1
        self.n_defaults += is_default
        self.reward += reward
        self.square += reward * reward
        self.weight += weight
        self.weight_square += weight * weight
        self.weighted += weight * reward
        self.weighted_1 += weight * weight * reward
        self.weighted_2 += weight * weight * reward * reward

    def add(self, other: "Bucket") -> None:
        """Add the sums of another bucket."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def earned(self) -> Estimate:
        """The mean reward of the decisions."""
        n = self.n_rewards
        if n == 0:
            return NOTHING
        mean = self.reward / n
        variance = max(self.square / n - mean * mean, 0.0) * n / max(n - 1, 1)
        return _interval(mean, variance / n if n > 1 else inf)

    def uniform(self) -> Estimate:
        """What uniform choices would have earned, by self-normalised inverse propensity weights."""
        if self.weight <= 0.0:
            return NOTHING
        mean = self.weighted / self.weight
        spread = self.weighted_2 - 2.0 * mean * self.weighted_1 + mean * mean * self.weight_square
        return _interval(mean, max(spread, 0.0) / self.weight**2 if self.n_rewards > 1 else inf)

    def effective_size(self) -> float:
        """The effective sample size of the estimate of uniform choices."""
        return self.weight**2 / self.weight_square if self.weight_square > 0.0 else 0.0


def _interval(mean: float, variance: float) -> Estimate:
    if variance == inf:
        return Estimate(mean, None, None)
    half = NORMAL_95 * sqrt(variance)
    return Estimate(mean, mean - half, mean + half)


class TimeBuckets:
    """Buckets of equal width along time; where there would be too many, neighbours are joined.

    >>> buckets = TimeBuckets()
    >>> for second in range(1000):
    ...     buckets.at(1000 * second).add_decision("a", is_explored=False)
    >>> buckets.width_ms, len(buckets.buckets), buckets.total().n_decisions
    (8000, 125, 1000)
    """

    def __init__(self) -> None:
        self.width_ms = FIRST_WIDTH_MS
        self.buckets: dict[int, Bucket] = {}

    def at(self, time_ms: int) -> Bucket:
        """The bucket of a time."""
        start = time_ms - time_ms % self.width_ms
        bucket = self.buckets.get(start)
        if bucket is not None:
            return bucket
        if len(self.buckets) >= MAX_BUCKETS:
            self._widen()
            return self.at(time_ms)
        bucket = self.buckets[start] = Bucket()
        return bucket

    def _widen(self) -> None:
        self.width_ms *= 2
        self.buckets = _joined(self.buckets, self.width_ms)

    def total(self, before_ms: float = inf) -> Bucket:
        """All buckets together that end before a time."""
        total = Bucket()
        for start, bucket in self.buckets.items():
            if start + self.width_ms <= before_ms:
                total.add(bucket)
        return total

    def rows(self, before_ms: float = inf) -> tuple[int, list[dict[str, Any]]]:
        """The width of rows in milliseconds, and a row for each interval of time with decisions, 60 at most.

        Those that do not end before a time have no estimates: some of their rewards are still awaited, and the first
        to come are no sample of all.
        """
        width, buckets = self.width_ms, self.buckets
        while len(buckets) > MAX_ROWS:
            width *= 2
            buckets = _joined(buckets, width)
        rows = sorted(buckets.items())
        return width, [{"time": start, **_row(bucket, start + width <= before_ms)} for start, bucket in rows]


def _joined(buckets: dict[int, Bucket], width_ms: int) -> dict[int, Bucket]:
    """Buckets of a multiple of their width."""
    wide: dict[int, Bucket] = {}
    for start, bucket in buckets.items():
        wide.setdefault(start - start % width_ms, Bucket()).add(bucket)
    return wide


def _row(bucket: Bucket, is_complete: bool) -> dict[str, Any]:
    return {
        "decisions": bucket.n_decisions,
        "rewards": bucket.n_rewards,
        "explored": bucket.n_explored,
        "earned": bucket.earned() if is_complete else NOTHING,
        "uniform": bucket.uniform() if is_complete else NOTHING,
        "actions": dict(bucket.actions),
    }
