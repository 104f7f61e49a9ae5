from . import explorers
from .bandit_forest import BanditForest
from .bandit_stump import BanditStump
from .bandit_tree import BanditTree
from .banditron import Banditron
from .content_selector import ContentSelector
from .contextual import ContextualPolicy
from .epsilon_greedy import EpsilonGreedy
from .greedy import Greedy
from .linear import LinearPolicy, LinearThompson, LinUCB
from .means import MeansPolicy
from .neural import NeuralBandit
from .policy import Policy
from .random_policy import RandomPolicy
from .reward_forest import RewardForest
from .successive_elimination import SuccessiveElimination
from .thompson_sampling import ThompsonSampling
from .ucb import UCB

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
