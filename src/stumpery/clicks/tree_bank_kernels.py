"""Many Hoeffding trees over a few random columns each, as one set of arrays; every leaf holds a summary per column.

Nodes of all trees stand in one list, the roots first. A cut gives three children in a row: at most the threshold, above
it, missing. A leaf's summaries are a slot of the pool: `n_features` streams in a row. A leaf takes a free slot with its
first event, and the first child of a cut inherits its parent's. Once all slots are taken no leaf is cut any more, and
nothing is summarised. Every node counts what passes it, and its probability shrinks to its parent's.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.clicks import partition_kernels as partition
from stumpery.jit import internal, kernel
from stumpery.summaries.quantiles_kernels import Quantiles, Tuples, flush, new_quantiles
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

ROOM = 32  # values that wait in each summary
MOST_TUPLES = 100
MOST_COUNTED = 2**30  # summaries count in 32 bits
NONE = -1
GRACE, DELTA, TAU, MAX_DEPTH = range(partition.N_SETTINGS, partition.N_SETTINGS + 4)
N_SETTINGS = partition.N_SETTINGS + 4
LEFT, RIGHT, MISSING = range(3)


class RandomTrees(NamedTuple):
    """What T trees are made of."""

    features: Integers  # (trees, n_features): columns
    settings: Floats  # (N_SETTINGS,)
    used: Integers  # (2,): nodes, slots
    splits: Integers  # (nodes,): which of the tree's features, or NONE
    thresholds: Floats  # (nodes,)
    children: Integers  # (nodes,): the first of three, or NONE
    depths: Integers  # (nodes,)
    counts: Integers  # (nodes, classes)
    probabilities: Floats  # (nodes,)
    slots: Integers  # (nodes,)
    since: Integers  # (nodes,): weight since a cut was last weighed
    streams: Quantiles  # slots * n_features


def new_random_trees(features: Integers, settings: Floats, n_leaves: int) -> RandomTrees:
    """Roots that have seen nothing, and room for `n_leaves` leaves with summaries a tree."""
    n_trees, n_features = features.shape
    n_nodes = n_trees * (1 + 3 * n_leaves)
    reserve(80 * n_nodes)
    return RandomTrees(
        features=features,
        settings=settings,
        used=np.array([n_trees, 0]),
        splits=np.full(n_nodes, NONE, np.int64),
        thresholds=np.zeros(n_nodes),
        children=np.full(n_nodes, NONE, np.int64),
        depths=np.zeros(n_nodes, np.int64),
        counts=np.zeros((n_nodes, 2), np.int64),
        probabilities=np.full(n_nodes, settings[partition.PRIOR]),
        slots=np.full(n_nodes, NONE, np.int64),
        since=np.zeros(n_nodes, np.int64),
        streams=new_quantiles(n_trees * n_leaves * n_features, MOST_TUPLES, 2, ROOM, np.int32),
    )


@internal
def child_of(bank: RandomTrees, tree: int, node: int, row: Floats) -> int:
    """Where a row goes from an inner node."""
    value = row[bank.features[tree, bank.splits[node]]]
    if np.isnan(value):
        return int(bank.children[node] + MISSING)
    return int(bank.children[node] + (LEFT if value <= bank.thresholds[node] else RIGHT))


@internal
def clear(streams: Quantiles, slot: int, n_features: int) -> None:
    """Forget a slot's summaries, in place."""
    for stream in range(slot * n_features, (slot + 1) * n_features):
        streams.sizes[stream] = 0
        streams.fills[stream] = 0
        streams.shares[stream] = 0.0


@internal
def is_full(bank: RandomTrees) -> bool:
    """Whether all slots are taken."""
    return bool(bank.used[1] * bank.features.shape[1] == bank.streams.sizes.shape[0])


@internal
def take_slot(bank: RandomTrees, leaf: int) -> None:
    """Give a leaf a free slot if there is one and it may still grow, in place."""
    if not is_full(bank) and bank.depths[leaf] < bank.settings[MAX_DEPTH]:
        bank.slots[leaf] = bank.used[1]
        bank.used[1] += 1


@internal
def split(bank: RandomTrees, leaf: int, feature: int, threshold: float, clicks: int, count: int) -> None:
    """Cut a leaf, in place; of the values that its summary knows, `count` with `clicks` go left."""
    first = bank.used[0]
    bank.used[0] += 3
    bank.splits[leaf] = feature
    bank.thresholds[leaf] = threshold
    bank.children[leaf] = first
    bank.slots[first] = bank.slots[leaf]
    bank.slots[leaf] = NONE
    clear(bank.streams, bank.slots[first], bank.features.shape[1])
    bank.counts[first, 0] = count - clicks
    bank.counts[first, 1] = clicks
    for child in range(first, first + 3):
        bank.depths[child] = bank.depths[leaf] + 1
        total = bank.counts[child, 0] + bank.counts[child, 1]
        m = bank.settings[partition.SHRINKAGE]
        bank.probabilities[child] = partition.probability(bank.counts[child, 1], total, bank.probabilities[leaf], m)


