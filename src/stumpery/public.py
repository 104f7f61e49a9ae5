"""The public names: what `import stumpery as st` offers."""

from stumpery import encoding, evaluation, streams, summaries
from stumpery.encoding import BitEncoder, CodeEncoder, Schema, VectorEncoder
from stumpery.evaluation import play, regret
from stumpery.files import KINDS as _KINDS
from stumpery.files import load, save
from stumpery.policies import (
    UCB,
    BanditForest,
    Banditron,
    BanditStump,
    BanditTree,
    EpsilonGreedy,
    Greedy,
    LinearPolicy,
    LinearThompson,
    LinUCB,
    MeansPolicy,
    NeuralBandit,
    RandomPolicy,
    RewardForest,
    SuccessiveElimination,
    ThompsonSampling,
    explorers,
)
from stumpery.selection import (
    CombinatorialThompson,
    FeatureSelector,
    Knapsack,
    OnePerGroup,
    SetDecision,
    choosers,
    classifiers,
)
from stumpery.summaries import Moments
from stumpery.types import Decision, Decisions

__all__ = [
    "UCB",
    "BanditForest",
    "BanditStump",
    "BanditTree",
    "Banditron",
    "BitEncoder",
    "CodeEncoder",
    "CombinatorialThompson",
    "Decision",
    "Decisions",
    "EpsilonGreedy",
    "FeatureSelector",
    "Greedy",
    "Knapsack",
    "LinUCB",
    "LinearPolicy",
    "LinearThompson",
    "MeansPolicy",
    "Moments",
    "NeuralBandit",
    "OnePerGroup",
    "RandomPolicy",
    "RewardForest",
    "Schema",
    "SetDecision",
    "SuccessiveElimination",
    "ThompsonSampling",
    "VectorEncoder",
    "choosers",
    "classifiers",
    "encoding",
    "evaluation",
    "explorers",
    "load",
    "play",
    "regret",
    "save",
    "streams",
    "summaries",
]

_KINDS.update({name: value for name, value in globals().items() if name in __all__ and hasattr(value, "from_state")})
