"""Bandit Tree: a decision tree for contextual bandits that grows by elimination of variables."""

from dataclasses import dataclass

from stumpery.options import check_whole
from stumpery.policies.bandit_forest.trees import BanditTrees, ForestShape


@dataclass(kw_only=True, eq=False)
class BanditTree(BanditTrees):
    """Decision tree for contextual bandits: split on the best bit, again below, and play each leaf's best action.

    It is BANDIT FOREST of Feraud et al. 2016 (Algorithm 6) with one tree in which nothing is random but exploration.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        epsilon: Gap of mean rewards (share of the reward range) that may be ignored, from 0 to 1. Larger ones eliminate
            sooner.
        delta: Probability of an error that is allowed, above 0 and at most 1; smaller ones need more rewards.
        explore: "drawn" draws among the actions that remain, so that logs have true probabilities. "in turn" takes them
            round robin as the paper does, with a probability of 1.
        weights: How rewards are weighted in estimates of means. "ips" (inverse propensity scores, the paper's) divides
            by the probability of the decision and by all plays; "self-normalised" divides by the sum of these weights
            instead, which has less variance; "none" takes plain means.
        leaf: How a leaf selects its action: "elimination" (the paper's, final), or "ucb" or "thompson", which never
            stop exploring.
        n_bins: Bits for each numerical column, 2 to 240: bins of equal frequency.
        max_bytes: Memory of the trees, taken when the columns are known. Leaves that find no memory do not split.
        max_depth: Bits that a leaf's rule combines, 1 to 1000. Every level needs about twice the rewards.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(9000, 3))
    >>> pays = contexts[:, 0] & contexts[:, 2]
    >>> policy = BanditTree(actions=["a", "b"], max_depth=2, seed=1)
    >>> chosen = policy.play(contexts, np.column_stack([pays, 1 - pays]))
    >>> policy.decide(np.array([1, 0, 1])).action
    'a'
    """

    max_depth: int = 3

    def _new_shape(self) -> ForestShape:
        check_whole("max_depth", self.max_depth, 1, 1000)
        return ForestShape(1, (self.max_depth, self.max_depth), 1.0, 1)
