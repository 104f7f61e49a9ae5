"""What the members of an ensemble predict, as one prediction."""

from collections.abc import Mapping, Sequence
from typing import Any


def mean_number(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean."""
    total = sum(weights)
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / total if total else 0.0


def mean_probabilities(outputs: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> dict[Any, float]:
    """The weighted mean of probabilities, brought to a sum of 1; empty where nobody says anything."""
    probabilities: dict[Any, float] = {}
    for weight, output in zip(weights, outputs, strict=True):
        for label, probability in output.items():
            probabilities[label] = probabilities.get(label, 0.0) + weight * probability
    whole = sum(probabilities.values())
    return (
        {label: probability / whole for label, probability in probabilities.items()} if whole > 0.0 else probabilities
    )


def likeliest(probabilities: Mapping[Any, float]) -> Any:
    """The class with the largest probability, the first of equal ones; None where there is none."""
    return max(probabilities, key=lambda label: probabilities[label]) if probabilities else None
