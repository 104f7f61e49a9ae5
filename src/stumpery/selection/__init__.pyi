from . import choosers, classifiers
from .combinatorial_thompson import CombinatorialThompson, SetDecision
from .feature_selector import FeatureSelector
from .maximisers import Knapsack, OnePerGroup

__all__ = [
    "CombinatorialThompson",
    "FeatureSelector",
    "Knapsack",
    "OnePerGroup",
    "SetDecision",
    "choosers",
    "classifiers",
]
