"""Bandit Forest: a random forest for contextual bandits whose trees vote on the action."""

import math
from dataclasses import dataclass

from stumpery.options import check_number, check_one_of, check_whole
from stumpery.policies.bandit_forest.trees import BanditTrees, ForestShape


@dataclass(kw_only=True, eq=False)
class BanditForest(BanditTrees):
    """Random forest for contextual bandits: randomised bandit trees that vote on the action.

    Every tree draws its own depth, epsilon and candidate variables. It is BANDIT FOREST of Feraud et al. 2016
    (Algorithm 6, equations 3 and 4), which votes with "all".

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        epsilon: Gap of mean rewards (share of the reward range) that may be ignored, from 0 to 1, or a range from
            which every tree draws its own. Larger ones eliminate sooner.
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
        n_trees: Number of trees, 1 to 10,000. Time and memory grow in proportion.
        max_depth: Bits that a leaf's rule combines, or a range from which every tree draws its own, 1 to 1000.
        variables: Share of the bits not yet on the path that every node draws as candidates, above 0 and at most 1.
        vote: How many trees must have chosen an action for a context before they vote on it: "any" is one, "all" the
            paper's, a number a share of the trees.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(9000, 4))
    >>> pays = contexts[:, 0] & contexts[:, 2]
    >>> policy = BanditForest(actions=["a", "b"], n_trees=10, max_depth=(1, 2), seed=1)
    >>> chosen = policy.play(contexts, np.column_stack([pays, 1 - pays]))
    >>> policy.decide(np.array([1, 0, 1, 0])).action
    'a'
    """

    n_trees: int = 100
    max_depth: int | tuple[int, int] = (10, 18)
    epsilon: float | tuple[float, float] = (0.4, 0.8)
    variables: float = 0.8
    vote: str | float = "any"

    def _new_shape(self) -> ForestShape:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_number("variables", self.variables, 0.0, 1.0, above=True)
        if isinstance(self.vote, str):
            check_one_of("vote", self.vote, ("any", "all"))
            share = float(self.vote == "all")
        else:
            check_number("vote", self.vote, 0.0, 1.0, above=True)
            share = self.vote = float(self.vote)
        n_votes_needed = max(1, math.ceil(share * self.n_trees))
        return ForestShape(self.n_trees, self._depths(), float(self.variables), n_votes_needed)

    def _depths(self) -> tuple[int, int]:
        given = self.max_depth
        low, high = given if isinstance(given, tuple | list) and len(given) == 2 else (given, given)
        check_whole("max_depth", low, 1, 1000)
        check_whole("max_depth", high, low, 1000)
        self.max_depth = low if low == high else (low, high)
        return low, high
