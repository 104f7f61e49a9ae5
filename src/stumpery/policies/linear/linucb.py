"""LinUCB: upper confidence bounds on linear predictions (Li, Chu, Langford and Schapire 2010)."""

from dataclasses import dataclass, field

from stumpery.options import check_number
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.linear.linear_policy import LinearPolicy


@dataclass(kw_only=True, eq=False)
class LinUCB(LinearPolicy):
    """LinUCB: the action with the highest predicted reward plus `alpha` standard errors; ties are drawn.

    It is Algorithm 1 of Li, Chu, Langford and Schapire 2010, with a choice of the ridge.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        ridge: L2 regularisation strength, 1e-9 or more. Columns are standardised.
        alpha: Standard errors that are added to a prediction, 0 or more. Larger ones explore more.

    >>> import numpy as np
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
