"""Which features to look at, and deciding from those alone."""

from stumpery.selection import choosers, classifiers
from stumpery.selection.combinatorial_thompson import CombinatorialThompson, SetDecision
from stumpery.selection.feature_selector import FeatureSelector
from stumpery.selection.maximisers import Knapsack, OnePerGroup

__all__ = [
    "CombinatorialThompson",
    "FeatureSelector",
    "Knapsack",
    "OnePerGroup",
    "SetDecision",
    "choosers",
    "classifiers",
]
