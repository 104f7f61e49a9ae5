"""Off-policy estimators: the value of a policy from a log of another policy, as functions of arrays.

An event of the log has an importance weight w (the target policy's probability of the logged action over the logged
one), a reward r, the reward `predicted` for the logged action by a reward model, and the `value` that the model gives
the target policy there: the mean of its predictions, weighted by the target policy's probabilities.
"""

import numpy as np

from stumpery.types import Floats


def ips(weights: Floats, rewards: Floats) -> float:
    """Inverse propensity score (IPS, Horvitz and Thompson 1952): the mean of w * r.

    It is unbiased if the logged probabilities are right and the logging policy can choose every action that the target
    policy chooses; its variance grows with the weights. With `weights.clipped` it is clipped IPS.

    Args:
        weights: Importance weight of each event.
        rewards: Reward of each event.

    >>> ips(np.array([2.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.5])).__round__(3)
    0.833
    """
    return float(np.mean(weights * rewards))


def snips(weights: Floats, rewards: Floats) -> float:
    """Self-normalised IPS (SNIPS): the mean of rewards, weighted by w.

    Args:
        weights: Importance weight of each event.
        rewards: Reward of each event.

    >>> snips(np.array([2.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.5])).__round__(3)
    0.833
    """
    return float(np.sum(weights * rewards) / np.sum(weights))


def direct_method(values: Floats) -> float:
    """Direct method (DM): the mean of the reward model's values; as good as the model, whatever the weights.

    Args:
        values: Value of the target policy at each event by the reward model.

    >>> direct_method(np.array([0.5, 0.25]))
    0.375
    """
    return float(np.mean(values))


def doubly_robust(weights: Floats, rewards: Floats, predicted: Floats, values: Floats) -> float:
    """Doubly robust (DR, Dudik et al. 2011): the direct method plus the weighted mean of its errors on the log.

    It is right if the logged probabilities or the model are. With `weights.switched` it is Switch-DR, with
    `weights.shrunk` DR with optimistic shrinkage (DRos), with `weights.sub_gaussian` sub-Gaussian DR.

    Args:
        weights: Importance weight of each event.
        rewards: Reward of each event.
        predicted: Predicted reward of the logged action at each event.
        values: Value of the target policy at each event by the reward model.

    >>> half = np.array([0.5, 0.5])
    >>> doubly_robust(np.array([2.0, 0.0]), np.array([1.0, 1.0]), predicted=half, values=half)
    1.0
    """
    return float(np.mean(values + weights * (rewards - predicted)))


def self_normalised_dr(weights: Floats, rewards: Floats, predicted: Floats, values: Floats) -> float:
    """Self-normalised doubly robust (SNDR): doubly robust with the weights of the errors divided by their mean.

    Args:
        weights: Importance weight of each event.
        rewards: Reward of each event.
        predicted: Predicted reward of the logged action at each event.
        values: Value of the target policy at each event by the reward model.

    >>> half = np.array([0.5, 0.5])
    >>> self_normalised_dr(np.array([3.0, 0.0]), np.array([1.0, 1.0]), predicted=half, values=half)
    1.0
    """
    return float(np.mean(values) + np.sum(weights * (rewards - predicted)) / np.sum(weights))
