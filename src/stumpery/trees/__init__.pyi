from .classifier import StreamClassifier
from .click_model import ClickModel
from .forest_classifier import ForestClassifier
from .forest_regressor import ForestRegressor
from .hashed_stump import HashedStump
from .hoeffding_tree_classifier import HoeffdingTreeClassifier
from .hoeffding_tree_regressor import HoeffdingTreeRegressor
from .one_rule import OneRule
from .one_versus_all import OneVersusAll
from .predictor import Predictor
from .random_hoeffding_tree import RandomHoeffdingTree
from .regressor import StreamRegressor
from .stream_model import StreamModel
from .stump import Stump
from .univariate_tree import UnivariateTree

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
