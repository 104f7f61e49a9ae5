"""Greedy: the action with the best mean reward."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class Greedy(MeansPolicy):
    """Greedy bandit: always the action with the best mean reward; ties are drawn.

    With an `initial` below all rewards it stays with the first action that it tries.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        initial: Score of an action before its first reward, in units of rewards. With None, the default, every action
            is tried once before any is repeated; with a low number an action may never be tried.

    >>> policy = Greedy(actions=["a", "b", "c"], initial=-10)
    >>> first = policy.decide()
    >>> policy.learn(first, reward=0.0)
    >>> policy.decide().action == first.action
    True
    """

    explorer: Explorer = field(init=False, repr=False, default_factory=explorers.greedy)
