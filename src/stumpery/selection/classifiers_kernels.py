"""Binary classifiers on some of their inputs: a perceptron, the sparse perceptron of OFS, a small neural network.

Features that are not selected count as 0, the mean of a standardised feature. All weights of a classifier are one row.
The network with H hidden units has K * H weights of inputs, H hidden biases, H output weights and the output's bias; it
learns by back-propagation of half the squared error. Its units are tanh with classes -1 and 1, or logistic with 0 and
1.
"""

import math

from stumpery.jit import internal
from stumpery.selection.choosers_kernels import take_top
from stumpery.types import Floats, Integers

# The kinds of classifiers; OTHER is any learner with river's verbs.
PERCEPTRON, SPARSE, NETWORK, ADDITIVE, OTHER = range(5)

# Fields of the options. OPTION_SIZE is M, the size of a set, and OPTION_N_FEATURES is K; OPTION_RADIUS and
# OPTION_EPSILON are lambda and epsilon of OFS.
(
    OPTION_KIND,
    OPTION_RATE,
    OPTION_N_FEATURES,
    OPTION_SIZE,
    OPTION_STANDARDISE,
    OPTION_TRUNCATE,
    OPTION_RADIUS,
    OPTION_EPSILON,
    OPTION_N_HIDDEN,
    OPTION_LOGISTIC,
    OPTION_PAIRS,
    OPTION_MEMORY,
) = range(12)
N_OPTIONS = 12


@internal
def fill_weight_magnitudes(options: Floats, weights: Floats, scores: Floats) -> None:
    """Write the magnitude of every feature's weights into `scores`, in place."""
    n_hidden, n_features = int(options[OPTION_N_HIDDEN]), scores.shape[0]
    is_network = int(options[OPTION_KIND]) == NETWORK
    for feature in range(n_features):
        if not is_network:
            scores[feature] = abs(weights[feature])
            continue
        scores[feature] = 0.0
        for unit in range(n_hidden):
            scores[feature] += abs(weights[feature * n_hidden + unit] * weights[(n_features + 1) * n_hidden + unit])


@internal
def linear_score(weights: Floats, seen: Integers, n_seen: int, x: Floats) -> float:
    """The dot product of the weights and the values that are not missing."""
    total = 0.0
    for index in range(n_seen):
        total += weights[seen[index]] * x[index]
    return total


@internal
def truncate(weights: Floats, size: int, scores: Floats, kept: Integers, best: Floats) -> None:
    """Keep the `size` largest weights and set the others to 0, in place; ties go to the earlier."""
    for feature in range(scores.shape[0]):
        scores[feature] = abs(weights[feature])
    for index in range(take_top(scores, size, 0.0, kept, best)):
        scores[kept[index]] = -1.0
    for feature in range(scores.shape[0]):
        if scores[feature] >= 0.0:
            weights[feature] = 0.0


@internal
def perceptron_step(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, label: float) -> None:
    """Update the weights of the selected features, in place (Algorithm 4, line 17)."""
    for index in range(n_seen):
        weights[seen[index]] += options[OPTION_RATE] * label * x[index]


@internal
def sparse_step(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, label: float) -> None:
    """Update by values divided by their selection probability, then project on the ball, in place.

    Algorithm 3, lines 16 to 18.
    """
    uniform = options[OPTION_SIZE] / options[OPTION_N_FEATURES] * options[OPTION_EPSILON]
    for index in range(n_seen):
        feature = seen[index]
        probability = uniform + (1.0 - options[OPTION_EPSILON] if weights[feature] != 0.0 else 0.0)
        if probability > 0.0:
            weights[feature] += options[OPTION_RATE] * label * x[index] / probability
    square = 0.0
    for feature in range(weights.shape[0]):
        square += weights[feature] * weights[feature]
    if square > options[OPTION_RADIUS] * options[OPTION_RADIUS]:
        scale = options[OPTION_RADIUS] / math.sqrt(square)
        for feature in range(weights.shape[0]):
            weights[feature] *= scale


@internal
def activation(total: float, is_logistic: bool) -> float:
    """The activation of a unit: tanh or logistic."""
    return 0.5 + 0.5 * math.tanh(0.5 * total) if is_logistic else math.tanh(total)


@internal
def activation_slope(value: float, is_logistic: bool) -> float:
    """The derivative of the activation, from its value."""
    return value * (1.0 - value) if is_logistic else 1.0 - value * value


@internal
def network_output(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, units: Floats) -> float:
    """The network's output; writes the hidden units into `units`, in place."""
    n_hidden, n_features, is_logistic = (
        int(options[OPTION_N_HIDDEN]),
        int(options[OPTION_N_FEATURES]),
        options[OPTION_LOGISTIC] > 0.0,
    )
    biases, outputs = n_features * n_hidden, (n_features + 1) * n_hidden
    for unit in range(n_hidden):
        units[unit] = weights[biases + unit]
    for index in range(n_seen):
        first = seen[index] * n_hidden
        for unit in range(n_hidden):
            units[unit] += weights[first + unit] * x[index]
    total = weights[outputs + n_hidden]
    for unit in range(n_hidden):
        units[unit] = activation(units[unit], is_logistic)
        total += weights[outputs + unit] * units[unit]
    return activation(total, is_logistic)


@internal
def network_step(
    options: Floats,
    weights: Floats,
    seen: Integers,
    n_seen: int,
    x: Floats,
    units: Floats,
    output: float,
    target: float,
) -> None:
    """One step of back-propagation, in place; overwrites `units` with the steps of the hidden units."""
    n_hidden, n_features, is_logistic = (
        int(options[OPTION_N_HIDDEN]),
        int(options[OPTION_N_FEATURES]),
        options[OPTION_LOGISTIC] > 0.0,
    )
    biases, outputs = n_features * n_hidden, (n_features + 1) * n_hidden
    step = options[OPTION_RATE] * (target - output) * activation_slope(output, is_logistic)
    weights[outputs + n_hidden] += step
    for unit in range(n_hidden):
        value = units[unit]
        units[unit] = step * weights[outputs + unit] * activation_slope(value, is_logistic)
        weights[outputs + unit] += step * value
        weights[biases + unit] += units[unit]
    for index in range(n_seen):
        first = seen[index] * n_hidden
        for unit in range(n_hidden):
            weights[first + unit] += units[unit] * x[index]
