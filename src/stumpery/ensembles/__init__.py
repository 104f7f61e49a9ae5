"""Many predictors or learners as one."""

from stumpery.ensembles.average import Average
from stumpery.ensembles.bagged_learners import BaggedLearners
from stumpery.ensembles.batch import AdaBoost, Bagging, Stacking
from stumpery.ensembles.combination import Combination
from stumpery.ensembles.exponential_weights import ExponentialWeights
from stumpery.ensembles.learners import LearnerEnsemble
from stumpery.ensembles.linear_ranker import LinearRanker
from stumpery.ensembles.log_odds import LogOdds
from stumpery.ensembles.online_bagging import OnlineBagging
from stumpery.ensembles.online_boosting import OnlineBoosting
from stumpery.ensembles.online_stacking import OnlineStacking
from stumpery.ensembles.voting import Voting
from stumpery.ensembles.weighted_learners import WeightedLearners

__all__ = [
    "AdaBoost",
    "Average",
    "BaggedLearners",
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
    "WeightedLearners",
]
