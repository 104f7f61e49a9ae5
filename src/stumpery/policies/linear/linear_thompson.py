"""Linear Thompson sampling: draws from the posteriors of linear predictions (Agrawal and Goyal 2013)."""

from dataclasses import dataclass, field

from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.linear.linear_policy import LinearPolicy


@dataclass(kw_only=True, eq=False)
class LinearThompson(LinearPolicy):
    """Linear Thompson sampling: draw every action's coefficients from their posterior and take the best prediction.

    The posterior is normal around the ridge regression, with `scale`^2 times the inverse as its covariance (Agrawal and
    Goyal 2013, Algorithm 1). `Decision.probability` is an estimate within 0.03 of the true probability, and never below
    1e-6.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        ridge: L2 regularisation strength, 1e-9 or more. Columns are standardised.
        scale: Standard deviation of a prediction's posterior in standard errors, from 1e-6 to 1e3. Larger ones explore
            more; the theory's are larger than pays in practice.

    >>> import numpy as np
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
