"""Linear policies: a ridge regression of each action's reward on the context (Li, Chu, Langford, Schapire 2010)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from stumpery.options import check_number
from stumpery.policies import standardisation_kernels as features_kernels
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.linear import linear_policy_kernels as linear_kernels
from stumpery.policies.vector_policy import VectorPolicy
from stumpery.system.allocation import reserve
from stumpery.types import Floats
from stumpery.validation import check, check_within

N_REASONS = 3  # columns that an explanation names
LEAST_RIDGE = 1e-9  # with less, rounding rules the inverses


@dataclass(kw_only=True, eq=False)
class LinearPolicy(VectorPolicy):
    """A linear estimate of each action's reward and of its uncertainty, with any explorer.

    `ridge` is the weight of the wish for small coefficients. Memory is 8 * actions * (columns + 1)^2 bytes, with a
    column for each number and each name.

    >>> from stumpery.policies.exploration import explorers
    >>> policy = LinearPolicy(actions=["a", "b"], explorer=explorers.inverse_gap(scale=20))
    >>> decision = policy.decide(np.array([0.0, 1.0]))
    >>> decision.probability
    0.5
    >>> policy.learn(decision, reward=1.0)
    """

    explorer: Explorer = field(default_factory=explorers.inverse_gap)
    ridge: float = 1.0

    _kernels: ClassVar[Any] = linear_kernels

    def __post_init__(self) -> None:
        if not isinstance(self.explorer, Explorer):
            raise ValueError(
                f"explorer is {self.explorer!r}; it must come from stumpery.policies.exploration.explorers"
            )
        check_number("ridge", self.ridge, LEAST_RIDGE)
        self.ridge = float(self.ridge)
        super().__post_init__()

    def _new_rule(self) -> Floats:
        return self.explorer.rule()

    def _new_model(self, n_actions: int, size: int) -> linear_kernels.Linear:
        reserve(8 * n_actions * size * (size + 2))
        return linear_kernels.new_linear(n_actions, size, self.ridge)

    def _reasons(self, row: Floats, action: int) -> str:
        x = features_kernels.standardised(self._columns, row)
        shares = self._model.thetas[action, :-1] * x[:-1] * (self._high - self._low)
        most = np.argsort(-np.abs(shares), kind="stable")[:N_REASONS].tolist()
        names = self._encoder.feature_names
        named = [f"{names[place]} ({shares[place]:+.4g})" for place in most if shares[place] != 0.0]
        return f"; most weight on {self.actions[action]!r} have {', '.join(named)}" if named else ""

    def _restored(self) -> None:
        super()._restored()
        inverses = self._model.inverses
        variances = np.diagonal(inverses, axis1=1, axis2=2)
        most = (1.0 + 1e-9) / self.ridge  # rewards only make them smaller
        check(np.array_equal(inverses, inverses.swapaxes(1, 2)), "an inverse is not symmetric")
        check_within(variances, np.finfo(np.float64).tiny, most, "a variance")

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        return {**options, "explorer": self.explorer.options()} if "explorer" in options else options

    @classmethod
    def _arguments(cls, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "explorer": Explorer(**options["explorer"])} if "explorer" in options else options


@dataclass(kw_only=True, eq=False)
class LinUCB(LinearPolicy):
    """The action with the highest score plus `alpha` uncertainties (Li et al. 2010, Algorithm 1); ties are drawn.

    >>> policy = LinUCB(actions=["a", "b"], seed=1)
    >>> for step in range(100):
    ...     decision = policy.decide(np.array([step % 2, 1 - step % 2]))
    ...     policy.learn(decision, reward=1.0 if decision.action == "ab"[step % 2] else 0.0)
    >>> policy.decide(np.array([1, 0])).action
    'b'
    """

    alpha: float = 0.25
    explorer: Explorer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0.0)
        self.explorer = explorers.greedy(bonus=self.alpha)
        self.alpha = self.explorer.bonus
        super().__post_init__()


@dataclass(kw_only=True, eq=False)
class LinearThompson(LinearPolicy):
    """Draw every action's coefficients from what is believed of them, and take the best draw (Agrawal, Goyal 2013).

    The belief is a normal one around the ridge regression, with `scale`^2 times the inverse as its covariance.
    `Decision.probability` is an estimate within 0.03 of the true probability, and never below 1e-6.

    >>> policy = LinearThompson(actions=["a", "b"], scale=0.5)
    >>> round(policy.decide(np.array([0.0, 1.0])).probability, 3)
    0.5
    """

    scale: float = 0.1
    explorer: Explorer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.explorer = explorers.uncertainty_thompson(scale=self.scale)
        self.scale = self.explorer.strength
        super().__post_init__()
