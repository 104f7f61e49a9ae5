"""Linear contextual bandits: ridge regression of every action's reward on the context, and an explorer."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from stumpery.encoding import VectorEncoder
from stumpery.errors import InvalidInput
from stumpery.options import check_number
from stumpery.policies import standardisation_kernels as features_kernels
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.filling import RewardPredictor
from stumpery.policies.linear import linear_policy_kernels as linear_kernels
from stumpery.policies.vector_policy import VectorKernels, VectorPolicy
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check, check_within
from stumpery.system.allocation import reserve
from stumpery.types import Floats

N_NAMED_COLUMNS = 3  # in an explanation
MIN_RIDGE = 1e-9  # with less, inverses are mostly rounding errors


@dataclass(kw_only=True, eq=False)
class LinearPolicy(RewardPredictor[VectorEncoder], VectorPolicy[linear_kernels.RidgeModels]):
    """Linear contextual bandit: ridge regression of every action's reward on the context, with any explorer.

    The models are the disjoint ones of Li, Chu, Langford and Schapire 2010. Memory is 8 * actions * (columns + 1)^2
    bytes, with a column for each number and each category.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        explorer: How scores and standard errors become probabilities; see `stumpery.explorers`. Inverse gap weighting
            by default, whose probabilities are exact.
        ridge: L2 regularisation strength, 1e-9 or more. Columns are standardised; with 1, the default, a prior weighs
            as much as one reward.

    >>> from stumpery.policies.exploration import explorers
    >>> policy = LinearPolicy(actions=["a", "b"], explorer=explorers.inverse_gap(scale=20))
    >>> decision = policy.decide(np.array([0.0, 1.0]))
    >>> decision.probability
    0.5
    >>> policy.learn(decision, reward=1.0)
    """

    explorer: Explorer = field(default_factory=explorers.inverse_gap)
    ridge: float = 1.0

    _kernels: ClassVar[VectorKernels] = linear_kernels

    def __post_init__(self) -> None:
        if not isinstance(self.explorer, Explorer):
            raise InvalidInput(
                f"explorer is {self.explorer!r}; it must come from stumpery.policies.exploration.explorers"
            )
        check_number("ridge", self.ridge, MIN_RIDGE)
        self.ridge = float(self.ridge)
        super().__post_init__()

    def _new_rule(self) -> Floats:
        return self.explorer.rule()

    def _new_model(self, n_actions: int, size: int) -> linear_kernels.RidgeModels:
        reserve(8 * n_actions * size * (size + 2))
        return linear_kernels.new_ridge_models(n_actions, size, self.ridge)

    def _reasons(self, row: Floats, action: int) -> str:
        x = features_kernels.standardised_row(self._columns, row)
        terms = self._model.thetas[action, :-1] * x[:-1] * (self._high - self._low)
        largest = np.argsort(-np.abs(terms), kind="stable")[:N_NAMED_COLUMNS].tolist()
        names = self._encoder.feature_names if self._encoder else ()
        named = [f"{names[column]} ({terms[column]:+.4g})" for column in largest if terms[column] != 0.0]
        return f"; the largest terms of {self.actions[action]!r} are {', '.join(named)}" if named else ""

    def _validate_state(self) -> None:
        super()._validate_state()
        inverses = self._model.inverses
        variances = np.diagonal(inverses, axis1=1, axis2=2)
        max_variance = (1.0 + 1e-9) / self.ridge  # rewards only reduce it
        check(np.array_equal(inverses, inverses.swapaxes(1, 2)), "an inverse is not symmetric")
        check_within(variances, np.finfo(np.float64).tiny, max_variance, "a variance")

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        return {**options, "explorer": self.explorer.options()} if "explorer" in options else options

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        return {**options, "explorer": Explorer(**options["explorer"])} if "explorer" in options else options
