"""Multi-armed bandits without context: each action has its own, stationary reward distribution."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_range, check_whole, is_number, shown
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Batch, Floats

DEFAULT_ACTIONS = 10
ARM_MEANS, ARM_REWARDS = range(2)  # independent random streams of a seed


@dataclass(kw_only=True)
class BernoulliArms:
    """Bernoulli bandit: arms with rewards 1 or 0.

    Args:
        means: Mean reward of each arm, from 0 to 1. With None each seed draws its own, uniform on (0, 1).
        n_actions: Number of arms, 1 or more; None means one per element of `means`, or 10.

    >>> stream = BernoulliArms(means=[0.1, 0.9])
    >>> batch = next(stream.batches(seed=7, size=1000))
    >>> batch.rewards.mean(axis=0).round(1).tolist(), batch.expected[0].tolist()
    ([0.1, 0.9], [0.1, 0.9])
    """

    means: Sequence[float] | None = None
    n_actions: int | None = None
    actions: range = field(init=False, repr=False)
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))

    def __post_init__(self) -> None:
        self.means, self.n_actions = _arms(self.means, self.n_actions)
        self.actions = range(self.n_actions)
        if self.means is not None and not all(0 <= mean <= 1 for mean in self.means):
            raise InvalidInput(f"means is {shown(self.means)}; each mean must be a number from 0 to 1")

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` events, with the exact means as `expected`."""
        drawn = generator(seed, ARM_MEANS).random(len(self.actions))
        means = drawn if self.means is None else np.array(self.means)
        return _without_context(self._rewards(seed, means), means, size)

    def _rewards(self, seed: int, means: Floats) -> Iterator[Arrays]:
        rng = generator(seed, ARM_REWARDS)
        while True:
            yield ((rng.random((BLOCK, len(means))) < means).astype(np.float64),)


@dataclass(kw_only=True)
class GaussianArms:
    """Gaussian bandit: arms with normal rewards, clipped to a range.

    The `expected` rewards of its batches are the means of the clipped distributions.

    Args:
        means: Mean of each arm's normal distribution. With None each seed draws its own from N(0, 1).
        n_actions: Number of arms, 1 or more; None means one per element of `means`, or 10.
        sd: Standard deviation of rewards, above 0.
        reward_range: Lowest and highest reward; others are clipped. The default is five standard deviations wide on
            both sides.

    >>> stream = GaussianArms(means=[0.0, 5.0], sd=1.0, reward_range=(-5.0, 5.0))
    >>> next(stream.batches(seed=7, size=1)).expected.round(3).tolist()
    [[0.0, 4.601]]
    """

    means: Sequence[float] | None = None
    n_actions: int | None = None
    sd: float = 1.0
    reward_range: tuple[float, float] = (-5.0, 5.0)
    actions: range = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.means, self.n_actions = _arms(self.means, self.n_actions)
        self.actions = range(self.n_actions)
        check_number("sd", self.sd, 0, above=True)
        self.reward_range = check_range("reward_range", self.reward_range)

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` events, with the exact means as `expected`."""
        drawn = generator(seed, ARM_MEANS).standard_normal(len(self.actions))
        means = drawn if self.means is None else np.array(self.means)
        expected = np.array([_clipped_mean(mean, self.sd, *self.reward_range) for mean in means.tolist()])
        return _without_context(self._rewards(seed, means), expected, size)

    def _rewards(self, seed: int, means: Floats) -> Iterator[Arrays]:
        rng = generator(seed, ARM_REWARDS)
        while True:
            rewards = rng.standard_normal((BLOCK, len(means)))
            rewards *= self.sd
            rewards += means
            yield (np.clip(rewards, *self.reward_range, out=rewards),)


def _arms(means: Sequence[float] | None, n_actions: int | None) -> tuple[tuple[float, ...] | None, int]:
    """The means as floats, and the number of actions."""
    if n_actions is not None:
        check_whole("n_actions", n_actions, 1)
    if means is None:
        return None, DEFAULT_ACTIONS if n_actions is None else int(n_actions)
    try:
        numbers = tuple(means)
    except TypeError:
        numbers = ()
    if not numbers or not all(map(is_number, numbers)):
        raise InvalidInput(f"means is {shown(means)}; it must be one finite number per action")
    if n_actions not in {None, len(numbers)}:
        raise InvalidInput(f"n_actions is {n_actions}; it must be {len(numbers)}, as many as there are means")
    return tuple(map(float, numbers)), len(numbers)


def _clipped_mean(mean: float, sd: float, low: float, high: float) -> float:
    """The mean of a normal distribution clipped to `low` and `high`."""
    a, b = (low - mean) / sd, (high - mean) / sd
    below, above = math.erfc(-a / math.sqrt(2)) / 2, math.erfc(b / math.sqrt(2)) / 2
    curvature = (math.exp(-a * a / 2) - math.exp(-b * b / 2)) / math.sqrt(2 * math.pi)
    return low * below + high * above + mean * (1 - below - above) + sd * curvature


def _without_context(blocks: Iterator[Arrays], expected: Floats, size: int) -> Iterator[Batch]:
    return (
        Batch(None, rewards, np.repeat(expected[np.newaxis], len(rewards), axis=0))
        for (rewards,) in resized(blocks, size)
    )
