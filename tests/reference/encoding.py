"""Slow, obvious twins of the encoders: one value at a time, by the definitions."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def equal_frequency_edges(points: Sequence[float], n_bins: int) -> list[float]:
    """Hand out the distinct points in order; each bin stops nearest to its share of what is left."""
    left = sorted(Counter(points).items())
    found = []
    for bins_left in range(min(n_bins, len(left)), 1, -1):
        share = sum(count for _, count in left) / bins_left
        sizes = [sum(count for _, count in left[:end]) for end in range(1, len(left) - bins_left + 2)]
        end = min(range(len(sizes)), key=lambda each: (abs(sizes[each] - share), -each)) + 1
        found.append(left[end - 1][0])
        left = left[end:]
    return found


def number_code(value: Any, edges: Sequence[float]) -> int:
    return 0 if is_missing(value) else 1 + sum(edge < value for edge in edges)


def category_code(value: Any, categories: Sequence[str], max_categories: int) -> int:
    if is_missing(value):
        return 0
    return 1 + categories.index(value) if value in categories else max_categories + 1


def number_bits(value: Any, edges: Sequence[float]) -> list[int]:
    ends = [-math.inf, *edges, math.inf]
    return [
        int(not is_missing(value) and (low < value <= high or low == value == -math.inf))
        for low, high in pairwise(ends)
    ]


def one_hot(value: Any, categories: Sequence[str]) -> list[int]:
    return [int(value == category) for category in categories]
