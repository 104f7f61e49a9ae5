"""The best tree over categories by dynamic programming over all partly observed rows.

A state has a digit for each column: a code, or one past the last code where the column is not observed. What follows a
query has a smaller digit and so a smaller number than what it follows: one pass upwards values every state.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import kernel
from stumpery.types import Floats, Integers

REPORT = -1


@kernel
def spread(counts: Floats, strides: Integers, n_codes: Integers) -> None:
    """Sum the counts of complete rows over every column that is not observed, in place."""
    n_states, n_classes = counts.shape
    for column in range(n_codes.shape[0]):
        unseen = n_codes[column]
        for state in range(n_states):
            if state // strides[column] % (unseen + 1) == unseen:
                for code in range(unseen):
                    below = state - (unseen - code) * strides[column]
                    for label in range(n_classes):
                        counts[state, label] += counts[below, label]


@kernel
def solve(
    counts: Floats,
    strides: Integers,
    n_codes: Integers,
    n_names: Integers,
    price: float,
    values: Floats,
    actions: NDArray[np.int16],
) -> None:
    """The most that each state can earn, in rows, and the query that earns it or REPORT; a query must earn more.

    Codes from `n_names` upwards stand for a missing value, which costs nothing to find.
    """
    totals = np.zeros(counts.shape[0])
    for state in range(counts.shape[0]):
        total, best, action = 0.0, 0.0, REPORT
        for label in range(counts.shape[1]):
            total += counts[state, label]
            best = max(best, counts[state, label])
        totals[state] = total
        if best < total:
            for column in range(n_codes.shape[0]):
                unseen = n_codes[column]
                if state // strides[column] % (unseen + 1) == unseen:
                    earned = 0.0
                    for code in range(unseen):
                        below = state - (unseen - code) * strides[column]
                        earned += values[below]
                        if code < n_names[column]:
                            earned -= price * totals[below]
                    if earned > best + 1e-9 * total:
                        best, action = earned, column
        values[state], actions[state] = best, action
