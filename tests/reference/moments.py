"""Mean and variance in two passes, with exact sums."""

from math import fsum


def moments(values, weights=None):
    """Total weight, mean and population variance."""
    weights = [1.0] * len(values) if weights is None else weights
    total = fsum(weights)
    mean = fsum(weight * value for weight, value in zip(weights, values, strict=True)) / total
    squares = fsum(weight * (value - mean) ** 2 for weight, value in zip(weights, values, strict=True))
    return total, mean, squares / total
