"""Rules of explorers (the kind of exploration and its parameters), and action statistics.

A scorer gives every action a score (an estimate of its reward, on the scale 0 to 1) and an uncertainty: 1 / sqrt(n)
after n rewards, infinite before the first, or a standard error of its own. An explorer's rule is one small array, so
that every scorer's kernels can hold any explorer.
"""

import numpy as np

from stumpery.types import Floats

GREEDY, UPPER_CONFIDENCE, INVERSE_GAP, BETA_THOMPSON, GAUSSIAN_THOMPSON, UNCERTAINTY_THOMPSON = range(6)

# A rule's fields. RULE_STRENGTH is rho of upper confidence, the scale of the inverse gap, the standard deviation of
# rewards, or how many uncertainties wide a posterior is; RULE_BONUS is how many uncertainties are added to a score.
# From RULE_MANY available actions on, the scale grows in proportion to their number K and the bonus falls as
# 1 / sqrt(K); 0 is never.
(
    RULE_KIND,
    RULE_EPSILON,
    RULE_DECAY,
    RULE_FLOOR,
    RULE_STRENGTH,
    RULE_PRIOR_SUCCESSES,
    RULE_PRIOR_FAILURES,
    RULE_BONUS,
    RULE_MANY,
) = range(9)
N_RULE_FIELDS = 9

# The rows of action statistics, each with a column per action. The value is what actions are ranked by.
ACTION_SCORE, ACTION_UNCERTAINTY, ACTION_VALUE, ACTION_PROBABILITY = range(4)
N_STATISTICS = 4


def new_action_statistics(n_actions: int) -> Floats:
    """Statistics of actions without rewards, (N_STATISTICS, actions)."""
    statistics = np.zeros((N_STATISTICS, n_actions))
    statistics[ACTION_UNCERTAINTY] = np.inf
    return statistics
