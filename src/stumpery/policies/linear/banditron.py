"""Banditron: a multiclass perceptron for bandit feedback (Kakade, Shalev-Shwartz and Tewari 2008)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from stumpery.options import check_number
from stumpery.policies.exploration import explorers
from stumpery.policies.linear import banditron_kernels
from stumpery.policies.vector_policy import VectorKernels, VectorPolicy
from stumpery.system.allocation import reserve
from stumpery.types import Floats


class PerceptronWeights(NamedTuple):
    """Weights of a multiclass perceptron."""

    weights: Floats  # (actions, width + 1)


@dataclass(kw_only=True, eq=False)
class Banditron(VectorPolicy[PerceptronWeights]):
    """Banditron: the best action by a multiclass perceptron; with probability `gamma` any action.

    It is for rewards of 1 for the right action and 0 for all others (Kakade, Shalev-Shwartz and Tewari 2008, Algorithm
    1). Scores rank actions and do not estimate rewards. A late reward corrects the action that scores best when it
    comes.

    Args:
        actions: Names of the actions: strings, numbers or booleans, each once.
        seed: Seed of all random draws; the same seed gives the same decisions.
        reward_range: The least and the greatest reward.
        schema: The columns of a context; by default inferred from the first rows.
        gamma: Probability of a uniform choice, above 0 and at most 1. Updates divide by the probability of the
            decision, so that smaller ones have more variance.

    >>> policy = Banditron(actions=["a", "b"], gamma=0.2, seed=1)
    >>> for step in range(100):
    ...     decision = policy.decide(np.array([step % 2, 1 - step % 2]))
    ...     policy.learn(decision, reward=1.0 if decision.action == "ab"[step % 2] else 0.0)
    >>> policy.decide(np.array([1, 0]))[:2]
    ('b', 0.9)
    """

    gamma: float = 0.05

    _kernels: ClassVar[VectorKernels] = banditron_kernels

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, 0.0, 1.0, above=True)
        self.gamma = float(self.gamma)
        super().__post_init__()

    def _new_rule(self) -> Floats:
        return explorers.greedy(epsilon=self.gamma).rule()

    def _new_model(self, n_actions: int, size: int) -> PerceptronWeights:
        reserve(8 * n_actions * size)
        return PerceptronWeights(np.zeros((n_actions, size)))
