"""Epsilon-greedy: the best mean so far, and now and then any action."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class EpsilonGreedy(MeansPolicy):
    """The action with the best mean so far; with probability epsilon * t^-decay, at least `floor`, any action.

    >>> policy = EpsilonGreedy(actions=["a", "b"], epsilon=0.2, seed=1)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.learn(decision, reward=1.0 if decision.action == "b" else 0.0)
    >>> policy.decide()
    Decision(action='b', probability=0.9, context=None)
    """

    epsilon: float = 0.1
    decay: float = 0.0
    floor: float = 0.0
    explorer: Explorer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.explorer = explorers.greedy(epsilon=self.epsilon, decay=self.decay, floor=self.floor)
        self.epsilon, self.decay, self.floor = self.explorer.epsilon, self.explorer.decay, self.explorer.floor
        super().__post_init__()
