"""Importance weights of off-policy estimators, and the ways to bound large ones."""

import numpy as np

from stumpery.types import Floats


def clipped(weights: Floats, limit: float) -> Floats:
    """Importance weights clipped at a limit.

    Args:
        weights: Importance weights, target over logged probability.
        limit: The largest weight.

    >>> clipped(np.array([0.5, 20.0]), limit=10.0).tolist()
    [0.5, 10.0]
    """
    return np.minimum(weights, limit)


def switched(weights: Floats, limit: float) -> Floats:
    """Importance weights up to a limit, 0 above it: there Switch-DR trusts the reward model (Wang et al. 2017).

    Args:
        weights: Importance weights, target over logged probability.
        limit: The largest weight that is used.

    >>> switched(np.array([0.5, 20.0]), limit=10.0).tolist()
    [0.5, 0.0]
    """
    return np.where(weights <= limit, weights, 0.0)


def shrunk(weights: Floats, strength: float) -> Floats:
    """Importance weights with optimistic shrinkage, strength * w / (w^2 + strength) (Su et al. 2020).

    Args:
        weights: Importance weights, target over logged probability.
        strength: The larger, the less they shrink; weights far above its root become small.

    >>> shrunk(np.array([1.0, 10.0]), strength=100.0).round(3).tolist()
    [0.99, 5.0]
    """
    return strength * weights / (weights * weights + strength)


def sub_gaussian(weights: Floats, mix: float) -> Floats:
    """Importance weights w / (1 - mix + mix * w), whose errors have sub-Gaussian tails (Metelli et al. 2021).

    Args:
        weights: Importance weights, target over logged probability.
        mix: From 0, the weights as they are, to 1, where all are 1.

    >>> sub_gaussian(np.array([1.0, 19.0]), mix=0.05).round(3).tolist()
    [1.0, 10.0]
    """
    return weights / (1.0 - mix + mix * weights)
