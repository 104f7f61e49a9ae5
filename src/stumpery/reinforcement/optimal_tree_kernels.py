"""Dynamic programming for the optimal decision tree over categorical columns.

A state is a partly observed row, numbered with a digit for each column: a code, or one past the last code where the
column is not observed. A query replaces a digit by a smaller one, so one pass over ascending numbers values all states.
"""

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import kernel
from stumpery.types import Floats, Integers

REPORT = -1


@kernel
def sum_over_unobserved(counts: Floats, strides: Integers, n_codes: Integers) -> None:
    """Sum the class counts of complete rows over every unobserved column, in place."""
    n_states, n_classes = counts.shape
    for column in range(n_codes.shape[0]):
        unobserved = n_codes[column]
        for state in range(n_states):
            if state // strides[column] % (unobserved + 1) == unobserved:
                for code in range(unobserved):
                    child = state - (unobserved - code) * strides[column]
                    for label in range(n_classes):
                        counts[state, label] += counts[child, label]


@kernel
def solve(
    counts: Floats,
    strides: Integers,
    n_codes: Integers,
    n_names: Integers,
    depth_penalty: float,
    values: Floats,
    actions: NDArray[np.int16],
) -> None:
    """The optimal value of each state, in rows, and its action, in place: a query, or REPORT where none is better.

    Codes from `n_names` upwards stand for a missing value, whose query costs nothing.
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
                unobserved = n_codes[column]
                if state // strides[column] % (unobserved + 1) == unobserved:
                    value = 0.0
                    for code in range(unobserved):
                        child = state - (unobserved - code) * strides[column]
                        value += values[child]
                        if code < n_names[column]:
                            value -= depth_penalty * totals[child]
                    if value > best + 1e-9 * total:
                        best, action = value, column
        values[state], actions[state] = best, action
