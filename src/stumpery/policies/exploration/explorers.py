"""Explorers: how a policy turns scores, uncertainties and time into a choice.

Each function below names one kind and gives its recipe; a policy takes it as its `explorer`, whatever its scorer.

>>> upper_confidence(rho=2.0, epsilon=0.01)
Explorer(kind='upper_confidence', epsilon=0.01, decay=0.0, floor=0.0, strength=2.0, prior=(1.0, 1.0), bonus=0.0)
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stumpery.options import check_number, check_one_of, is_number
from stumpery.policies.exploration import explorer_kernels as kernels
from stumpery.types import Floats

KINDS = {
    "greedy": kernels.GREEDY,
    "upper_confidence": kernels.UPPER_CONFIDENCE,
    "inverse_gap": kernels.INVERSE_GAP,
    "beta_thompson": kernels.BETA_THOMPSON,
    "gaussian_thompson": kernels.GAUSSIAN_THOMPSON,
    "uncertainty_thompson": kernels.UNCERTAINTY_THOMPSON,
}

LEAST_PRIOR, MOST_PRIOR = 0.1, 1e6  # with less, posterior draws would tie at 0 and 1
SD_RANGE = (1e-6, 1e3)


@dataclass(frozen=True)
class Explorer:
    """One kind of exploring, mixed with a share `epsilon` of uniform choices."""

    kind: str
    epsilon: float = 0.0
    decay: float = 0.0
    floor: float = 0.0
    strength: float = 0.0
    prior: tuple[float, float] = (1.0, 1.0)
    bonus: float = 0.0

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, KINDS)
        check_number("epsilon", self.epsilon, 0.0, 1.0)
        check_number("floor", self.floor, 0.0, 1.0)
        check_number("decay", self.decay, 0.0)
        check_number("strength", self.strength, 0.0)
        check_number("bonus", self.bonus, 0.0)
        if self.kind == "gaussian_thompson":
            check_number("sd", self.strength, *SD_RANGE)
        if self.kind == "uncertainty_thompson":
            check_number("scale", self.strength, *SD_RANGE)
        prior: Any = self.prior
        pair = tuple(prior) if isinstance(prior, Iterable) else ()
        if len(pair) != 2 or not all(is_number(part) and LEAST_PRIOR <= part <= MOST_PRIOR for part in pair):
            raise ValueError(
                f"prior is {self.prior!r}; it must be two numbers from {LEAST_PRIOR:g} to {MOST_PRIOR:g}, "
                "successes and failures"
            )
        object.__setattr__(self, "prior", (float(pair[0]), float(pair[1])))
        for name in ("epsilon", "decay", "floor", "strength", "bonus"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def rule(self) -> Floats:
        """The recipe as the kernels read it."""
        fields = (KINDS[self.kind], self.epsilon, self.decay, self.floor, self.strength, *self.prior, self.bonus)
        rule = np.array(fields, dtype=np.float64)
        return rule[None] if KINDS[self.kind] >= kernels.BETA_THOMPSON else rule

    def options(self) -> dict[str, Any]:
        """The recipe as plain JSON values."""
        return {**asdict(self), "prior": list(self.prior)}


def greedy(*, epsilon: float = 0.0, decay: float = 0.0, floor: float = 0.0, bonus: float = 0.0) -> Explorer:
    """Take the highest score plus `bonus` uncertainties; with probability epsilon * t^-decay (at least `floor`) any action."""
    return Explorer("greedy", epsilon, decay, floor, bonus=bonus)


def uniform() -> Explorer:
    """Take any action, all with the same probability."""
    return Explorer("greedy", epsilon=1.0)


def upper_confidence(
    *, rho: float = 2.0, epsilon: float = 0.0, decay: float = 0.0, floor: float = 0.0, bonus: float = 0.0
) -> Explorer:
    """Take the highest score plus uncertainty * (bonus + sqrt(rho * log t))."""
    check_number("rho", rho, 0.0)
    return Explorer("upper_confidence", epsilon, decay, floor, rho, bonus=bonus)


def inverse_gap(
    *, scale: float = 10.0, epsilon: float = 0.0, decay: float = 0.0, floor: float = 0.0, bonus: float = 0.0
) -> Explorer:
    """Take an action with probability 1 / (K + scale * sqrt(t) * gap to the best), the best with what is left.

    The best has the highest score plus `bonus` uncertainties, and gaps are those of such sums.
    """
    check_number("scale", scale, 0.0)
    return Explorer("inverse_gap", epsilon, decay, floor, scale, bonus=bonus)


def beta_thompson(*, prior: tuple[float, float] = (1.0, 1.0), epsilon: float = 0.0) -> Explorer:
    """Draw from each action's Beta posterior and take the largest draw."""
    return Explorer("beta_thompson", epsilon, prior=prior)


def gaussian_thompson(*, sd: float = 0.5, prior: tuple[float, float] = (1.0, 1.0), epsilon: float = 0.0) -> Explorer:
    """Draw from each action's normal posterior, for rewards of standard deviation `sd`, and take the largest draw."""
    check_number("sd", sd, *SD_RANGE)
    return Explorer("gaussian_thompson", epsilon, strength=sd, prior=prior)


def uncertainty_thompson(*, scale: float = 1.0, epsilon: float = 0.0) -> Explorer:
    """Draw from a normal distribution around each score, `scale` uncertainties wide, and take the largest draw."""
    check_number("scale", scale, *SD_RANGE)
    return Explorer("uncertainty_thompson", epsilon, strength=scale)
