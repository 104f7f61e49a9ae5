"""Choosers: ways to pick the features to look at, for a `FeatureSelector`.

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

KINDS = {
    "thompson": kernels.THOMPSON,
    "ucb": kernels.UPPER_CONFIDENCE,
    "epsilon_greedy": kernels.EPSILON_GREEDY,
    "fixed": kernels.FIXED,
    "everything": kernels.EVERYTHING,
    "worth": kernels.WORTH,
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Chooser:
    """A kind and its numbers; the functions of this module make them."""

    kind: str
    prior: tuple[float, float] | None = None
    width: float | None = None
    epsilon: float | None = None
    first: int | None = None
    features: Sequence[Action] | None = None

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, KINDS)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"Chooser({given})"

    def options(self) -> dict[str, Any]:
        """What is given, as plain values."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def rule(self) -> Floats:
        """The kernels' form of it."""
        rule = np.zeros(kernels.N_RULE)
        rule[kernels.KIND] = KINDS[self.kind]
        rule[kernels.EPSILON] = self.epsilon or 0.0
        rule[kernels.WIDTH] = self.width or 0.0
        rule[kernels.FIRST] = self.first or 0
        rule[kernels.ALPHA], rule[kernels.BETA] = self.prior or (1.0, 1.0)
        return rule


def thompson(*, prior: tuple[float, float] = (1.0, 1.0)) -> Chooser:
    """Combinatorial Thompson sampling: every feature is rewarded by the success of its sets (Algorithm 1)."""
    return Chooser(kind="thompson", prior=checked_prior(prior))


def ucb(*, width: float = 0.5) -> Chooser:
    """The features with the largest mean success plus sqrt(width * log(round) / looks)."""
    check_number("width", width, 0.0)
    return Chooser(kind="ucb", width=float(width))


def epsilon_greedy(*, epsilon: float = 0.2) -> Chooser:
    """The features with the largest weights; with probability `epsilon` any (Algorithms 3 and 4)."""
    check_number("epsilon", epsilon, 0.0, 1.0)
    return Chooser(kind="epsilon_greedy", epsilon=float(epsilon))


def fixed(features: Iterable[Action]) -> Chooser:
    """Always the same features."""
    return Chooser(kind="fixed", features=checked_names("features", features))


def everything() -> Chooser:
    """All features."""
    return Chooser(kind="everything")


def worth(*, width: float = 0.5, first: int = 10) -> Chooser:
    """Thompson sampling over what each feature is worth to the additive model, after `first` looks at each.

    A feature is rewarded by itself, with the log-loss that it can save beside the others of its sets, and the draw
    around that is `width` times its uncertainty.
    """
    check_number("width", width, 0.0)
    check_whole("first", first, 1)
    return Chooser(kind="worth", width=float(width), first=int(first))


def from_options(options: dict[str, Any]) -> Chooser:
    """The chooser of what `Chooser.options` gave, made as a user would make it, so that everything is checked."""
    makers: dict[str, Any] = {
        "thompson": thompson,
        "ucb": ucb,
        "epsilon_greedy": epsilon_greedy,
        "fixed": fixed,
        "everything": everything,
        "worth": worth,
    }
    check_one_of("kind", options.get("kind"), makers)
    made: Chooser = makers[options["kind"]](**{key: value for key, value in options.items() if key != "kind"})
    return made
