"""Feature importances of a reward forest: the decrease in impurity by the splits of each column."""

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.policies.reward_forest.trees.criterion_kernels import plays_of_many
from stumpery.types import Floats, Integers


def column_gains(forest: ForestState, n_trees: int) -> Floats:
    """The decrease in the sum of squared deviations of rewards by all present splits of each column.

    Statistics of inner nodes are the sums of those of the leaves below.
    """
    gains = np.zeros(len(forest.kinds))
    for tree in range(n_trees):
        levels = _levels(forest, tree)
        counts, sums = _leaf_sums(forest, levels[-1])
        for level in reversed(levels[:-1]):
            own_counts, own_sums = _leaf_sums(forest, level)
            is_inner = _is_inner(forest, level)
            n1, n0, s1, s0 = counts[::2], counts[1::2], sums[::2], sums[1::2]
            with np.errstate(invalid="ignore", divide="ignore"):
                difference = np.where((n1 > 0.0) & (n0 > 0.0), s1 / n1 - s0 / n0, 0.0)
                decrease = np.where(n1 + n0 > 0.0, n1 * n0 / (n1 + n0), 0.0) * difference**2
            column = forest.nodes[level[is_inner], trees.NODE_COLUMN]
            np.add.at(gains, np.where(column < 0, ~column, column), decrease.sum(axis=1))
            own_counts[is_inner], own_sums[is_inner] = n1 + n0, s1 + s0
            counts, sums = own_counts, own_sums
    return gains


def _is_inner(forest: ForestState, nodes: Integers) -> NDArray[np.bool_]:
    is_inner: NDArray[np.bool_] = forest.nodes[nodes, trees.NODE_CHILD] != nodes
    return is_inner


def _levels(forest: ForestState, tree: int) -> list[Integers]:
    """The nodes of a tree, level by level, siblings side by side."""
    levels = [np.array([tree])]
    while True:
        inner = levels[-1][_is_inner(forest, levels[-1])]
        if not len(inner):
            return levels
        first = forest.nodes[inner, trees.NODE_CHILD].astype(np.int64)
        levels.append(np.stack([first, first + 1], axis=1).reshape(-1))


def _leaf_sums(forest: ForestState, nodes: Integers) -> tuple[Floats, Floats]:
    """Counts and sums of rewards per node and action; 0 where a node is no leaf."""
    counts, sums = np.zeros((2, len(nodes), forest.stats.shape[2]))
    is_leaf = ~_is_inner(forest, nodes)
    stats = forest.stats[forest.nodes[nodes[is_leaf], trees.NODE_LEAF]]
    counts[is_leaf] = plays_of_many(stats[:, trees.STAT_UNCERTAINTY])
    sums[is_leaf] = counts[is_leaf] * stats[:, trees.STAT_MEAN] / trees.STAT_UNIT
    return counts, sums
