from .bandit_forest.forest import BanditForest
from .bandit_forest.stump import BanditStump
from .bandit_forest.tree import BanditTree
from .context_free.epsilon_greedy import EpsilonGreedy
from .context_free.greedy import Greedy
from .context_free.means import MeansPolicy
from .context_free.random_policy import RandomPolicy
from .context_free.successive_elimination import SuccessiveElimination
from .context_free.thompson_sampling import ThompsonSampling
from .context_free.ucb import UCB
from .contextual import ContextualPolicy
from .delayed_rewards import DelayedRewards
from .exploration import explorers
from .linear.banditron import Banditron
from .linear.linear_policy import LinearPolicy
from .linear.linear_thompson import LinearThompson
from .linear.linucb import LinUCB
from .neural.neural_bandit import NeuralBandit
from .policy import Policy
from .records import LoggedPredictions
from .reward_forest.policy import RewardForest

__all__ = [
    "UCB",
    "BanditForest",
    "BanditStump",
    "BanditTree",
    "Banditron",
    "ContextualPolicy",
    "DelayedRewards",
    "EpsilonGreedy",
    "Greedy",
    "LinUCB",
    "LinearPolicy",
    "LinearThompson",
    "LoggedPredictions",
    "MeansPolicy",
    "NeuralBandit",
    "Policy",
    "RandomPolicy",
    "RewardForest",
    "SuccessiveElimination",
    "ThompsonSampling",
    "explorers",
]
