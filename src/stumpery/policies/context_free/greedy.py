"""Greedy: the action with the best mean so far."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class Greedy(MeansPolicy):
    """Always the action with the best mean so far; ties are drawn.

    With an `initial` below all rewards it stays with the first action that it tries, with one above all rewards it
    tries each at least once.

    >>> policy = Greedy(actions=["a", "b", "c"], initial=-10)
    >>> first = policy.decide()
    >>> policy.learn(first, reward=0.0)
    >>> policy.decide().action == first.action
    True
    """

    explorer: Explorer = field(init=False, repr=False, default_factory=explorers.greedy)
