"""Multinomial logistic regression on a stream, over the outputs of other models."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.system.allocation import reserve
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class SoftmaxRegression:
    """Multinomial logistic regression, trained by AdaGrad steps down the logarithmic loss (Duchi et al. 2011).

    Classes may be appended, and inputs behind the others; their weights start at 0.
    """

    rate: float = 0.5
    classes: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights: Floats = np.zeros((len(self.classes), 0))
        self.squares: Floats = np.zeros((len(self.classes), 0))

    def probabilities(self, inputs: Floats) -> Floats:
        """The probability of each class."""
        self._widen(len(inputs))
        scores = (self.weights * inputs).sum(axis=1)
        powers = np.exp(scores - scores.max()) if len(scores) else scores
        shares: Floats = powers / max(powers.sum(), 1e-300)
        return shares

    def learn(self, inputs: Floats, label: Any) -> None:
        """Step towards the true class, one of `classes`."""
        errors = self.probabilities(inputs)
        errors[self.classes.index(label)] -= 1.0
        gradients = errors[:, None] * inputs
        self.squares += gradients**2
        self.weights -= self.rate * gradients / np.sqrt(self.squares + 1e-8)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights and the sums of squared gradients."""
        return {"weights": self.weights, "squares": self.squares}

    def _widen(self, n_inputs: int) -> None:
        shape = len(self.classes), max(n_inputs, self.weights.shape[1])
        if self.weights.shape != shape:
            reserve(16 * shape[0] * shape[1])
            for name in ("weights", "squares"):
                before, wider = getattr(self, name), np.zeros(shape)
                wider[: before.shape[0], : before.shape[1]] = before
                setattr(self, name, wider)
