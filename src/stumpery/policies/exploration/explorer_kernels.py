"""Explorers: from scores, uncertainties and the time to one drawn action and the probability with which it was drawn.

Ranking rules are a vector, and their probabilities are exact. Rules of Thompson sampling are a matrix of one row, and
their probabilities are estimates: by the number of dimensions the compiler knows which file a policy needs, and leaves
out the other.
"""

import numpy as np

from stumpery.jit import kernel
from stumpery.policies.exploration.ranking_kernels import choose_ranked, fill_ranked_probabilities
from stumpery.policies.exploration.thompson_kernels import choose_by_thompson, fill_thompson_probabilities
from stumpery.types import Floats, RandomState


@kernel
def choose(rng: RandomState, rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw an action; return it and its probability. Values and probabilities in the statistics are overwritten."""
    if rule.ndim == 2:
        return choose_by_thompson(rng, rule[0], statistics, available, time)
    return choose_ranked(rng, rule, statistics, available, time)


@kernel
def fill_probabilities(rule: Floats, statistics: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's value and probability into the statistics, in place."""
    if rule.ndim == 2:
        fill_thompson_probabilities(rule[0], statistics, available, time)
    else:
        fill_ranked_probabilities(rule, statistics, available, time)
