"""Bandit Tree: decision stumps stacked, each grown where the one above it is sure."""

from dataclasses import dataclass

from stumpery.options import check_whole
from stumpery.policies.bandit_forest.trees import BanditTrees, Plan


@dataclass(kw_only=True, eq=False)
class BanditTree(BanditTrees):
    """Split on the bit that says most about what pays, again below, and play each leaf's best action.

    A rule combines `max_depth` bits. It is BANDIT FOREST of Feraud et al. 2016 (Algorithm 6) with one tree and nothing
    random about it but the exploration.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(9000, 3))
    >>> pays = contexts[:, 0] & contexts[:, 2]
    >>> policy = BanditTree(actions=["a", "b"], max_depth=2, seed=1)
    >>> played = policy.play(contexts, np.column_stack([pays, 1 - pays]))
    >>> policy.decide(np.array([1, 0, 1])).action
    'a'
    """

    max_depth: int = 3

    def _planned(self) -> Plan:
        check_whole("max_depth", self.max_depth, 1, 1000)
        return Plan(1, (self.max_depth, self.max_depth), 1.0, 1)
