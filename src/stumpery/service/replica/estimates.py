"""Estimates from the log: rewards of the policy and of its control group, and what shadow policies would have earned.

Their intervals are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, equation 6):
they hold at all times together, so one may watch them and stop whenever they say enough.
"""

import math
from typing import Any

from msgspec import Struct, field

ALPHA = 0.05
TIGHT_AT = 1_000  # events after which the intervals are tightest, relative to a fixed number of events
_LOG = -2.0 * math.log(ALPHA)
RHO_SQUARED = (_LOG + math.log(_LOG + 1.0)) / TIGHT_AT
MIN_EVENTS = 30  # before them no interval is shown


class RunningMean(Struct, array_like=True):
    """Mean and sum of squared deviations of a stream of numbers (Welford's method)."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add one number."""
        self.n += 1
        step = value - self.mean
        self.mean += step / self.n
        self.squares += step * (value - self.mean)

    def interval(self) -> list[float] | None:
        """The confidence sequence of the mean, at a confidence of 95 %; None before MIN_EVENTS."""
        if self.n < MIN_EVENTS:
            return None
        scale = self.n * RHO_SQUARED
        radius = math.sqrt(2.0 * (scale + 1.0) / (self.n * scale) * math.log(math.sqrt(scale + 1.0) / ALPHA))
        radius *= math.sqrt(self.squares / self.n)
        return [self.mean - radius, self.mean + radius]

    def shown(self) -> dict[str, Any]:
        """The number, the mean and its interval."""
        return {"n": self.n, "mean": self.mean if self.n else None, "interval": self.interval()}


class ShadowEstimate(Struct, array_like=True):
    """What a shadow policy would have earned more than what was served, by inverse propensity weights."""

    difference: RunningMean = field(default_factory=RunningMean)
    weights: RunningMean = field(default_factory=RunningMean)

    def add(self, weight: float, reward: float) -> None:
        """Add a decision with its reward: `weight` is the shadow's probability by the logged one."""
        self.difference.add(weight * reward - reward)
        self.weights.add(weight)

    def shown(self) -> dict[str, Any]:
        """The difference with its interval, and the effective sample size."""
        n, mean = self.weights.n, self.weights.mean
        second = mean * mean + self.weights.squares / n if n else 0.0
        size = n * mean * mean / second if second > 0.0 else 0.0
        return {**self.difference.shown(), "effective_sample_size": size}


class Estimates(Struct, array_like=True):
    """The estimates of one policy."""

    served: RunningMean = field(default_factory=RunningMean)
    control: RunningMean = field(default_factory=RunningMean)
    difference: RunningMean = field(default_factory=RunningMean)
    agreement: RunningMean = field(default_factory=RunningMean)
    shadows: dict[str, ShadowEstimate] = field(default_factory=dict)

    def add(self, reward: float, *, is_control: bool, control: float) -> None:
        """Add a reward of the policy or of its control group, which has a share of `control`."""
        (self.control if is_control else self.served).add(reward)
        if 0.0 < control < 1.0:
            self.difference.add(-reward / control if is_control else reward / (1.0 - control))

    def add_shadow(self, name: str, weight: float, reward: float) -> None:
        """Add a reward for a shadow policy."""
        self.shadows.setdefault(name, ShadowEstimate()).add(weight, reward)

    def shown(self) -> dict[str, Any]:
        """All estimates as plain values."""
        return {
            "served": self.served.shown(),
            "control": self.control.shown(),
            "lift": self.difference.shown(),
            "agreement": self.agreement.shown(),
            "shadows": {name: each.shown() for name, each in self.shadows.items()},
        }
