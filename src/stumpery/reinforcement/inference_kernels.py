"""Inference without jax: a trained network as a policy over partly observed rows.

Observing a code adds one vector to the first layer, so the policy is a table of these vectors and the two layers above.
Vectors are added in the order of the queries. The extracted tree adds them in the same order and so decides the same to
the last bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal, kernel
from stumpery.types import Floats, Integers


class InferenceNetwork(NamedTuple):
    """A network prepared for inference."""

    starts: Integers  # (columns,): where each column's codes begin in the table
    table: Floats  # (codes, width): what observing a code adds to the first layer
    numbers: Floats  # (columns, width): what a standardised number adds
    base: Floats  # (width,): the first layer before anything is observed
    across: Floats  # (width, width)
    second: Floats  # (width,)
    actions: Floats  # (columns + classes, width): queries first
    bias: Floats  # (columns + classes,)


@internal
def action_values(network: InferenceNetwork, first: Floats, layer: Floats, outputs: Floats) -> None:
    """The values of all actions, from the first layer before its ReLU, into `outputs`; `layer` is scratch."""
    width = first.shape[0]
    for unit in range(width):
        total = network.second[unit]
        for source in range(width):
            if first[source] > 0.0:
                total += first[source] * network.across[source, unit]
        layer[unit] = total if total > 0.0 else 0.0
    for action in range(outputs.shape[0]):
        total = network.bias[action]
        for unit in range(width):
            total += layer[unit] * network.actions[action, unit]
        outputs[action] = total


@internal
def best_action(outputs: Floats, closed: NDArray[np.bool_]) -> int:
    """The action of highest value; closed columns are those observed or missing, which cannot be queried."""
    n_columns = len(closed)
    best = n_columns
    for action in range(n_columns + 1, outputs.shape[0]):
        if outputs[action] > outputs[best]:
            best = action
    for column in range(n_columns - 1, -1, -1):
        if not closed[column] and outputs[column] >= outputs[best]:
            best = column
    return best


@kernel
def rollout(
    network: InferenceNetwork, codes: NDArray[np.int16], numbers: Floats, reports: Floats, n_queries: Integers
) -> None:
    """Query every row until the policy reports: the values of reports there, and the numbers of queries, in place."""
    n_columns = codes.shape[1]
    layer = np.empty(network.base.shape[0])
    outputs = np.empty(network.bias.shape[0])
    closed = np.empty(n_columns, np.bool_)
    for row in range(codes.shape[0]):
        first = network.base.copy()
        n_queries[row] = 0
        for column in range(n_columns):
            closed[column] = codes[row, column] < 0  # a missing value cannot be queried
        while True:
            action_values(network, first, layer, outputs)
            action = best_action(outputs, closed)
            if action >= n_columns:
                break
            closed[action] = True
            n_queries[row] += 1
            vector = network.starts[action] + codes[row, action]
            for unit in range(first.shape[0]):
                first[unit] += network.table[vector, unit] + numbers[row, action] * network.numbers[action, unit]
        for label in range(reports.shape[1]):
            reports[row, label] = outputs[n_columns + label]


@kernel
def best_actions(
    network: InferenceNetwork, firsts: Floats, closed: NDArray[np.bool_], actions: Integers, reports: Integers
) -> None:
    """The best action and the best report in each of many states, in place."""
    n_columns = closed.shape[1]
    layer = np.empty(network.base.shape[0])
    outputs = np.empty(network.bias.shape[0])
    for state in range(firsts.shape[0]):
        action_values(network, firsts[state], layer, outputs)
        actions[state] = best_action(outputs, closed[state])
        reports[state] = np.argmax(outputs[n_columns:])
