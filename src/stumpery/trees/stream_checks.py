"""Whether the saved memory of a stream's trees can be used: a kernel must never be led astray by it."""

import numpy as np

from stumpery.trees import drift_kernels
from stumpery.trees import forest_kernels as trees
from stumpery.trees import leaves_kernels as leaves
from stumpery.trees import room_kernels as room
from stumpery.trees.block_checks import blocks_fit
from stumpery.trees.forest_kernels import Forest
from stumpery.trees.leaves_kernels import Model
from stumpery.trees.stream_memory import Shape


def plausible(model: Model, shape: Shape) -> bool:
    """Whether every place that the kernels follow leads somewhere, and nowhere twice, and every number is one."""
    forest = model.forest
    n_nodes, n_leaves, _, _, _, n_free, time, _ = forest.counters[: trees.N_COUNTERS].tolist()
    roots, n_blocks = shape.n_roots, len(forest.blocks)
    if not (roots <= n_nodes <= len(forest.nodes) and roots <= n_leaves <= len(forest.leaves)):
        return False
    if not (0 <= time < 2**31 and 0 <= forest.counters[room.LAST_SWEEP] <= time and 0 <= n_free <= n_blocks):
        return False
    return (
        bool(((forest.kinds == trees.NAME) == shape.is_name).all() and (forest.kinds <= trees.BIT).all())
        and _nodes_fit(forest, shape, n_nodes, n_leaves)
        and blocks_fit(forest, n_leaves, len(model.events))
        and _events_fit(model, shape)
        and _rest_fits(model, n_leaves)
    )


def _nodes_fit(forest: Forest, shape: Shape, n_nodes: int, n_leaves: int) -> bool:
    """Walk all trees from their roots, then the free pairs and leaves: each is met once."""
    children, columns = forest.nodes[:, trees.CHILD].tolist(), forest.nodes[:, trees.COLUMN].tolist()
    met_pairs, met_leaves = set(), set()
    waiting = list(range(shape.n_roots))
    while waiting:
        node = waiting.pop()
        child = children[node]
        if child == node:
            leaf = int(forest.nodes[node, trees.LEAF])
            if not 0 <= leaf < n_leaves or leaf in met_leaves or forest.leaves[leaf, trees.NODE] != node:
                return False
            if columns[node] != 0 or forest.masks[2 * node + trees.PAYLOAD] != trees.NAN | np.uint64(leaf):
                return False
            met_leaves.add(leaf)
            continue
        column = columns[node]
        place = ~column if column < 0 else column
        if place >= shape.n_columns or bool(shape.is_name[place]) != (column < 0):
            return False
        if not shape.n_roots <= child < n_nodes - 1 or (child - shape.n_roots) % 2 or child in met_pairs:
            return False
        met_pairs.add(child)
        waiting += [child, child + 1]
    pair, leaf = int(forest.counters[trees.FREE_PAIR]), int(forest.counters[trees.FREE_LEAF])
    while pair != trees.NOTHING:
        if not shape.n_roots <= pair < n_nodes - 1 or (pair - shape.n_roots) % 2 or pair in met_pairs:
            return False
        met_pairs.add(pair)
        pair = children[pair]
    while leaf != trees.NOTHING:
        if not 0 <= leaf < n_leaves or leaf in met_leaves or forest.leaves[leaf, trees.NODE] != trees.NOTHING:
            return False
        met_leaves.add(leaf)
        leaf = int(forest.leaves[leaf, trees.HEAD])
    return len(met_leaves) == n_leaves and 2 * len(met_pairs) + shape.n_roots == n_nodes


def _events_fit(model: Model, shape: Shape) -> bool:
    rows, labels, weights = model.events[:, :-2], model.events[:, -2], model.events[:, -1]
    of_classes = np.isin(labels, np.arange(shape.n_values)).all() or model.spread[leaves.COUNT] > 0
    return bool(
        of_classes
        and np.isfinite(labels).all()
        and not np.isnan(rows).any()
        and np.isin(rows[:, shape.is_name], np.arange(trees.N_CODES)).all()
        and (weights >= 0.0).all()
        and np.isfinite(weights).all()
    )


def _rest_fits(model: Model, n_leaves: int) -> bool:
    tables, n_tables = model.marks[:n_leaves, leaves.TABLE], len(model.bayes.cuts)
    taken, free = tables[tables != trees.NOTHING], model.bayes.free
    if not 0 <= free[0] <= n_tables:
        return False
    owned = np.concatenate([taken, free[1 : 1 + free[0]]])
    fills = model.windows.fills
    finite = (model.forest.stats, model.duels, model.bayes.logs, model.windows.sums, model.votes, model.importances)
    return bool(
        ((owned >= 0) & (owned < n_tables)).all()
        and len(np.unique(owned)) == len(owned)
        and ((fills >= 0) & (fills <= drift_kernels.N_BUCKETS)).all()
        and np.isin(model.standby, (0, 1)).all()
        and np.isin(model.marks[:n_leaves, leaves.ASLEEP], (0, 1)).all()
        and all(np.isfinite(array).all() for array in (*finite, model.spread))
        and not np.isnan(model.bayes.cuts).any()
        and (model.votes >= 0.0).all()
    )
