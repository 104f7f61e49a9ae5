"""The policy without jax: what a trained network does with a row, in sums of one order.

Observing a code adds one vector to the first layer, so a policy is a table of these vectors and the two layers above.
The order in which vectors are added is the order of the queries; a tree that follows the same path adds them alike,
and so decides alike to the last bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal, kernel
from stumpery.types import Floats, Integers


class TreePolicy(NamedTuple):
    """A network, prepared for asking."""

    starts: Integers  # (columns,): where each column's codes begin in the table
    table: Floats  # (codes, width): what observing a code adds to the first layer
    numbers: Floats  # (columns, width): what a standardised number adds
    base: Floats  # (width,): the first layer before anything is observed
    across: Floats  # (width, width)
    second: Floats  # (width,)
    actions: Floats  # (columns + classes, width): queries first
    bias: Floats  # (columns + classes,)


@internal
def judge(policy: TreePolicy, first: Floats, layer: Floats, outputs: Floats) -> None:
    """What every action is worth, from the first layer before its bend; `layer` is room to write."""
    width = first.shape[0]
    for unit in range(width):
        total = policy.second[unit]
        for below in range(width):
            if first[below] > 0.0:
                total += first[below] * policy.across[below, unit]
        layer[unit] = total if total > 0.0 else 0.0
    for action in range(outputs.shape[0]):
        total = policy.bias[action]
        for unit in range(width):
            total += layer[unit] * policy.actions[action, unit]
        outputs[action] = total


@internal
def best(outputs: Floats, closed: NDArray[np.bool_]) -> int:
    """The best action; a column that is observed or not there is closed."""
    n_columns = len(closed)
    chosen = n_columns
    for action in range(n_columns + 1, outputs.shape[0]):
        if outputs[action] > outputs[chosen]:
            chosen = action
    for column in range(n_columns - 1, -1, -1):
        if not closed[column] and outputs[column] >= outputs[chosen]:
            chosen = column
    return chosen


@kernel
def walk(policy: TreePolicy, codes: NDArray[np.int16], numbers: Floats, reports: Floats, n_queries: Integers) -> None:
    """Ask about every row until its class is reported: what reports are worth there, and how many columns it took."""
    n_columns = codes.shape[1]
    layer = np.empty(policy.base.shape[0])
    outputs = np.empty(policy.bias.shape[0])
    closed = np.empty(n_columns, np.bool_)
    for row in range(codes.shape[0]):
        first = policy.base.copy()
        n_queries[row] = 0
        for column in range(n_columns):
            closed[column] = codes[row, column] < 0  # missing: not there to query
        while True:
            judge(policy, first, layer, outputs)
            action = best(outputs, closed)
            if action >= n_columns:
                break
            closed[action] = True
            n_queries[row] += 1
            vector = policy.starts[action] + codes[row, action]
            for unit in range(first.shape[0]):
                first[unit] += policy.table[vector, unit] + numbers[row, action] * policy.numbers[action, unit]
        for place in range(reports.shape[1]):
            reports[row, place] = outputs[n_columns + place]


@kernel
def act(policy: TreePolicy, firsts: Floats, closed: NDArray[np.bool_], actions: Integers, reports: Integers) -> None:
    """The best action in each of many states, and the best report."""
    n_columns = closed.shape[1]
    layer = np.empty(policy.base.shape[0])
    outputs = np.empty(policy.bias.shape[0])
    for state in range(firsts.shape[0]):
        judge(policy, firsts[state], layer, outputs)
        actions[state] = best(outputs, closed[state])
        reports[state] = np.argmax(outputs[n_columns:])
