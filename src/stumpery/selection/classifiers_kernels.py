"""Two-class classifiers that see some of their inputs: a perceptron, OFS's sparse one, a small neural network.

What is not looked at counts as 0, the mean of a standardised feature. All weights of a classifier are one row. The
network has H hidden units: K * H weights of inputs, H of the constant, H outputs and the output's constant; it learns
by back-propagation of half the squared error. Its units are tanh with classes -1 and 1, or logistic with 0 and 1.
"""

import math

from stumpery.jit import internal
from stumpery.selection.choosers_kernels import take_top
from stumpery.types import Floats, Integers

# The kinds of classifiers; OTHER is whatever has river's verbs.
PERCEPTRON, SPARSE, NETWORK, ADDITIVE, OTHER = range(5)

# A classifier's options. SIZE is M and N_FEATURES is K; RADIUS and EPSILON are OFS's lambda and epsilon.
KIND, RATE, N_FEATURES, SIZE, STANDARDISE, TRUNCATE, RADIUS, EPSILON, N_HIDDEN, LOGISTIC, PAIRS, MEMORY = range(12)
N_OPTIONS = 12


@internal
def fill_sizes(options: Floats, weights: Floats, scores: Floats) -> None:
    """Write how large each feature's weights are into `scores`, in place."""
    n_hidden, n_features = int(options[N_HIDDEN]), scores.shape[0]
    is_network = int(options[KIND]) == NETWORK
    for feature in range(n_features):
        if not is_network:
            scores[feature] = abs(weights[feature])
            continue
        scores[feature] = 0.0
        for unit in range(n_hidden):
            scores[feature] += abs(weights[feature * n_hidden + unit] * weights[(n_features + 1) * n_hidden + unit])


@internal
def linear(weights: Floats, seen: Integers, n_seen: int, x: Floats) -> float:
    """The weighted sum of what was looked at."""
    total = 0.0
    for place in range(n_seen):
        total += weights[seen[place]] * x[place]
    return total


@internal
def truncate(weights: Floats, size: int, scores: Floats, kept: Integers, best: Floats) -> None:
    """Keep the `size` largest weights and set the others to 0, in place; of equals the earlier stays."""
    for feature in range(scores.shape[0]):
        scores[feature] = abs(weights[feature])
    for place in range(take_top(scores, size, 0.0, kept, best)):
        scores[kept[place]] = -1.0
    for feature in range(scores.shape[0]):
        if scores[feature] >= 0.0:
            weights[feature] = 0.0


@internal
def perceptron_step(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, label: float) -> None:
    """Move the weights of what was looked at towards the label, in place (Algorithm 4, line 17)."""
    for place in range(n_seen):
        weights[seen[place]] += options[RATE] * label * x[place]


@internal
def sparse_step(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, label: float) -> None:
    """Move by what was looked at over the probability to look at it, and shrink into the ball, in place.

    Algorithm 3, lines 16 to 18.
    """
    share = options[SIZE] / options[N_FEATURES] * options[EPSILON]
    for place in range(n_seen):
        feature = seen[place]
        probability = share + (1.0 - options[EPSILON] if weights[feature] != 0.0 else 0.0)
        if probability > 0.0:
            weights[feature] += options[RATE] * label * x[place] / probability
    square = 0.0
    for feature in range(weights.shape[0]):
        square += weights[feature] * weights[feature]
    if square > options[RADIUS] * options[RADIUS]:
        scale = options[RADIUS] / math.sqrt(square)
        for feature in range(weights.shape[0]):
            weights[feature] *= scale


@internal
def unit_of(total: float, is_logistic: bool) -> float:
    """A unit's value: tanh, or logistic."""
    return 0.5 + 0.5 * math.tanh(0.5 * total) if is_logistic else math.tanh(total)


@internal
def slope_of(value: float, is_logistic: bool) -> float:
    """The slope of a unit where it has this value."""
    return value * (1.0 - value) if is_logistic else 1.0 - value * value


@internal
def network(options: Floats, weights: Floats, seen: Integers, n_seen: int, x: Floats, units: Floats) -> float:
    """The network's output; its hidden units go into `units`, in place."""
    n_hidden, n_features, is_logistic = int(options[N_HIDDEN]), int(options[N_FEATURES]), options[LOGISTIC] > 0.0
    constants, outputs = n_features * n_hidden, (n_features + 1) * n_hidden
    for unit in range(n_hidden):
        units[unit] = weights[constants + unit]
    for place in range(n_seen):
        first = seen[place] * n_hidden
        for unit in range(n_hidden):
            units[unit] += weights[first + unit] * x[place]
    total = weights[outputs + n_hidden]
    for unit in range(n_hidden):
        units[unit] = unit_of(units[unit], is_logistic)
        total += weights[outputs + unit] * units[unit]
    return unit_of(total, is_logistic)


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
    """One step of back-propagation, in place; `units` is overwritten by the steps of the hidden units."""
    n_hidden, n_features, is_logistic = int(options[N_HIDDEN]), int(options[N_FEATURES]), options[LOGISTIC] > 0.0
    constants, outputs = n_features * n_hidden, (n_features + 1) * n_hidden
    step = options[RATE] * (target - output) * slope_of(output, is_logistic)
    weights[outputs + n_hidden] += step
    for unit in range(n_hidden):
        value = units[unit]
        units[unit] = step * weights[outputs + unit] * slope_of(value, is_logistic)
        weights[outputs + unit] += step * value
        weights[constants + unit] += units[unit]
    for place in range(n_seen):
        first = seen[place] * n_hidden
        for unit in range(n_hidden):
            weights[first + unit] += units[unit] * x[place]
