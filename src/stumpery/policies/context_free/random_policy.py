"""Any action, all with the same probability: the baseline, and the best logger."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class RandomPolicy(MeansPolicy):
    """Any action, all with the same probability; it still keeps count of what they paid.

    >>> RandomPolicy(actions=["a", "b", "c", "d"]).decide().probability
    0.25
    """

    explorer: Explorer = field(init=False, repr=False, default_factory=explorers.uniform)
    initial: float | None = field(init=False, repr=False, default=None)
