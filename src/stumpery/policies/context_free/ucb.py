"""UCB: optimism in the face of uncertainty (Auer, Cesa-Bianchi, Fischer 2002)."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class UCB(MeansPolicy):
    """The action with the highest mean plus sqrt(rho * log t / n), in units of the reward range; ties are drawn.

    >>> policy = UCB(actions=["a", "b"], seed=1)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.learn(decision, reward=1.0 if decision.action == "b" else 0.0)
    >>> print(policy.explain())
    After 100 rewards 'b' leads with 1.313, 'a' follows with 1.24.
      action  rewards  mean    from      to  value  probability
           b       94     1  0.8599       1  1.313       1
           a        6     0       0  0.5544   1.24       0
    """

    rho: float = 2.0
    explorer: Explorer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.explorer = explorers.upper_confidence(rho=self.rho)
        self.rho = self.explorer.strength
        super().__post_init__()
