"""Random policy: uniform choices, a baseline and a source of logs."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class RandomPolicy(MeansPolicy):
    """Random policy: every action with the same probability; it learns mean rewards but does not use them.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.

    >>> RandomPolicy(actions=["a", "b", "c", "d"]).decide().probability
    0.25
    """

    explorer: Explorer = field(init=False, repr=False, default_factory=explorers.uniform)
    initial: float | None = field(init=False, repr=False, default=None)
