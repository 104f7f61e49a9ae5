"""Whether the arrays of a saved reward forest are those of any stream."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.policies import change_kernels as change
from stumpery.policies import hashed_kernels as hashed
from stumpery.policies.familiar import is_sound
from stumpery.policies.reward_forest_kernels import EVENTS, Models
from stumpery.trees import forest_kernels as trees
from stumpery.trees import ring
from stumpery.trees.block_checks import blocks_fit
from stumpery.trees.forest_kernels import Forest
from stumpery.trees.ring_kernels import BYTE

LEAST_DOUBT = int(trees.UNIT / np.sqrt(trees.MOST_PLAYS + 1.0))


def check_shapes(made: Mapping[str, NDArray[Any]], saved: Mapping[str, NDArray[Any]]) -> None:
    """A ValueError says that saved arrays differ from those that were made in more than their length."""
    for name, array in saved.items():
        if name in made and (array.shape[1:] != made[name].shape[1:] or array.dtype != made[name].dtype):
            raise ValueError(
                f"its array {name!r} is {array.shape} of {array.dtype}, which does not fit its other parts"
            )


def plausible(models: Models, n_trees: int, is_name: NDArray[np.bool_]) -> bool:
    """Whether every place that the kernels follow leads somewhere, and nowhere twice, and every number is one."""
    forest, events = models.forest, models.ring
    n_nodes, n_leaves, _, _, _, n_free, time, swept = forest.counters.tolist()
    if not (n_trees <= n_nodes <= len(forest.nodes) and n_trees <= n_leaves <= len(forest.leaves)):
        return False
    if not 0 <= time <= min(2**31 - 1, models.clock[EVENTS]):
        return False
    if not (0 <= n_free <= len(forest.blocks) and 0 <= swept <= n_leaves):
        return False
    return (
        _kinds_fit(forest.kinds, events.widths, is_name)
        and _nodes_fit(forest, n_trees, n_nodes, n_leaves, is_name)
        and blocks_fit(forest, n_leaves, len(events.bytes))
        and ring.is_sound(events, forest.stats.shape[2], is_name)
        and is_sound(models.familiar, forest.stats.shape[2])
        and _numbers_fit(models)
    )


def _kinds_fit(kinds: NDArray[np.uint8], widths: NDArray[np.uint8], is_name: NDArray[np.bool_]) -> bool:
    return bool(
        ((kinds == trees.NAME) == is_name).all()
        and (kinds <= trees.BIT).all()
        and (widths[kinds == trees.BIT] == BYTE).all()
    )


def _numbers_fit(models: Models) -> bool:
    linear = (models.plain, models.pairs, models.recent, models.corrected, models.shared.linear)
    doubts = models.forest.stats[: models.forest.counters[trees.N_LEAVES], trees.DOUBT]
    watch, time = models.watch, int(models.forest.counters[trees.TIME])
    finite: list[NDArray[Any]] = [models.moments, models.weights, models.clock, watch]
    positive: list[NDArray[Any]] = [models.weights, models.clock]
    for scorer in linear:
        finite.append(scorer)
        positive.append(scorer[:, hashed.PAST])
    return bool(
        all(np.isfinite(part).all() for part in finite)
        and all((part >= 0.0).all() for part in positive)
        and (doubts >= LEAST_DOUBT).all()
        and (watch[[change.SQUARES, change.SINCE, change.N_CHANGES]] >= 0.0).all()
        and not np.isnan(models.edges).any()
        and abs(models.weights.sum() - 1.0) < 1e-6
        and trees.NOTHING <= watch[change.EPOCH] <= time
    )


def _nodes_fit(forest: Forest, n_trees: int, n_nodes: int, n_leaves: int, is_name: NDArray[np.bool_]) -> bool:
    child, column = forest.nodes[:n_nodes, trees.CHILD], forest.nodes[:n_nodes, trees.COLUMN]
    free_pairs = _chain(int(forest.counters[trees.FREE_PAIR]), child[:-1])
    free_leaves = _chain(int(forest.counters[trees.FREE_LEAF]), forest.leaves[:n_leaves, trees.HEAD])
    if free_pairs is None or free_leaves is None:
        return False
    used, used_leaves = np.ones(n_nodes, np.bool_), np.ones(n_leaves, np.bool_)
    used[free_pairs] = used[free_pairs + 1] = used_leaves[free_leaves] = False
    if used.sum() + 2 * len(free_pairs) != n_nodes:  # some are free twice
        return False
    here = np.arange(n_nodes)
    ends, asks = used & (child == here), used & (child != here)
    inner = (child >= 0) & (child + 1 < n_nodes) & (column >= -len(is_name)) & (column < len(is_name))
    if not inner[asks].all() or (column[ends] != 0).any():
        return False
    below = np.concatenate([here[:n_trees], child[asks], child[asks] + 1])
    asked = column[asks]
    leaf_of, node_of = forest.nodes[:n_nodes, trees.LEAF][ends], forest.leaves[:n_leaves, trees.NODE]
    return bool(
        np.array_equal(np.sort(below), here[used])  # every node but the roots is below one other: pairs leave no gap
        and _n_reached(child, ends, n_trees) == used.sum()
        and (is_name[np.where(asked < 0, ~asked, asked)] == (asked < 0)).all()
        and np.isnan(forest.thresholds[trees.PAYLOAD : 2 * n_nodes : 2][ends]).all()
        and np.array_equal(np.sort(leaf_of), np.flatnonzero(used_leaves))
        and np.array_equal(node_of[leaf_of], here[ends])
        and (node_of[free_leaves] == trees.NOTHING).all()
    )


def _chain(first: int, links: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """The places along a chain; None where it leads out of the array or never ends."""
    found: list[int] = []
    while first != trees.NOTHING:
        if not 0 <= first < len(links) or len(found) == len(links):
            return None
        found.append(first)
        first = int(links[first])
    return np.array(found, np.int64)


def _n_reached(child: NDArray[np.int32], ends: NDArray[np.bool_], n_trees: int) -> int:
    """How many nodes the roots lead to: all of them, unless some go round in a circle."""
    level, n_found = np.arange(n_trees), 0
    while len(level):
        n_found += len(level)
        inner = child[level[~ends[level]]]
        level = np.concatenate([inner, inner + 1])
    return n_found
