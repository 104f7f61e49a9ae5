"""Which features to look at, and deciding from those alone."""

from stumpery.selection.combinatorial_thompson import CombinatorialThompson, SetDecision
from stumpery.selection.maximisers import Knapsack, OnePerGroup

__all__ = ["CombinatorialThompson", "Knapsack", "OnePerGroup", "SetDecision"]
