"""Choosers of a `FeatureSelector`: bandit algorithms that select features.

>>> thompson(prior=(1, 1))
Chooser(kind='thompson', prior=(1.0, 1.0))
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.options import check_number, check_one_of, check_whole
from stumpery.selection import choosers_kernels as kernels
from stumpery.selection.arguments import checked_names
from stumpery.selection.combinatorial_thompson import checked_prior
from stumpery.types import Action, Floats

CHOOSER_KINDS = {
    "thompson": kernels.THOMPSON,
    "ucb": kernels.UPPER_CONFIDENCE,
    "epsilon_greedy": kernels.EPSILON_GREEDY,
    "fixed": kernels.FIXED,
    "everything": kernels.EVERYTHING,
    "loss_reduction": kernels.LOSS_REDUCTION,
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Chooser:
    """A way to choose features: a kind with its parameters.

    The functions of this module make choosers and say which parameters a kind has.

    Args:
        kind: One of `CHOOSER_KINDS`.
        prior: Successes and failures that every feature starts with.
        width: Width of a confidence bound or of a posterior.
        epsilon: Probability of a random set.
        first: Looks at each feature before the estimates count.
        features: The features of a fixed set.
    """

    kind: str
    prior: tuple[float, float] | None = None
    width: float | None = None
    epsilon: float | None = None
    first: int | None = None
    features: Sequence[Action] | None = None

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, CHOOSER_KINDS)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"Chooser({options})"

    def options(self) -> dict[str, Any]:
        """The parameters that are set, as JSON values."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def rule(self) -> Floats:
        """The array that the kernels read."""
        rule = np.zeros(kernels.N_RULE_FIELDS)
        rule[kernels.RULE_KIND] = CHOOSER_KINDS[self.kind]
        rule[kernels.RULE_EPSILON] = self.epsilon or 0.0
        rule[kernels.RULE_WIDTH] = self.width or 0.0
        rule[kernels.RULE_FIRST] = self.first or 0
        rule[kernels.RULE_ALPHA], rule[kernels.RULE_BETA] = self.prior or (1.0, 1.0)
        return rule


def thompson(*, prior: tuple[float, float] = (1.0, 1.0)) -> Chooser:
    """Combinatorial Thompson sampling on the success of a feature's sets (Durand and Gagné 2014, Algorithm 1).

    Args:
        prior: Successes and failures that every feature starts with, above 0.
    """
    return Chooser(kind="thompson", prior=checked_prior(prior))


def ucb(*, width: float = 0.5) -> Chooser:
    """Upper confidence bounds: the features with the largest mean success plus sqrt(width * log(round) / looks).

    Args:
        width: Width of the bound, 0 or more; larger ones explore more.
    """
    check_number("width", width, 0.0)
    return Chooser(kind="ucb", width=float(width))


def epsilon_greedy(*, epsilon: float = 0.2) -> Chooser:
    """Epsilon-greedy: the features with the largest weights; with probability `epsilon` any (Algorithms 3 and 4).

    Args:
        epsilon: Probability of a random set, from 0 to 1.
    """
    check_number("epsilon", epsilon, 0.0, 1.0)
    return Chooser(kind="epsilon_greedy", epsilon=float(epsilon))


def fixed(features: Iterable[Action]) -> Chooser:
    """A fixed set of features.

    Args:
        features: Names of the features.
    """
    return Chooser(kind="fixed", features=checked_names("features", features))


def everything() -> Chooser:
    """All features."""
    return Chooser(kind="everything")


def loss_reduction(*, width: float = 0.5, first: int = 10) -> Chooser:
    """Thompson sampling on the log-loss that each feature saves in the additive model, beside the others of its sets.

    Args:
        width: Standard deviation of a draw in standard errors of the estimate, 0 or more.
        first: Looks at each feature before its estimate counts, at least 1.
    """
    check_number("width", width, 0.0)
    check_whole("first", first, 1)
    return Chooser(kind="loss_reduction", width=float(width), first=int(first))


def from_options(options: dict[str, Any]) -> Chooser:
    """The chooser of these options, made by its function, which checks them."""
    makers: dict[str, Any] = {
        "thompson": thompson,
        "ucb": ucb,
        "epsilon_greedy": epsilon_greedy,
        "fixed": fixed,
        "everything": everything,
        "loss_reduction": loss_reduction,
    }
    kind: Any = options.get("kind")
    kind = "loss_reduction" if kind == "worth" else kind  # its former name
    check_one_of("kind", kind, makers)
    made: Chooser = makers[kind](**{key: value for key, value in options.items() if key != "kind"})
    return made
