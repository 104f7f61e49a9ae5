"""Classifiers of a `FeatureSelector`, which see only some features; all of them are binary.

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

INIT_RANGE = 0.1  # initial weights of a network are uniform between this and its negative


class Learner(Protocol):
    """Protocol of classifiers with river's verbs.

    If it also has `declare_columns(names)`, as ours have, all features are declared, as strings, before the first
    round.
    """

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """Predict the class of a dict of the selected features; None if no class is known."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> Any:
        """Learn the class of such a dict."""


WEIGHT_BYTES = 200  # of a weight while it is drawn


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """Options of a binary classifier that sees only some features.

    Args:
        rate: Learning rate, above 0.
    """

    rate: float = 0.2

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0.0, above=True)

    def fill(self, options: Floats) -> None:
        """Write the kind and its parameters into the options of the kernels, in place."""
        options[kernels.OPTION_RATE] = self.rate

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """Initial weights."""
        return np.zeros(n_features)

    def recipe(self) -> dict[str, Any]:
        """The name of the class and the parameters, as JSON values."""
        return {"kind": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Perceptron(Classifier):
    """Perceptron without a bias (Durand and Gagné 2014, Algorithm 4).

    Args:
        rate: Learning rate, above 0.
        truncate: Whether only the M largest weights are kept, M being the size of a set. The paper's algorithm does so
            (line 18), its text calls the perceptron non-sparse.
    """

    truncate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("truncate", self.truncate)

    def fill(self, options: Floats) -> None:
        """Write the kind and its parameters into the options of the kernels, in place."""
        super().fill(options)
        options[kernels.OPTION_KIND], options[kernels.OPTION_TRUNCATE] = kernels.PERCEPTRON, self.truncate


@dataclass(frozen=True, kw_only=True)
class SparsePerceptron(Classifier):
    """Sparse perceptron: OFS for partial inputs, with M weights in a ball (Wang et al. 2014; Algorithm 3).

    With the chooser `epsilon_greedy` the greedy set is that of the weights which are not 0. With any other chooser a
    feature's selection probability counts as M / K, for sets of M of K features.

    Args:
        rate: Learning rate, above 0.
        radius: Radius of the ball, above 0.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("radius", self.radius, 0.0, above=True)

    def fill(self, options: Floats) -> None:
        """Write the kind and its parameters into the options of the kernels, in place."""
        super().fill(options)
        options[kernels.OPTION_KIND], options[kernels.OPTION_RADIUS], options[kernels.OPTION_EPSILON] = (
            kernels.SPARSE,
            self.radius,
            1.0,
        )


@dataclass(frozen=True, kw_only=True)
class SmallNetwork(Classifier):
    """Neural network with one hidden layer, squared error, and initial weights within 0.1 of 0.

    Args:
        rate: Learning rate, above 0.
        n_hidden: Hidden units, 1 to 1000; the paper's network has 2.
        units: Activation, "tanh" or "logistic". The paper does not say which; results differ.
    """

    n_hidden: int = 2
    units: str = "tanh"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n_hidden", self.n_hidden, 1, 1000)
        check_one_of("units", self.units, ("tanh", "logistic"))

    def fill(self, options: Floats) -> None:
        """Write the kind and its parameters into the options of the kernels, in place."""
        super().fill(options)
        options[kernels.OPTION_KIND], options[kernels.OPTION_N_HIDDEN] = kernels.NETWORK, self.n_hidden
        options[kernels.OPTION_LOGISTIC] = self.units == "logistic"

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """Initial weights, drawn uniformly."""
        rng = new_generator(seed, stream=1)
        n_weights = (n_features + 2) * self.n_hidden + 1
        reserve(WEIGHT_BYTES * n_weights)
        return np.array([INIT_RANGE * (2.0 * uniform(rng) - 1.0) for _ in range(n_weights)])


@dataclass(frozen=True, kw_only=True)
class AdditiveModel(Classifier):
    """Additive model: a sum of tables over binned features and pairs of features, learned by AdaGrad on the log-loss.

    A feature that is not selected contributes its average. The model also estimates the log-loss that each
    feature saves, by which the chooser `loss_reduction` chooses. Memory is 16 * (65,536 + 40 * features) bytes.

    Args:
        rate: Learning rate, above 0.
        pairs: Learning rate of pairs relative to that of features, 0 or more; 0 leaves them out.
        memory: Looks at a feature over which its statistics are averaged, at least 10.
    """

    rate: float = 0.15
    pairs: float = 0.5
    memory: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("pairs", self.pairs, 0.0)
        check_whole("memory", self.memory, 10)

    def fill(self, options: Floats) -> None:
        """Write the kind and its parameters into the options of the kernels, in place."""
        super().fill(options)
        options[kernels.OPTION_KIND], options[kernels.OPTION_PAIRS] = kernels.ADDITIVE, self.pairs
        options[kernels.OPTION_MEMORY] = self.memory

    def new_weights(self, n_features: int, seed: int) -> Floats:
        """Initial weights: tables of zeros."""
        return np.zeros(1 + n_features * tables.N_BINS + tables.N_PAIRS)


CLASSIFIERS: dict[str, type[Classifier]] = {
    kind.__name__: kind for kind in (Perceptron, SparsePerceptron, SmallNetwork, AdditiveModel)
}


def from_recipe(recipe: dict[str, Any]) -> Classifier:
    """The classifier of what `Classifier.recipe` returned."""
    return CLASSIFIERS[recipe["kind"]](**{name: value for name, value in recipe.items() if name != "kind"})
