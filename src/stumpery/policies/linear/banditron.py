"""The Banditron: a perceptron for bandit feedback (Kakade, Shalev-Shwartz, Tewari 2008)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stumpery.options import check_number
from stumpery.policies.exploration import explorers
from stumpery.policies.linear import banditron_kernels
from stumpery.policies.vector_policy import VectorPolicy
from stumpery.system.allocation import reserve
from stumpery.types import Floats


class Perceptron(NamedTuple):
    """What is known of every action."""

    weights: Floats  # (actions, width + 1)


@dataclass(kw_only=True, eq=False)
class Banditron(VectorPolicy):
    """The action with the highest score of a multiclass perceptron; with probability `gamma` any action.

    It is made for rewards of 1 for the right action and 0 for all others; scores rank actions and are no estimates of
    rewards. A late reward is held against the leader of the time when it comes.

    >>> policy = Banditron(actions=["a", "b"], gamma=0.2, seed=1)
    >>> for step in range(100):
    ...     decision = policy.decide(np.array([step % 2, 1 - step % 2]))
    ...     policy.learn(decision, reward=1.0 if decision.action == "ab"[step % 2] else 0.0)
    >>> policy.decide(np.array([1, 0]))[:2]
    ('b', 0.9)
    """

    gamma: float = 0.05

    _kernels: ClassVar[Any] = banditron_kernels

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, 0.0, 1.0, above=True)
        self.gamma = float(self.gamma)
        super().__post_init__()

    def _new_rule(self) -> Floats:
        return explorers.greedy(epsilon=self.gamma).rule()

    def _new_model(self, n_actions: int, size: int) -> Perceptron:
        reserve(8 * n_actions * size)
        return Perceptron(np.zeros((n_actions, size)))
