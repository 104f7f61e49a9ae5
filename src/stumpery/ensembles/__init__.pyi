from .adaboost import AdaBoost
from .average import Average
from .bagged_predictors import BaggedPredictors
from .bagging import Bagging
from .combination import Combination
from .exponential_weights import ExponentialWeights
from .learners import LearnerEnsemble
from .linear_ranker import LinearRanker
from .log_odds import LogOdds
from .online_bagging import OnlineBagging
from .online_boosting import OnlineBoosting
from .online_stacking import OnlineStacking
from .stacking import Stacking
from .voting import Voting
from .weighted_predictors import WeightedPredictors

__all__ = [
    "AdaBoost",
    "Average",
    "BaggedPredictors",
    "Bagging",
    "Combination",
    "ExponentialWeights",
    "LearnerEnsemble",
    "LinearRanker",
    "LogOdds",
    "OnlineBagging",
    "OnlineBoosting",
    "OnlineStacking",
    "Stacking",
    "Voting",
    "WeightedPredictors",
]
