"""Metrics of predictions along a stream: accuracy, kappa, log loss; MAE, RMSE, R2.

Each is estimated in three ways at every checkpoint: cumulative (over all events so far), windowed (over the latest
`window`) and fading (weights fall by the factor `fading` with each event; Gama et al. 2013). Kappa is the accuracy
above that of guesses by the frequencies of classes (Cohen 1960).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stumpery.ensembles.averaging import likeliest
from stumpery.labels.classes import checked_class
from stumpery.types import Floats, Integers

ESTIMATES = ("cumulative", "windowed", "fading")
MIN_PROBABILITY = 1e-15  # for the log loss of a class to which a model gave none
Metrics = dict[str, dict[str, Floats]]  # by estimate and metric: a number per checkpoint


class Estimator(NamedTuple):
    """Means along a stream, at its checkpoints, in one of the three ways."""

    estimate: str
    checkpoints: Integers
    window: int
    fading: float

    def mean(self, values: Floats) -> Floats:
        """The mean of values at each checkpoint."""
        ends = self.checkpoints
        if self.estimate != "fading":
            sums = np.concatenate([[0.0], np.cumsum(values)])
            starts = np.zeros_like(ends) if self.estimate == "cumulative" else np.maximum(ends - self.window, 0)
            means: Floats = (sums[ends] - sums[starts]) / (ends - starts)
            return means
        faded_means, total, weight, start = [], 0.0, 0.0, 0
        for end in ends.tolist():
            weights = self.fading ** np.arange(end - start - 1, -1, -1.0)
            total = total * self.fading ** (end - start) + float(weights @ values[start:end])
            weight = weight * self.fading ** (end - start) + weights.sum()
            faded_means.append(total / weight)
            start = end
        return np.array(faded_means)

    def agreement_by_chance(self, true: Integers, predicted: Integers, n_classes: int) -> Floats:
        """How often guesses by the classes' frequencies alone would be right, at each checkpoint."""
        agreements, totals, weight, start = [], np.zeros((2, n_classes)), 0.0, 0
        for end in self.checkpoints.tolist():
            kept = {"cumulative": 1.0, "windowed": 0.0, "fading": self.fading ** (end - start)}[self.estimate]
            start = max(end - self.window, 0) if self.estimate == "windowed" else start
            is_fading = self.estimate == "fading"
            weights = self.fading ** np.arange(end - start - 1, -1, -1.0) if is_fading else np.ones(end - start)
            counts = [np.bincount(codes[start:end], weights, n_classes) for codes in (true, predicted)]
            totals = kept * totals + counts
            weight = kept * weight + weights.sum()
            agreements.append(float(totals[0] @ totals[1]) / weight**2)
            start = end
        return np.array(agreements)


def class_metrics(
    predictions: list[Any], labels: list[Any], checkpoints: Integers, window: int, fading: float
) -> Metrics:
    """Accuracy, kappa and log loss of predicted probabilities by class."""
    classes = list(dict.fromkeys([*map(checked_class, labels), *(label for row in predictions for label in row)]))
    codes = {label: code for code, label in enumerate(classes)}
    true = np.array([codes[checked_class(label)] for label in labels])
    predicted = np.array([codes.get(likeliest(row), len(classes)) for row in predictions])
    losses = -np.log(
        [max(row.get(label, 0.0), MIN_PROBABILITY) for row, label in zip(predictions, labels, strict=True)]
    )
    metrics = {}
    for estimate in ESTIMATES:
        along = Estimator(estimate, checkpoints, window, fading)
        accuracy = along.mean((predicted == true).astype(float))
        chance = along.agreement_by_chance(true, predicted, len(classes) + 1)
        kappa = np.where(chance < 1.0, (accuracy - chance) / np.maximum(1.0 - chance, 1e-12), 0.0)
        metrics[estimate] = {"accuracy": accuracy, "kappa": kappa, "log_loss": along.mean(losses)}
    return metrics


def number_metrics(
    predictions: list[Any], labels: list[Any], checkpoints: Integers, window: int, fading: float
) -> Metrics:
    """Mean absolute error, root mean squared error and R2 of predicted numbers."""
    true, predicted = np.array(labels, dtype=float), np.array(predictions, dtype=float)
    errors = predicted - true

    def metrics(along: Estimator) -> Mapping[str, Floats]:
        mae, squared = along.mean(np.abs(errors)), along.mean(errors**2)
        variance = along.mean(true**2) - along.mean(true) ** 2
        varies = variance > 0.0
        r2 = np.where(varies, 1.0 - squared / np.where(varies, variance, 1.0), squared == 0.0)  # as in scikit-learn
        return {"mae": mae, "rmse": np.sqrt(squared), "r2": r2}

    return {estimate: dict(metrics(Estimator(estimate, checkpoints, window, fading))) for estimate in ESTIMATES}
