"""Many predictors as one."""

from stumpery.ensembles.average import Average
from stumpery.ensembles.combination import Combination
from stumpery.ensembles.exponential_weights import ExponentialWeights
from stumpery.ensembles.linear_ranker import LinearRanker
from stumpery.ensembles.log_odds import LogOdds
from stumpery.ensembles.online_bagging import OnlineBagging

__all__ = ["Average", "Combination", "ExponentialWeights", "LinearRanker", "LogOdds", "OnlineBagging"]
