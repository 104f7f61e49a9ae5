"""Explorers: epsilon-greedy, upper confidence, inverse gap weighting and Thompson sampling, for any scorer.

An explorer turns the scores, the uncertainties and the time t (rewards seen, and one) into probabilities of actions.
Each function below makes an `Explorer` of one kind, which a policy takes as its `explorer`. Scores are on the scale 0
to 1, whatever the `reward_range`.

>>> upper_confidence(rho=2.0, epsilon=0.01).kind
'upper_confidence'
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import check_number, check_one_of, is_number
from stumpery.policies.exploration import rule_kernels as kernels
from stumpery.types import Floats

KINDS = {
    "greedy": kernels.GREEDY,
    "upper_confidence": kernels.UPPER_CONFIDENCE,
    "inverse_gap": kernels.INVERSE_GAP,
    "beta_thompson": kernels.BETA_THOMPSON,
    "gaussian_thompson": kernels.GAUSSIAN_THOMPSON,
    "uncertainty_thompson": kernels.UNCERTAINTY_THOMPSON,
}

MIN_PRIOR, MAX_PRIOR = 0.1, 1e6  # with less, posterior draws would tie at 0 and 1
SD_RANGE = (1e-6, 1e3)


@dataclass(frozen=True)
class Explorer:
    """An exploration rule: a kind with its parameters, mixed with uniform choices.

    The functions of this module make explorers and say which parameters a kind has.

    Args:
        kind: One of `KINDS`.
        epsilon: Probability of a uniform choice, from 0 to 1.
        decay: Exponent by which epsilon falls: it is epsilon * t^-decay. 0 or more.
        floor: Lower limit of the falling epsilon, from 0 to 1.
        strength: The main parameter of the kind (`rho`, `scale` or `sd`), 0 or more.
        prior: Successes and failures that every action starts with, each from 0.1 to 1e6.
        bonus: Uncertainties that are added to a score, 0 or more.
        many: Available actions from which on the inverse gap explores no more with their number; 0, never.

    >>> greedy(epsilon=0.1).kind
    'greedy'
    """

    kind: str
    epsilon: float = 0.0
    decay: float = 0.0
    floor: float = 0.0
    strength: float = 0.0
    prior: tuple[float, float] = (1.0, 1.0)
    bonus: float = 0.0
    many: float = 0.0

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, KINDS)
        check_number("epsilon", self.epsilon, 0.0, 1.0)
        check_number("floor", self.floor, 0.0, 1.0)
        check_number("decay", self.decay, 0.0)
        check_number("strength", self.strength, 0.0)
        check_number("bonus", self.bonus, 0.0)
        check_number("many", self.many, 0.0)
        if self.kind == "gaussian_thompson":
            check_number("sd", self.strength, *SD_RANGE)
        if self.kind == "uncertainty_thompson":
            check_number("scale", self.strength, *SD_RANGE)
        prior: Any = self.prior
        pair = tuple(prior) if isinstance(prior, Iterable) else ()
        if len(pair) != 2 or not all(is_number(count) and MIN_PRIOR <= count <= MAX_PRIOR for count in pair):
            raise InvalidInput(
                f"prior is {self.prior!r}; it must be two numbers from {MIN_PRIOR:g} to {MAX_PRIOR:g}, "
                "successes and failures"
            )
        object.__setattr__(self, "prior", (float(pair[0]), float(pair[1])))
        for name in ("epsilon", "decay", "floor", "strength", "bonus", "many"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def rule(self) -> Floats:
        """The array that the kernels read: a vector, or for Thompson sampling a matrix of one row."""
        fields = (KINDS[self.kind], self.epsilon, self.decay, self.floor, self.strength, *self.prior, self.bonus)
        rule = np.array((*fields, self.many), dtype=np.float64)
        return rule[None] if KINDS[self.kind] >= kernels.BETA_THOMPSON else rule

    def options(self) -> dict[str, Any]:
        """The parameters as JSON values."""
        return {**asdict(self), "prior": list(self.prior)}


def greedy(*, epsilon: float = 0.0, decay: float = 0.0, floor: float = 0.0, bonus: float = 0.0) -> Explorer:
    """Epsilon-greedy: the highest score plus `bonus` uncertainties; with probability epsilon any action.

    Args:
        epsilon: Probability of a uniform choice, from 0 to 1.
        decay: Exponent by which epsilon falls: it is epsilon * t^-decay. 0 or more.
        floor: Lower limit of the falling epsilon, from 0 to 1.
        bonus: Uncertainties that are added to a score, 0 or more; LinUCB's alpha.
    """
    return Explorer("greedy", epsilon, decay, floor, bonus=bonus)


def uniform() -> Explorer:
    """Uniform choice: every action with the same probability."""
    return Explorer("greedy", epsilon=1.0)


def upper_confidence(
    *, rho: float = 2.0, epsilon: float = 0.0, decay: float = 0.0, floor: float = 0.0, bonus: float = 0.0
) -> Explorer:
    """Upper confidence bound: the highest score plus uncertainty * (bonus + sqrt(rho * log t)).

    Args:
        rho: Width of the bound, 0 or more; 2 is that of UCB1, smaller ones explore less.
        epsilon: Probability of a uniform choice, from 0 to 1.
        decay: Exponent by which epsilon falls: it is epsilon * t^-decay. 0 or more.
        floor: Lower limit of the falling epsilon, from 0 to 1.
        bonus: Uncertainties that are added to a score at any time, 0 or more.
    """
    check_number("rho", rho, 0.0)
    return Explorer("upper_confidence", epsilon, decay, floor, rho, bonus=bonus)


def inverse_gap(
    *,
    scale: float = 10.0,
    epsilon: float = 0.0,
    decay: float = 0.0,
    floor: float = 0.0,
    bonus: float = 0.0,
    many: float = 0.0,
) -> Explorer:
    """Inverse gap weighting (SquareCB): probability 1 / (K + scale * sqrt(t) * gap to the best of K actions).

    The best action gets the rest. Gaps are those of scores plus `bonus` uncertainties (Foster and Rakhlin 2020). With
    a fixed scale, of a thousand actions nearly all decisions explore for long; see `many`.

    Args:
        scale: How fast exploration falls with the gap, 0 or more; larger ones explore less.
        epsilon: Probability of a uniform choice, from 0 to 1.
        decay: Exponent by which epsilon falls: it is epsilon * t^-decay. 0 or more.
        floor: Lower limit of the falling epsilon, from 0 to 1.
        bonus: Uncertainties that are added to a score, 0 or more.
        many: Available actions from which on the scale grows in proportion to their number K, to scale * K / many, and
            the bonus falls to bonus * sqrt(many / K), so that more actions do not mean more exploration. 0 or more; 0,
            the default, is never.
    """
    check_number("scale", scale, 0.0)
    return Explorer("inverse_gap", epsilon, decay, floor, scale, bonus=bonus, many=many)


def beta_thompson(*, prior: tuple[float, float] = (1.0, 1.0), epsilon: float = 0.0) -> Explorer:
    """Thompson sampling with Beta posteriors: the action of the largest draw.

    Args:
        prior: Successes and failures that every action starts with, each from 0.1 to 1e6; (1, 1) is uniform.
        epsilon: Probability of a uniform choice, from 0 to 1.
    """
    return Explorer("beta_thompson", epsilon, prior=prior)


def gaussian_thompson(*, sd: float = 0.5, prior: tuple[float, float] = (1.0, 1.0), epsilon: float = 0.0) -> Explorer:
    """Thompson sampling with normal posteriors, for rewards of a known standard deviation.

    Args:
        sd: Standard deviation of rewards on the scale 0 to 1, from 1e-6 to 1e3; 0.5 is the largest that they can have.
        prior: Rewards of 1 and of 0 that every action starts with, each from 0.1 to 1e6.
        epsilon: Probability of a uniform choice, from 0 to 1.
    """
    check_number("sd", sd, *SD_RANGE)
    return Explorer("gaussian_thompson", epsilon, strength=sd, prior=prior)


def uncertainty_thompson(*, scale: float = 1.0, epsilon: float = 0.0) -> Explorer:
    """Thompson sampling with normal posteriors around the scores, as wide as their uncertainties.

    Args:
        scale: Standard deviation of a posterior in uncertainties of its score, from 1e-6 to 1e3.
        epsilon: Probability of a uniform choice, from 0 to 1.
    """
    check_number("scale", scale, *SD_RANGE)
    return Explorer("uncertainty_thompson", epsilon, strength=scale)
