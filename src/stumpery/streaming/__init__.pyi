from .forests import ForestClassifier, ForestRegressor
from .hoeffding_trees import HoeffdingTreeClassifier, HoeffdingTreeRegressor
from .model import StreamModel

__all__ = [
    "ForestClassifier",
    "ForestRegressor",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
    "StreamModel",
]
