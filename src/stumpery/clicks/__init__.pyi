from .click_model import ClickModel
from .content_selector import ContentSelector
from .ensembles.bagged_predictors import BaggedPredictors
from .ensembles.ensemble import Average, LinearRanker, WeightedPredictors
from .ensembles.log_odds import LogOdds
from .predictors.hashed_stump import HashedStump
from .predictors.one_rule import OneRule
from .predictors.one_versus_all import OneVersusAll
from .predictors.predictor import Predictor
from .predictors.random_hoeffding_tree import RandomHoeffdingTree
from .predictors.stump import Stump
from .predictors.univariate_tree import UnivariateTree

__all__ = [
    "Average",
    "BaggedPredictors",
    "ClickModel",
    "ContentSelector",
    "HashedStump",
    "LinearRanker",
    "LogOdds",
    "OneRule",
    "OneVersusAll",
    "Predictor",
    "RandomHoeffdingTree",
    "Stump",
    "UnivariateTree",
    "WeightedPredictors",
]
