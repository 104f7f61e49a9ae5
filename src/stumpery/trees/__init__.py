"""Trees on a stream: Hoeffding trees and forests, click predictors, and the array forest under all forests."""

from stumpery.trees.classifier import StreamClassifier
from stumpery.trees.click_model import ClickModel
from stumpery.trees.forest_classifier import ForestClassifier
from stumpery.trees.forest_regressor import ForestRegressor
from stumpery.trees.hashed_stump import HashedStump
from stumpery.trees.hoeffding_tree_classifier import HoeffdingTreeClassifier
from stumpery.trees.hoeffding_tree_regressor import HoeffdingTreeRegressor
from stumpery.trees.one_rule import OneRule
from stumpery.trees.one_versus_all import OneVersusAll
from stumpery.trees.predictor import Predictor
from stumpery.trees.random_hoeffding_tree import RandomHoeffdingTree
from stumpery.trees.regressor import StreamRegressor
from stumpery.trees.stream_model import StreamModel
from stumpery.trees.stump import Stump
from stumpery.trees.univariate_tree import UnivariateTree

__all__ = [
    "ClickModel",
    "ForestClassifier",
    "ForestRegressor",
    "HashedStump",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
    "OneRule",
    "OneVersusAll",
    "Predictor",
    "RandomHoeffdingTree",
    "StreamClassifier",
    "StreamModel",
    "StreamRegressor",
    "Stump",
    "UnivariateTree",
]
