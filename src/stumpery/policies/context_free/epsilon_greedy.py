"""Epsilon-greedy: the action with the best mean reward, and with probability epsilon any action."""

from dataclasses import dataclass, field

from stumpery.policies.context_free.means import MeansPolicy
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorers import Explorer


@dataclass(kw_only=True, eq=False)
class EpsilonGreedy(MeansPolicy):
    """Epsilon-greedy bandit: the action with the best mean reward; with probability epsilon any action.

    Source: Auer, Cesa-Bianchi and Fischer 2002, with a choice of how epsilon falls over t, the number of rewards and
    one.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        initial: Score of an action before its first reward, in units of rewards. With None, the default, every action
            is tried once before any is repeated; with a low number an action may never be tried.
        epsilon: Probability of a uniform choice, from 0 to 1.
        decay: Exponent by which epsilon falls: it is epsilon * t^-decay. 0, the default, keeps it, which follows
            changes.
        floor: Lower limit of the falling epsilon, from 0 to 1.

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
