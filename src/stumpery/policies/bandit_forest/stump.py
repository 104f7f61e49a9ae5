"""Bandit Stump: the variable that separates rewards best, and the best action for each of its values."""

from dataclasses import dataclass

from stumpery.policies.bandit_forest.trees import BanditTrees, ForestShape


@dataclass(kw_only=True, eq=False)
class BanditStump(BanditTrees):
    """Decision stump for contextual bandits: select the best bit, then the best action for each of its two values.

    It is DECISION STUMP of Feraud et al. 2016 (Algorithm 4, equations 1 and 2): a Bandit Tree of depth 1.

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

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(4000, 3))
    >>> policy = BanditStump(actions=["a", "b"], seed=1)
    >>> chosen = policy.play(contexts, np.column_stack([contexts[:, 1], 1 - contexts[:, 1]]))
    >>> print(policy.to_text())
    x1?
      no: 'b' pays 1 after 115 rewards
      yes: 'a' pays 1 after 128 rewards
    """

    def _new_shape(self) -> ForestShape:
        return ForestShape(1, (1, 1), 1.0, 1)
