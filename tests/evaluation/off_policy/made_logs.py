"""Logs as arrays: one of five actions with moderate weights, one with heavy weights and rewards outside 0..1."""

from typing import NamedTuple

import numpy as np


class MadeLog(NamedTuple):
    truth: float
    weights: np.ndarray
    rewards: np.ndarray
    predicted: np.ndarray
    values: np.ndarray
    actions: np.ndarray
    logging: np.ndarray  # probabilities of all actions
    target: np.ndarray
    predictions: np.ndarray
    x: np.ndarray


def moderate_log(n=20_000, k=5):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(n, 3)), rng.normal(size=(3, k))
    q = 1.0 / (1.0 + np.exp(-x @ w))
    logging = normalised(np.exp(x @ w / 2.0 + 0.3 * rng.normal(size=k)))
    actions = np.array([rng.choice(k, p=row) for row in logging])
    rewards = rng.binomial(1, q[np.arange(n), actions]).astype(float)
    target = normalised(np.exp(3.0 * x @ w))
    predictions = np.clip(q + 0.1 * rng.normal(size=(n, k)), 0.0, 1.0)
    return _log(q, x, logging, target, actions, rewards, predictions)


def heavy_log(n=5_000, k=4):
    """Weights up to some hundreds; rewards from -3 to 7."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 3))
    q = 2.0 + 4.0 * np.tanh(x @ rng.normal(size=(3, k)))
    logging = normalised(np.exp(2.0 * rng.normal(size=(n, k))))
    target = normalised(np.exp(2.0 * rng.normal(size=(n, k))))
    actions = np.array([rng.choice(k, p=row) for row in logging])
    rewards = np.clip(q[np.arange(n), actions] + rng.normal(size=n), -3.0, 7.0)
    return _log(q, x, logging, target, actions, rewards, q + rng.normal(size=(n, k)))


def normalised(matrix):
    return matrix / matrix.sum(axis=1, keepdims=True)


def _log(q, x, logging, target, actions, rewards, predictions):
    own = np.arange(len(x)), actions
    values = (target * predictions).sum(axis=1)
    truth, weights = float((q * target).sum(axis=1).mean()), target[own] / logging[own]
    return MadeLog(truth, weights, rewards, predictions[own], values, actions, logging, target, predictions, x)
