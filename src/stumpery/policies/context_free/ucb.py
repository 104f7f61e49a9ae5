"""UCB1: upper confidence bounds on mean rewards (Auer, Cesa-Bianchi and Fischer 2002)."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class UCB(MeansPolicy):
    """UCB bandit: the action with the highest mean plus sqrt(rho * log t / n); ties are drawn.

    n counts the action's rewards and t all rewards and one; the bound is in units of the reward range. With `rho=2` it
    is UCB1 of Auer, Cesa-Bianchi and Fischer 2002 (Figure 1).

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        initial: Score of an action before its first reward, in units of rewards. With None, the default, every action
            is tried once before any is repeated; with a low number an action may never be tried.
        rho: Width of the bound, 0 or more. 2 has a proven regret; smaller ones explore less and often earn more.

    >>> policy = UCB(actions=["a", "b"], seed=1)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.learn(decision, reward=1.0 if decision.action == "b" else 0.0)
    >>> print(policy.explain())
    After 100 rewards 'b' leads with 1.313, 'a' follows with 1.24.
      action   n  mean    from      to  value  probability
           b  94     1  0.8599       1  1.313            1
           a   6     0       0  0.5544   1.24            0
    """

    rho: float = 2.0
    explorer: Explorer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.explorer = explorers.upper_confidence(rho=self.rho)
        self.rho = self.explorer.strength
        super().__post_init__()
