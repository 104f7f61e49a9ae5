"""Trees on a stream: click predictors over summaries, and the array forest under the policies."""

from stumpery.trees.click_model import ClickModel
from stumpery.trees.hashed_stump import HashedStump
from stumpery.trees.one_rule import OneRule
from stumpery.trees.one_versus_all import OneVersusAll
from stumpery.trees.predictor import Predictor
from stumpery.trees.random_hoeffding_tree import RandomHoeffdingTree
from stumpery.trees.stump import Stump
from stumpery.trees.univariate_tree import UnivariateTree

__all__ = [
    "ClickModel",
    "HashedStump",
    "OneRule",
    "OneVersusAll",
    "Predictor",
    "RandomHoeffdingTree",
    "Stump",
    "UnivariateTree",
]
