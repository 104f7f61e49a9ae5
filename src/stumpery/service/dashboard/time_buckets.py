"""Sums of decisions and rewards by time, in a bounded number of buckets that widen as time passes."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import Any

from stumpery.service.dashboard.weighted_sums import NOTHING, Estimate, WeightedSums, interval

FIRST_WIDTH_MS = 1_000
MAX_BUCKETS, MAX_ROWS = 240, 60
MAX_ACTIONS = 1_000  # that a bucket counts; further ones count together
MAX_COMPARED = 20  # actions of which it is estimated what always taking them would earn
OTHERS = "other actions"


@dataclass
class Bucket:
    """Sums over the decisions of one interval of time, and over the rewards of these decisions.

    Args:
        n_decisions: Decisions made.
        n_explored: Decisions that took another action than the likeliest.
        number: The last event of the log in this time.
        actions: Decisions of each action.
        n_rewards: Rewards that count: learned at once, or settled at the end of the wait.
        n_defaults: Those of them that are the default, because none came.
        reward: Sum of rewards.
        square: Sum of squared rewards.
        uniform: Weighted sums of uniform choices.
        always: Weighted sums of always taking one action, for the first actions that came.
    """

    n_decisions: int = 0
    n_explored: int = 0
    number: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    n_rewards: int = 0
    n_defaults: int = 0
    reward: float = 0.0
    square: float = 0.0
    uniform: WeightedSums = field(default_factory=WeightedSums)
    always: dict[str, WeightedSums] = field(default_factory=dict)

    def add_decision(self, action: str, number: int, *, is_explored: bool) -> None:
        """Count a decision, which is the event of that number."""
        self.n_decisions += 1
        self.n_explored += is_explored
        self.number = max(self.number, number)
        self.actions[action if action in self.actions or len(self.actions) < MAX_ACTIONS else OTHERS] += 1

    def add_reward(self, action: str, reward: float, probability: float, n_actions: int, *, is_default: bool) -> None:
        """Add the reward of a decision of this interval of time."""
        self.n_rewards += 1
        self.n_defaults += is_default
        self.reward += reward
        self.square += reward * reward
        self.uniform.add_reward(reward, 1.0 / (n_actions * probability))
        if action in self.always or len(self.always) < MAX_COMPARED:
            self.always.setdefault(action, WeightedSums()).add_reward(reward, 1.0 / probability)

    def add(self, other: "Bucket") -> None:
        """Add the sums of another bucket."""
        self.n_decisions += other.n_decisions
        self.n_explored += other.n_explored
        self.number = max(self.number, other.number)
        self.actions += other.actions
        self.n_rewards += other.n_rewards
        self.n_defaults += other.n_defaults
        self.reward += other.reward
        self.square += other.square
        self.uniform.add(other.uniform)
        for action, sums in other.always.items():
            if action in self.always or len(self.always) < MAX_COMPARED:
                self.always.setdefault(action, WeightedSums()).add(sums)

    def earned(self) -> Estimate:
        """The mean reward of the decisions."""
        n = self.n_rewards
        if n == 0:
            return NOTHING
        mean = self.reward / n
        variance = max(self.square / n - mean * mean, 0.0) * n / max(n - 1, 1)
        return interval(mean, variance / n if n > 1 else inf)

    def comparison(self) -> list[dict[str, Any]]:
        """What other policies would have earned in the same decisions, the best first: uniform, and each action."""
        each = [("uniform", self.uniform), *((f"always {action}", sums) for action, sums in self.always.items())]
        rows = [
            {"policy": name, "estimate": sums.estimate(), "effective_size": sums.effective_size()}
            for name, sums in each
            if sums.n
        ]
        return sorted(rows, key=lambda row: -row["estimate"][0])


class TimeBuckets:
    """Buckets of equal width along time; where there would be too many, neighbours are joined.

    >>> buckets = TimeBuckets()
    >>> for second in range(1000):
    ...     buckets.at(1000 * second).add_decision("a", second, is_explored=False)
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
        until, rows = WeightedSums(), []
        for start, bucket in sorted(buckets.items()):
            until.add(bucket.uniform)
            effective_share = until.effective_size() / until.n if until.n else None
            row = _row(bucket, start + width <= before_ms)
            rows.append({"time": start, "effective_share": effective_share, **row})
        return width, rows


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
        "number": bucket.number,
        "earned": bucket.earned() if is_complete else NOTHING,
        "uniform": bucket.uniform.estimate() if is_complete else NOTHING,
        "actions": dict(bucket.actions),
    }
