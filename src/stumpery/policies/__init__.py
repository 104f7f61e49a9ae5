"""Policies: decide, then learn from the reward of the chosen action."""

from stumpery.policies import explorers
from stumpery.policies.epsilon_greedy import EpsilonGreedy
from stumpery.policies.greedy import Greedy
from stumpery.policies.means import MeansPolicy
from stumpery.policies.policy import Policy
from stumpery.policies.random_policy import RandomPolicy
from stumpery.policies.successive_elimination import SuccessiveElimination
from stumpery.policies.thompson_sampling import ThompsonSampling
from stumpery.policies.ucb import UCB

__all__ = [
    "UCB",
    "EpsilonGreedy",
    "Greedy",
    "MeansPolicy",
    "Policy",
    "RandomPolicy",
    "SuccessiveElimination",
    "ThompsonSampling",
    "explorers",
]
