"""Logistic regression on a stream, for the outputs of other models."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.system.allocation import reserve
from stumpery.types import Floats


@dataclass(kw_only=True, eq=False)
class SoftmaxRegression:
    """Chances of classes from a few numbers, by steps down the logarithmic loss whose sizes adapt (AdaGrad)."""

    rate: float = 0.5
    classes: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights: Floats = np.zeros((len(self.classes), 0))
        self.squares: Floats = np.zeros((len(self.classes), 0))

    def probabilities(self, inputs: Floats) -> Floats:
        """The probability of each class."""
        self._widen(len(inputs))
        scores = (self.weights * inputs).sum(axis=1)
        raised = np.exp(scores - scores.max()) if len(scores) else scores
        found: Floats = raised / max(raised.sum(), 1e-300)
        return found

    def learn(self, inputs: Floats, label: Any) -> None:
        """Step towards the class that came, one of `classes`."""
        errors = self.probabilities(inputs)
        errors[self.classes.index(label)] -= 1.0
        slopes = errors[:, None] * inputs
        self.squares += slopes**2
        self.weights -= self.rate * slopes / np.sqrt(self.squares + 1e-8)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was learned."""
        return {"weights": self.weights, "squares": self.squares}

    def _widen(self, n_inputs: int) -> None:
        shape = len(self.classes), max(n_inputs, self.weights.shape[1])
        if self.weights.shape != shape:
            reserve(16 * shape[0] * shape[1])
            for name in ("weights", "squares"):
                before, wider = getattr(self, name), np.zeros(shape)
                wider[: before.shape[0], : before.shape[1]] = before
                setattr(self, name, wider)
