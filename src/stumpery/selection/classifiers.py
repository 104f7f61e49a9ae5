"""Classifiers that see only some features, for a `FeatureSelector`; all of them are for two classes.

For more classes, give the selector a learner with river's verbs `predict_one(x)` and `learn_one(x, y)` instead.

>>> Perceptron()
Perceptron(rate=0.2, truncate=True)
"""

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from stumpery.options import check_bool, check_number, check_one_of, check_whole
from stumpery.random import new_generator, uniform
from stumpery.selection import additive_kernels as tables
from stumpery.selection import classifiers_kernels as kernels
from stumpery.system.allocation import reserve
from stumpery.types import Floats

FIRST_REACH = 0.1  # of a network's first weights to either side of 0


class Learner(Protocol):
    """What a classifier of another kind must do: river's verbs.

    One that also has `declare_columns(names)`, as ours have, is told all features, as strings, before the first round.
    """

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """The class of a dict that holds only what was looked at; None before the first."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> Any:
        """Learn the class of such a dict."""


WEIGHT_BYTES = 200  # that a weight takes while it is drawn


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """The recipe of a classifier of ours."""

    rate: float = 0.2

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0.0, above=True)

    def fill(self, options: Floats) -> None:
        """Write the kind and its numbers into the kernels' row of options, in place."""
        options[kernels.RATE] = self.rate

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """Weights that know nothing."""
        return np.zeros(n_features)

    def recipe(self) -> dict[str, Any]:
        """Its name and numbers as plain values."""
        return {"kind": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Perceptron(Classifier):
    """Rosenblatt's perceptron without a constant (Durand and Gagné 2014, Algorithm 4).

    The paper's text calls it non-sparse, but line 18 of its algorithm truncates the weights to the M largest:
    `truncate=True` is as printed, `truncate=False` as said.
    """

    truncate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("truncate", self.truncate)

    def fill(self, options: Floats) -> None:
        """Write the kind and its numbers into the kernels' row of options, in place."""
        super().fill(options)
        options[kernels.KIND], options[kernels.TRUNCATE] = kernels.PERCEPTRON, self.truncate


@dataclass(frozen=True, kw_only=True)
class SparsePerceptron(Classifier):
    """OFS for partial inputs: M weights within a ball of `radius` (Wang et al. 2014; Algorithm 3).

    With `epsilon_greedy` the greedy set is that of the weights which are not 0, as printed. With any other chooser a
    feature's probability to be looked at counts as M / K.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("radius", self.radius, 0.0, above=True)

    def fill(self, options: Floats) -> None:
        """Write the kind and its numbers into the kernels' row of options, in place."""
        super().fill(options)
        options[kernels.KIND], options[kernels.RADIUS], options[kernels.EPSILON] = kernels.SPARSE, self.radius, 1.0


@dataclass(frozen=True, kw_only=True)
class SmallNetwork(Classifier):
    """One hidden layer of `n_hidden` units, squared error, first weights within 0.1 of 0.

    The paper says no more of its network than its 2 hidden neurons and its rate 0.2; `units` may be "tanh" or
    "logistic", and the choice matters.
    """

    n_hidden: int = 2
    units: str = "tanh"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n_hidden", self.n_hidden, 1, 1000)
        check_one_of("units", self.units, ("tanh", "logistic"))

    def fill(self, options: Floats) -> None:
        """Write the kind and its numbers into the kernels' row of options, in place."""
        super().fill(options)
        options[kernels.KIND], options[kernels.N_HIDDEN] = kernels.NETWORK, self.n_hidden
        options[kernels.LOGISTIC] = self.units == "logistic"

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """First weights, drawn evenly."""
        rng = new_generator(seed, stream=1)
        n_weights = (n_features + 2) * self.n_hidden + 1
        reserve(WEIGHT_BYTES * n_weights)
        return np.array([FIRST_REACH * (2.0 * uniform(rng) - 1.0) for _ in range(n_weights)])


@dataclass(frozen=True, kw_only=True)
class AdditiveModel(Classifier):
    """Ours: a sum of tables for features and, `pairs` times as fast, for pairs of features.

    What is not looked at counts as its average contribution. It also learns what each feature is worth, from the last
    `memory` looks at it: the chooser `worth` goes by that. Memory is 16 * (65,536 + 40 * features) bytes.
    """

    rate: float = 0.15
    pairs: float = 0.5
    memory: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("pairs", self.pairs, 0.0)
        check_whole("memory", self.memory, 10)

    def fill(self, options: Floats) -> None:
        """Write the kind and its numbers into the kernels' row of options, in place."""
        super().fill(options)
        options[kernels.KIND], options[kernels.PAIRS] = kernels.ADDITIVE, self.pairs
        options[kernels.MEMORY] = self.memory

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """Tables of zeros."""
        return np.zeros(1 + n_features * tables.N_BINS + tables.N_PAIRS)


KINDS: dict[str, type[Classifier]] = {
    kind.__name__: kind for kind in (Perceptron, SparsePerceptron, SmallNetwork, AdditiveModel)
}


def from_recipe(recipe: dict[str, Any]) -> Classifier:
    """The classifier of what `Classifier.recipe` gave."""
    return KINDS[recipe["kind"]](**{name: value for name, value in recipe.items() if name != "kind"})
