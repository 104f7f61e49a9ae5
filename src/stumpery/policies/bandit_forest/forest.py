"""Bandit Forest: randomised bandit trees that vote."""

import math
from dataclasses import dataclass

from stumpery.options import check_number, check_one_of, check_whole
from stumpery.policies.bandit_forest.trees import BanditTrees, Plan


@dataclass(kw_only=True, eq=False)
class BanditForest(BanditTrees):
    """Many bandit trees, each with its own depth, epsilon and candidate variables, vote on the action.

    `max_depth` and `epsilon` are numbers, or ranges from which each tree draws its own. Every node draws the share
    `variables` of the bits that its path has not used. `vote` says how many trees must have finished the path of a
    context before they vote on it: "any" one, "all" of them, or a share. It is BANDIT FOREST of Feraud et al. 2016
    (Algorithm 6, equations 3 and 4), which votes with "all".

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> contexts = rng.integers(0, 2, size=(9000, 4))
    >>> pays = contexts[:, 0] & contexts[:, 2]
    >>> policy = BanditForest(actions=["a", "b"], n_trees=10, max_depth=(1, 2), seed=1)
    >>> played = policy.play(contexts, np.column_stack([pays, 1 - pays]))
    >>> policy.decide(np.array([1, 0, 1, 0])).action
    'a'
    """

    n_trees: int = 100
    max_depth: int | tuple[int, int] = (10, 18)
    epsilon: float | tuple[float, float] = (0.4, 0.8)
    variables: float = 0.8
    vote: str | float = "any"

    def _planned(self) -> Plan:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_number("variables", self.variables, 0.0, 1.0, above=True)
        if isinstance(self.vote, str):
            check_one_of("vote", self.vote, ("any", "all"))
            share = float(self.vote == "all")
        else:
            check_number("vote", self.vote, 0.0, 1.0, above=True)
            share = self.vote = float(self.vote)
        n_needed = max(1, math.ceil(share * self.n_trees))
        return Plan(self.n_trees, self._depths(), float(self.variables), n_needed)

    def _depths(self) -> tuple[int, int]:
        given = self.max_depth
        least, most = given if isinstance(given, tuple | list) and len(given) == 2 else (given, given)
        check_whole("max_depth", least, 1, 1000)
        check_whole("max_depth", most, least, 1000)
        self.max_depth = least if least == most else (least, most)
        return least, most
