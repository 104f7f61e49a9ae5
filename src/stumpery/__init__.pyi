from . import (
    clicks,
    encoding,
    ensembles,
    evaluation,
    jobs,
    logs,
    policies,
    reinforcement,
    selection,
    streaming,
    streams,
    summaries,
)
from .clicks import ContentSelector
from .encoding import Schema
from .errors import CapacityError, CorruptFile, InvalidInput, StumperyError
from .evaluation import evaluate, play, prequential, regret
from .policies import (
    UCB,
    BanditForest,
    DelayedRewards,
    EpsilonGreedy,
    LinearThompson,
    LinUCB,
    NeuralBandit,
    RewardForest,
    SuccessiveElimination,
    ThompsonSampling,
    explorers,
)
from .reinforcement import DQNTree
from .saving.files import load, save
from .selection import FeatureSelector
from .streaming import ForestClassifier, ForestRegressor, HoeffdingTreeClassifier, HoeffdingTreeRegressor
from .types import Decision, Decisions, RankedDecision

__all__ = [
    "UCB",
    "BanditForest",
    "CapacityError",
    "ContentSelector",
    "CorruptFile",
    "DQNTree",
    "Decision",
    "Decisions",
    "DelayedRewards",
    "EpsilonGreedy",
    "FeatureSelector",
    "ForestClassifier",
    "ForestRegressor",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
    "InvalidInput",
    "LinUCB",
    "LinearThompson",
    "NeuralBandit",
    "RankedDecision",
    "RewardForest",
    "Schema",
    "StumperyError",
    "SuccessiveElimination",
    "ThompsonSampling",
    "clicks",
    "encoding",
    "ensembles",
    "evaluate",
    "evaluation",
    "explorers",
    "jobs",
    "load",
    "logs",
    "play",
    "policies",
    "prequential",
    "regret",
    "reinforcement",
    "save",
    "selection",
    "streaming",
    "streams",
    "summaries",
]

__version__: str
