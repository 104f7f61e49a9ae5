"""Random decision tree over numbers and categories, as arrays, for generated problems.

A row holds floats: numbers from 0 to 1, then codes of categories; NaN is missing. Categories are split by a random rank
per column, so that a split divides them into two arbitrary sets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stumpery.types import Floats, Integers


class Tree(NamedTuple):
    """A complete binary tree in heap order: the children of `node` are `2 * node + 1` and `2 * node + 2`."""

    column: Integers  # (nodes,): column of the split
    cut: Floats  # (nodes,): values from here on go right
    missing_right: NDArray[np.bool_]  # (nodes,): whether a missing value goes right
    ranks: Floats  # (columns of names, names + 1): the rank of each code; the last is NaN, for missing


def new_tree(rng: np.random.Generator, *, depth: int, n_numbers: int, n_names: int, n_codes: int) -> Tree:
    """Draw a complete tree of `2 ** depth` leaves; each split divides the box of its node."""
    n_columns = n_numbers + n_names
    is_categorical = np.arange(n_columns) >= n_numbers
    low = np.zeros((1, n_columns))
    high = np.where(is_categorical, n_codes, 1.0)[np.newaxis]
    columns, cuts = [], []
    for _ in range(depth):
        boxes = np.arange(len(low))
        can_cut = ~is_categorical | (high - low >= 2)
        column = np.where(can_cut, rng.random(low.shape), -1).argmax(axis=1)
        start, width = low[boxes, column], (high - low)[boxes, column]
        share = rng.uniform(0.3, 0.7, len(boxes))
        cut = np.where(is_categorical[column], np.floor(start + 1 + share * (width - 1)), start + share * width)
        low, high = low.repeat(2, axis=0), high.repeat(2, axis=0)
        high[2 * boxes, column] = cut
        low[2 * boxes + 1, column] = cut
        columns.append(column)
        cuts.append(cut)
    ranks = np.full((n_names, n_codes + 1), np.nan)
    ranks[:, :-1] = rng.permuted(np.tile(np.arange(n_codes), (n_names, 1)), axis=1)
    missing_right = rng.random(2**depth - 1) < 0.5
    return Tree(np.concatenate(columns), np.concatenate(cuts), missing_right, ranks)


def leaves(tree: Tree, values: Floats) -> Integers:
    """The leaf index of each row, from left to right."""
    n_numbers = values.shape[1] - len(tree.ranks)
    ranked = values.copy()
    codes = np.nan_to_num(values[:, n_numbers:], nan=-1).astype(np.int64)
    ranked[:, n_numbers:] = tree.ranks[np.arange(len(tree.ranks)), codes]
    rows = np.arange(len(values))
    node = np.zeros(len(values), np.int64)
    while len(node) and node[0] < len(tree.cut):
        value = ranked[rows, tree.column[node]]
        right = np.where(np.isnan(value), tree.missing_right[node], value >= tree.cut[node])
        node = 2 * node + 1 + right
    return node - len(tree.cut)
