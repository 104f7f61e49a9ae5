"""Estimates of a policy's value from sums over a log, each with the influence of every block of events.

The limits of clipped IPS and Switch-DR and the strength of DRos are chosen by the data: the least sum of estimated
variance and squared bias, the latter being the difference from the estimate without a limit (Su et al. 2020).
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.evaluation.off_policy import sums as term
from stumpery.evaluation.off_policy.confidence.intervals import NOTHING, Interval, bootstrap_interval
from stumpery.evaluation.off_policy.confidence.likelihood import cressie_read
from stumpery.evaluation.off_policy.distributions import normal_quantile
from stumpery.evaluation.off_policy.sums import LIMITS, BlockSums, likelihood_sums
from stumpery.types import Floats

NAMES = ("IPS", "clipped IPS", "SNIPS", "DM", "DR", "SNDR", "Switch-DR", "DRos", "Cressie-Read")
DEFAULT = "DR"


class ValueEstimate(NamedTuple):
    """ValueEstimate of a policy's value by one estimator.

    Args:
        estimator: Its name.
        value: The estimate.
        influences: How far each block of events moves it from its value, scaled so that their mean is 0.
        limit: Limit or strength that was chosen for the weights; NaN where there is none.

    >>> ValueEstimate("IPS", 0.5, np.array([-0.5, 0.5] * 50)).standard_error.__round__(3)
    0.05
    """

    estimator: str
    value: float
    influences: Floats
    limit: float = math.nan

    @property
    def standard_error(self) -> float:
        """The standard error, for independent blocks."""
        n = len(self.influences)
        return math.sqrt(float(self.influences @ self.influences) / (n * (n - 1))) if n > 1 else math.inf

    def normal(self, level: float = 0.95) -> Interval:
        """Normal interval by the delta method."""
        if len(self.influences) < 2:
            return NOTHING
        half_width = normal_quantile(0.5 + level / 2.0) * self.standard_error
        return Interval(self.value - half_width, self.value + half_width)

    def bootstrap(self, level: float = 0.95, *, seed: int = 0) -> Interval:
        """BCa bootstrap interval over blocks."""
        return bootstrap_interval(self.influences, self.value, level, seed=seed)


def estimates_of(sums: BlockSums, low: float = 0.0, high: float = 1.0) -> dict[str, ValueEstimate]:
    """Every estimator's estimate from the sums over a log; rewards are between low and high."""
    made = [
        _estimate(sums, "IPS", [(term.WR, term.N)]),
        _chosen(sums, "clipped IPS", [], term.CLIPPED, (term.WR,)),
        _estimate(sums, "SNIPS", [(term.WR, term.W)]),
        _estimate(sums, "DM", [(term.V, term.N)]),
        _estimate(sums, "DR", [(term.V, term.N), (term.WD, term.N)]),
        _estimate(sums, "SNDR", [(term.V, term.N), (term.WD, term.W)]),
        _chosen(sums, "Switch-DR", [(term.V, term.N)], term.SWITCHED, (term.WD,)),
        _chosen(sums, "DRos", [(term.V, term.N)], term.SHRUNK, (term.WD,)),
        _likelihood(sums, low, high),
    ]
    return {each.estimator: each for each in made}


def _estimate(sums: BlockSums, name: str, ratios: list[tuple[int, int]], limit: float = math.nan) -> ValueEstimate:
    """A sum of ratios of totals."""
    blocks, totals = sums.blocks, sums.totals
    n = len(blocks)
    value, influences = 0.0, np.zeros(n)
    for numerator, denominator in ratios:
        if totals[denominator] == 0.0:
            return ValueEstimate(name, math.nan, np.zeros(n), limit)
        ratio = totals[numerator] / totals[denominator]
        value += float(ratio)
        influences += n * (blocks[:, numerator] - ratio * blocks[:, denominator]) / totals[denominator]
    return ValueEstimate(name, value, influences, limit)


def _chosen(
    sums: BlockSums, name: str, ratios: list[tuple[int, int]], first: int, unlimited: tuple[int, ...]
) -> ValueEstimate:
    """The estimate with the limit of the least estimated mean squared error."""
    whole = _estimate(sums, name, [*ratios, *((column, term.N) for column in unlimited)], math.inf)
    candidates = [whole]
    for index, limit in enumerate(LIMITS):
        shown = limit * limit if first == term.SHRUNK else limit
        candidates.append(_estimate(sums, name, [*ratios, (first + index, term.N)], shown))
    return min(candidates, key=lambda each: each.standard_error**2 + (each.value - whole.value) ** 2)


def _likelihood(sums: BlockSums, low: float, high: float) -> ValueEstimate:
    """The estimate of empirical likelihood; its influence on blocks is that of IPS with the weight as a control."""
    plain = _estimate(sums, "Cressie-Read", [(term.WR, term.N)])
    totals = sums.totals
    if not totals[term.N]:
        return plain._replace(value=math.nan)
    value = low + (high - low) * cressie_read(likelihood_sums(totals, low, high))
    control = _estimate(sums, "", [(term.W, term.N)]).influences
    spread = float(control @ control)
    slope = float(control @ plain.influences) / spread if spread else 0.0
    return ValueEstimate("Cressie-Read", value, plain.influences - slope * control)
