"""The public names: what `import stumpery as st` offers."""

from stumpery import encoding, evaluation, streams, summaries
from stumpery.encoding import BitEncoder, CodeEncoder, HashEncoder, Schema, VectorEncoder
from stumpery.ensembles import Average, ExponentialWeights, LinearRanker, LogOdds, OnlineBagging
from stumpery.evaluation import play, regret
from stumpery.files import KINDS as _KINDS
from stumpery.files import load, save
from stumpery.policies import (
    UCB,
    BanditForest,
    Banditron,
    BanditStump,
    BanditTree,
    ContentSelector,
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
from stumpery.summaries import CountMin, Moments, QuantileSummary
from stumpery.trees import HashedStump, OneRule, OneVersusAll, RandomHoeffdingTree, Stump, UnivariateTree
from stumpery.types import Decision, Decisions

__all__ = [
    "UCB",
    "Average",
    "BanditForest",
    "BanditStump",
    "BanditTree",
    "Banditron",
    "BitEncoder",
    "CodeEncoder",
    "CombinatorialThompson",
    "ContentSelector",
    "CountMin",
    "Decision",
    "Decisions",
    "EpsilonGreedy",
    "ExponentialWeights",
    "FeatureSelector",
    "Greedy",
    "HashEncoder",
    "HashedStump",
    "Knapsack",
    "LinUCB",
    "LinearPolicy",
    "LinearRanker",
    "LinearThompson",
    "LogOdds",
    "MeansPolicy",
    "Moments",
    "NeuralBandit",
    "OnePerGroup",
    "OneRule",
    "OneVersusAll",
    "OnlineBagging",
    "QuantileSummary",
    "RandomHoeffdingTree",
    "RandomPolicy",
    "RewardForest",
    "Schema",
    "SetDecision",
    "Stump",
    "SuccessiveElimination",
    "ThompsonSampling",
    "UnivariateTree",
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
