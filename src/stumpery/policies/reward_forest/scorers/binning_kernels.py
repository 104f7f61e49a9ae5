"""Bins of numerical columns for the linear scorers: edges at quantiles of the stored events."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest.forest_kernels import NUMERICAL
from stumpery.jit import internal
from stumpery.policies.reward_forest.trees.ring_kernels import Ring, value_of
from stumpery.types import Floats

N_BINS = 16
FIRST_BINNING = 50  # events after which numbers get their first bins; checked again whenever the events have doubled
BINNING_SAMPLE = 1024
REBINNING_FACTOR = 1.25  # bins are replaced when the largest holds so many times what it would hold then


@internal
def shell_sort(values: Floats, n: int) -> None:
    """Sort the first n values in ascending order, in place (Shell 1959)."""
    gap = n // 2
    while gap > 0:
        for start in range(gap, n):
            value, index = values[start], start
            while index >= gap and values[index - gap] > value:
                values[index] = values[index - gap]
                index -= gap
            values[index] = value
        gap //= 2


@internal
def largest_bin(values: Floats, n: int, edges: Floats) -> int:
    """The count of the fullest bin over the first n values, which ascend."""
    largest, first = 0, 0
    for edge in range(edges.shape[0] + 1):
        end = first
        while end < n and (edge == edges.shape[0] or values[end] <= edges[edge]):
            end += 1
        largest = max(largest, end - first)
        first = end
    return largest


@internal
def fill_sample(ring: Ring, column: int, first: int, n: int, sample: Floats) -> int:
    """Write known values of a column, evenly spaced over n events from `first` on, into `sample`, sorted, in place."""
    n_values, size = 0, min(n, BINNING_SAMPLE)
    for index in range(size):
        value = value_of(ring, (first + index * n // size) % ring.bytes.shape[0], column)
        if value > -np.inf:
            sample[n_values] = value
            n_values += 1
    shell_sort(sample, n_values)
    return n_values


@internal
def fill_quantiles(sample: Floats, n_values: int, quantiles: Floats) -> int:
    """Write distinct quantiles of a sorted sample into `quantiles`, in place, then infinity; return their number."""
    n_edges = 0
    for quantile in range(1, quantiles.shape[0] + 1 if n_values > 0 else 0):
        edge = sample[quantile * n_values // (quantiles.shape[0] + 1)]
        if n_edges == 0 or edge > quantiles[n_edges - 1]:
            quantiles[n_edges] = edge
            n_edges += 1
    for edge_index in range(n_edges, quantiles.shape[0]):
        quantiles[edge_index] = np.inf
    return n_edges


@internal
def update_bin_edges(edges: Floats, ring: Ring, kinds: NDArray[np.uint8], first: int, end: int, sample: Floats) -> None:
    """Set bin edges to quantiles of the events from `first` to `end`, in place, for columns where that helps.

    Weights belong to bins, so new bins start untrained: a column keeps its bins unless there would be more of
    them, or its largest bin holds `REBINNING_FACTOR` times what it would.
    """
    quantiles = sample[BINNING_SAMPLE:]  # the end of the buffer is for new edges
    for column in range(edges.shape[0]):
        if kinds[column] != NUMERICAL:
            continue
        n_values = fill_sample(ring, column, first, end - first, sample)
        n_edges = fill_quantiles(sample, n_values, quantiles)
        has_more = n_edges > 0 and edges[column, n_edges - 1] == np.inf
        largest, balanced = largest_bin(sample, n_values, edges[column]), largest_bin(sample, n_values, quantiles)
        if has_more or largest > REBINNING_FACTOR * balanced:
            for edge in range(quantiles.shape[0]):
                edges[column, edge] = quantiles[edge]