@internal
def weigh(bank: RandomTrees, leaf: int, run: Tuples, joined: Tuples, clicks: Integers, counts: Integers) -> None:
    """Cut a leaf, in place, if its best column is surely better than the next, or if it matters no more."""
    n_features = bank.features.shape[1]
    best = NONE
    best_gain = second_gain = 0.0
    threshold = 0.0
    left_clicks = left = right_clicks = right = 0
    for feature in range(n_features):
        stream = bank.slots[leaf] * n_features + feature
        if bank.streams.fills[stream] > 0:
            flush(bank.streams, stream, run, joined, 0.0, MOST_TUPLES)
        size = partition.accumulate(clicks, counts, bank.streams, stream)
        place, gain = partition.best_cut(clicks, counts, 0, size, bank.probabilities[leaf], bank.settings)
        if place == partition.NO_CUT or gain <= second_gain:
            continue
        if gain > best_gain:
            best, best_gain, second_gain = feature, gain, best_gain
            threshold = bank.streams.values[stream, place - 1]
            left_clicks, left = clicks[place], counts[place]
            right_clicks, right = clicks[size] - clicks[place], counts[size] - counts[place]
        else:
            second_gain = gain
    n = bank.counts[leaf, 0] + bank.counts[leaf, 1]
    bound = np.sqrt(math.log(1.0 / bank.settings[DELTA]) / (2.0 * n))
    if best == NONE or not (best_gain - second_gain > bound or bound < bank.settings[TAU]):
        return
    if bank.used[0] + 3 > bank.splits.shape[0]:
        return
    bank.counts[bank.used[0] + RIGHT, 0] = right - right_clicks
    bank.counts[bank.used[0] + RIGHT, 1] = right_clicks
    split(bank, leaf, best, threshold, left_clicks, left)


@internal
def learn_tree(
    bank: RandomTrees,
    tree: int,
    run: Tuples,
    joined: Tuples,
    row: Floats,
    mark: int,
    clicks: Integers,
    counts: Integers,
) -> None:
    """Fold one row into one tree, in place."""
    label, weight = mark % 2, mark // 2
    node = tree
    parent = bank.settings[partition.PRIOR]
    while True:
        bank.counts[node, label] += weight
        total = bank.counts[node, 0] + bank.counts[node, 1]
        bank.probabilities[node] = partition.probability(
            bank.counts[node, 1], total, parent, bank.settings[partition.SHRINKAGE]
        )
        if bank.children[node] == NONE:
            break
        parent = bank.probabilities[node]
        node = child_of(bank, tree, node, row)
    if bank.slots[node] == NONE:
        take_slot(bank, node)
    slot = bank.slots[node]
    if slot == NONE or total > MOST_COUNTED or is_full(bank):
        return
    n_features = bank.features.shape[1]
    for feature in range(n_features):
        value = row[bank.features[tree, feature]]
        if np.isnan(value):
            continue
        stream = slot * n_features + feature
        fill = bank.streams.fills[stream]
        bank.streams.waiting[stream, fill] = value
        bank.streams.marks[stream, fill] = mark
        bank.streams.fills[stream] = fill + 1
        if fill + 1 == bank.streams.waiting.shape[1]:
            flush(bank.streams, stream, run, joined, 0.0, MOST_TUPLES)
    bank.since[node] += weight
    if bank.since[node] >= bank.settings[GRACE]:
        bank.since[node] = 0
        weigh(bank, node, run, joined, clicks, counts)


@kernel
def learn(bank: RandomTrees, run: Tuples, joined: Tuples, row: Floats, label: int, weights: Integers) -> None:
    """Fold one row into every tree, in place, each with its own whole weight."""
    clicks = np.empty(MOST_TUPLES + 1, np.int64)
    counts = np.empty(MOST_TUPLES + 1, np.int64)
    for tree in range(bank.features.shape[0]):
        if weights[tree] > 0:
            learn_tree(bank, tree, run, joined, row, 2 * weights[tree] + label, clicks, counts)


@kernel
def predict(outputs: Floats, bank: RandomTrees, rows: Floats, start: int) -> None:
    """Write every tree's probability of a click for every row to the outputs from column `start` on, in place."""
    for tree in range(bank.features.shape[0]):
        for row in range(rows.shape[0]):
            node = tree
            while bank.children[node] != NONE:
                node = child_of(bank, tree, node, rows[row])
            outputs[row, start + tree] = bank.probabilities[node]


@kernel
def attribute(shares: Floats, bank: RandomTrees, row: Floats, weights: Floats) -> None:
    """Add to every column's share by how much its cuts moved the trees' weighted probabilities, in place."""
    for tree in range(bank.features.shape[0]):
        node = tree
        while bank.children[node] != NONE:
            child = child_of(bank, tree, node, row)
            column = bank.features[tree, bank.splits[node]]
            shares[column] += weights[tree] * (bank.probabilities[child] - bank.probabilities[node])
            node = child
