"""Averages of the predictions of an ensemble's members: dicts of class probabilities, or numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

ClassProbabilities = dict[Any, float]


def predicts_probabilities(model: Any) -> bool:
    """Whether a model predicts classes; an ensemble says so itself."""
    return bool(getattr(model, "is_classifier", hasattr(model, "predict_proba_one")))


def mean_number(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean of numbers."""
    total = sum(weights)
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / total if total else 0.0


def mean_probabilities(outputs: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> ClassProbabilities:
    """The weighted mean of class probabilities, normalised to a sum of 1; empty where no member predicts anything."""
    sums: ClassProbabilities = {}
    for weight, output in zip(weights, outputs, strict=True):
        for label, probability in output.items():
            sums[label] = sums.get(label, 0.0) + weight * probability
    total = sum(sums.values())
    return {label: probability / total for label, probability in sums.items()} if total > 0.0 else sums


def likeliest(probabilities: Mapping[Any, float]) -> Any:
    """The class with the largest probability, the first of equal ones; None where there is none."""
    return max(probabilities, key=lambda label: probabilities[label]) if probabilities else None
