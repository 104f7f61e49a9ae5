"""Exponential weights over learners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.options import check_number
from stumpery.saving.saveable import Arrays

MIN_PROBABILITY = 1e-6


@dataclass(kw_only=True, eq=False)
class ExponentialWeights(OnlineEnsemble):
    """Exponential weights: a mean of learners whose weights follow their past losses (Littlestone and Warmuth 1994).

    With every event a member's weight is multiplied by exp(eta * reward), and the weights are normalised to a sum of 1.

    The reward is the logarithm of the probability that a member gave to the true class; for numbers it is the negative
    squared error over the variance of the numbers so far.

    Args:
        models: Learners, ours or river's; they are copied, never trained themselves.
        n_models: The number of copies, 1 to 1,000, where `models` is one learner; None takes `models` as they are.
        seed: Seed of the members, which get `seed`, `seed + 1`, and so on.
        eta: Learning rate of the weights, above 0 and at most 1,000. 1 is Bayesian model averaging.

    >>> import stumpery as st
    >>> deep, shallow = st.HoeffdingTreeClassifier(), st.HoeffdingTreeClassifier(max_depth=0)
    >>> model = ExponentialWeights(models=[deep, shallow], eta=0.5)
    >>> rows = [{"hour": event % 24} for event in range(500)]
    >>> model.learn_many(rows, ["work" if 8 < row["hour"] < 18 else "home" for row in rows])
    >>> bool(model.weights[0] > 0.99)
    True
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        check_number("eta", self.eta, 0, 1000, above=True)
        super().__post_init__()
        self.weights = np.full(len(self.members), 1.0 / len(self.members))
        self._moments = np.zeros(3)

    def _learn_one(self, x: Any, label: Any) -> None:
        """Update the weights by the members' predictions, then train the members."""
        outputs = self._member_outputs(x)
        for member in self.members:
            member.learn_one(x, label)
        variance = 1.0 if self.is_classifier else self._variance(label)
        logs = np.log(np.maximum(self.weights, 1e-300)) + self.eta * np.array(
            [self._reward(output, label, variance) for output in outputs]
        )
        weights = np.exp(logs - logs.max())
        self.weights[:] = weights / weights.sum()

    def _reward(self, output: Any, label: Any, variance: float) -> float:
        if self.is_classifier:
            return math.log(max(output.get(label, 0.0), MIN_PROBABILITY))
        return -min(float(output - label) ** 2 / variance, 1e6)

    def _variance(self, label: float) -> float:
        """The variance of the numbers so far, this one included; 1 before two differ."""
        count, mean, squares = self._moments.tolist()
        new_mean = mean + (label - mean) / (count + 1.0)
        self._moments[:] = count + 1.0, new_mean, squares + (label - mean) * (label - new_mean)
        return float(self._moments[2] / self._moments[0]) or 1.0

    def _combined(self, outputs: Sequence[Any]) -> Any:
        return self._mean(outputs, self.weights.tolist())

    def _arrays(self) -> Arrays:
        return {"weights": self.weights, "moments": self._moments}
