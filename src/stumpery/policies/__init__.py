"""Policies: decide, then learn from the reward of the chosen action."""

from stumpery.policies import explorers
from stumpery.policies.bandit_forest import BanditForest
from stumpery.policies.bandit_stump import BanditStump
from stumpery.policies.bandit_tree import BanditTree
from stumpery.policies.banditron import Banditron
from stumpery.policies.content_selector import ContentSelector
from stumpery.policies.contextual import ContextualPolicy
from stumpery.policies.epsilon_greedy import EpsilonGreedy
from stumpery.policies.greedy import Greedy
from stumpery.policies.linear import LinearPolicy, LinearThompson, LinUCB
from stumpery.policies.means import MeansPolicy
from stumpery.policies.neural import NeuralBandit
from stumpery.policies.policy import Policy
from stumpery.policies.random_policy import RandomPolicy
from stumpery.policies.reward_forest import RewardForest
from stumpery.policies.successive_elimination import SuccessiveElimination
from stumpery.policies.thompson_sampling import ThompsonSampling
from stumpery.policies.ucb import UCB

__all__ = [
    "UCB",
    "BanditForest",
    "BanditStump",
    "BanditTree",
    "Banditron",
    "ContentSelector",
    "ContextualPolicy",
    "EpsilonGreedy",
    "Greedy",
    "LinUCB",
    "LinearPolicy",
    "LinearThompson",
    "MeansPolicy",
    "NeuralBandit",
    "Policy",
    "RandomPolicy",
    "RewardForest",
    "SuccessiveElimination",
    "ThompsonSampling",
    "explorers",
]
