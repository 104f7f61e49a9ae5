"""Bandit Stump: the one variable that pays most, and the best action for each of its values."""

from dataclasses import dataclass

from stumpery.policies.bandit_forest.trees import BanditTrees, Plan


@dataclass(kw_only=True, eq=False)
class BanditStump(BanditTrees):
    """Find the bit that says most about what pays, then play the best action for each of its values.

    It is DECISION STUMP of Feraud et al. 2016 (Algorithm 4, equations 1 and 2): a Bandit Tree of depth 1.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(4000, 3))
    >>> policy = BanditStump(actions=["a", "b"], seed=1)
    >>> played = policy.play(contexts, np.column_stack([contexts[:, 1], 1 - contexts[:, 1]]))
    >>> print(policy.to_text())
    x1?
      no: 'b' pays 1 after 115 rewards
      yes: 'a' pays 1 after 128 rewards
    """

    def _planned(self) -> Plan:
        return Plan(1, (1, 1), 1.0, 1)
