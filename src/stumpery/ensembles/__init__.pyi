from .adaboost import AdaBoost
from .bagging import Bagging
from .exponential_weights import ExponentialWeights
from .online_bagging import OnlineBagging
from .online_boosting import OnlineBoosting
from .online_ensemble import OnlineEnsemble
from .online_stacking import OnlineStacking
from .stacking import Stacking
from .voting import Voting

__all__ = [
    "AdaBoost",
    "Bagging",
    "ExponentialWeights",
    "OnlineBagging",
    "OnlineBoosting",
    "OnlineEnsemble",
    "OnlineStacking",
    "Stacking",
    "Voting",
]
