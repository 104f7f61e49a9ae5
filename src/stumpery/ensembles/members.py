"""What the members of an ensemble predict, as one prediction."""

from collections.abc import Mapping, Sequence
from typing import Any


def mean_number(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean."""
    total = sum(weights)
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True)) / total if total else 0.0


def mean_chances(outputs: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> dict[Any, float]:
    """The weighted mean of chances, brought to a sum of 1; empty where nobody says anything."""
    chances: dict[Any, float] = {}
    for weight, output in zip(weights, outputs, strict=True):
        for label, chance in output.items():
            chances[label] = chances.get(label, 0.0) + weight * chance
    whole = sum(chances.values())
    return {label: chance / whole for label, chance in chances.items()} if whole > 0.0 else chances


def likeliest(chances: Mapping[Any, float]) -> Any:
    """The class with the largest chance, the first of equal ones; None where there is none."""
    return max(chances, key=lambda label: chances[label]) if chances else None
