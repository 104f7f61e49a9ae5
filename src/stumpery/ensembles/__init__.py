"""Many predictors or learners as one."""

from stumpery.ensembles.adaboost import AdaBoost
from stumpery.ensembles.average import Average
from stumpery.ensembles.bagged_predictors import BaggedPredictors
from stumpery.ensembles.bagging import Bagging
from stumpery.ensembles.combination import Combination
from stumpery.ensembles.exponential_weights import ExponentialWeights
from stumpery.ensembles.learners import LearnerEnsemble
from stumpery.ensembles.linear_ranker import LinearRanker
from stumpery.ensembles.log_odds import LogOdds
from stumpery.ensembles.online_bagging import OnlineBagging
from stumpery.ensembles.online_boosting import OnlineBoosting
from stumpery.ensembles.online_stacking import OnlineStacking
from stumpery.ensembles.stacking import Stacking
from stumpery.ensembles.voting import Voting
from stumpery.ensembles.weighted_predictors import WeightedPredictors

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
