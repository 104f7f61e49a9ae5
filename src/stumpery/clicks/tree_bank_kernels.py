"""A bank of Hoeffding trees over a few random columns each, as one set of arrays, with a summary per leaf and column.

The nodes of all trees are in one list, the roots first. A split gives three consecutive children: at most the
threshold, above it, missing. A leaf's summaries are a slot: `n_features` consecutive streams. A leaf takes a free slot
with its first event, and the first child of a split inherits its parent's. Once all slots are taken, leaves are no
longer split and nothing is summarised. Every node counts its events, and its probability shrinks to its parent's.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.clicks.partition_kernels import (
    N_SETTINGS,
    NO_CUT,
    SETTING_M,
    SETTING_PRIOR,
    accumulate,
    best_cut,
    probability,
)
from stumpery.jit import internal, kernel
from stumpery.summaries.quantile_streams_kernels import QuantileStreams, flush, new_quantile_streams, push
from stumpery.summaries.quantile_tuples_kernels import Tuples
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

TREE_BUFFER_SIZE = 32  # of each summary
MAX_TREE_TUPLES = 100
MAX_TREE_COUNT = 2**30  # beyond it a leaf is not summarised; counts have 32 bits
NO_CHILD = NO_SLOT = NO_FEATURE = -1
SETTING_GRACE_PERIOD, SETTING_DELTA, SETTING_TAU, SETTING_MAX_DEPTH = range(N_SETTINGS, N_SETTINGS + 4)
N_TREE_SETTINGS = N_SETTINGS + 4
CHILD_LEFT, CHILD_RIGHT, CHILD_MISSING = range(3)


class TreeBank(NamedTuple):
    """The arrays of many random Hoeffding trees."""

    features: Integers  # (trees, n_features): columns
    settings: Floats  # (N_TREE_SETTINGS,)
    used: Integers  # (2,): nodes, slots
    splits: Integers  # (nodes,): the index of one of the tree's features, or NO_FEATURE
    thresholds: Floats  # (nodes,)
    children: Integers  # (nodes,): the first of three, or NO_CHILD
    depths: Integers  # (nodes,)
    counts: Integers  # (nodes, classes)
    probabilities: Floats  # (nodes,)
    slots: Integers  # (nodes,): a leaf's slot, or NO_SLOT
    since: Integers  # (nodes,): weight of events since a split was last tried
    streams: QuantileStreams  # slots * n_features


def new_tree_bank(features: Integers, settings: Floats, n_leaves: int) -> TreeBank:
    """Roots without events, with `n_leaves` slots for each tree."""
    n_trees, n_features = features.shape
    n_nodes = n_trees * (1 + 3 * n_leaves)
    reserve(80 * n_nodes)
    return TreeBank(
        features=features,
        settings=settings,
        used=np.array([n_trees, 0]),
        splits=np.full(n_nodes, NO_FEATURE, np.int64),
        thresholds=np.zeros(n_nodes),
        children=np.full(n_nodes, NO_CHILD, np.int64),
        depths=np.zeros(n_nodes, np.int64),
        counts=np.zeros((n_nodes, 2), np.int64),
        probabilities=np.full(n_nodes, settings[SETTING_PRIOR]),
        slots=np.full(n_nodes, NO_SLOT, np.int64),
        since=np.zeros(n_nodes, np.int64),
        streams=new_quantile_streams(n_trees * n_leaves * n_features, MAX_TREE_TUPLES, 2, TREE_BUFFER_SIZE, np.int32),
    )


@internal
def child_of(bank: TreeBank, tree: int, node: int, row: Floats) -> int:
    """The child of an inner node to which a row goes."""
    value = row[bank.features[tree, bank.splits[node]]]
    if np.isnan(value):
        return int(bank.children[node] + CHILD_MISSING)
    return int(bank.children[node] + (CHILD_LEFT if value <= bank.thresholds[node] else CHILD_RIGHT))


@internal
def clear_slot(streams: QuantileStreams, slot: int, n_features: int) -> None:
    """Empty the summaries of a slot, in place."""
    for stream in range(slot * n_features, (slot + 1) * n_features):
        streams.sizes[stream] = 0
        streams.n_buffered[stream] = 0
        streams.gap_fractions[stream] = 0.0


@internal
def is_full(bank: TreeBank) -> bool:
    """Whether all slots are taken."""
    return bool(bank.used[1] * bank.features.shape[1] == bank.streams.sizes.shape[0])


@internal
def take_slot(bank: TreeBank, leaf: int) -> None:
    """Give a leaf a free slot, in place, if there is one and the leaf may be split."""
    if not is_full(bank) and bank.depths[leaf] < bank.settings[SETTING_MAX_DEPTH]:
        bank.slots[leaf] = bank.used[1]
        bank.used[1] += 1


@internal
def split(bank: TreeBank, leaf: int, feature: int, threshold: float, clicks: int, count: int) -> None:
    """Split a leaf, in place; of its summary's values, `count` with `clicks` go left."""
    first = bank.used[0]
    bank.used[0] += 3
    bank.splits[leaf] = feature
    bank.thresholds[leaf] = threshold
    bank.children[leaf] = first
    bank.slots[first] = bank.slots[leaf]
    bank.slots[leaf] = NO_SLOT
    clear_slot(bank.streams, bank.slots[first], bank.features.shape[1])
    bank.counts[first, 0] = count - clicks
    bank.counts[first, 1] = clicks
    for child in range(first, first + 3):
        bank.depths[child] = bank.depths[leaf] + 1
        total = bank.counts[child, 0] + bank.counts[child, 1]
        m = bank.settings[SETTING_M]
        bank.probabilities[child] = probability(bank.counts[child, 1], total, bank.probabilities[leaf], m)


@internal
def try_split(bank: TreeBank, leaf: int, run: Tuples, merged: Tuples, clicks: Integers, counts: Integers) -> None:
    """Split a leaf, in place, if its best column beats the next by the Hoeffding bound, or the bound is below tau."""
    n_features = bank.features.shape[1]
    best = NO_FEATURE
    best_gain = second_gain = 0.0
    threshold = 0.0
    left_clicks = left = right_clicks = right = 0
    for feature in range(n_features):
        stream = bank.slots[leaf] * n_features + feature
        if bank.streams.n_buffered[stream] > 0:
            flush(bank.streams, stream, run, merged, 0.0, MAX_TREE_TUPLES)
        size = accumulate(clicks, counts, bank.streams, stream)
        cut, gain = best_cut(clicks, counts, 0, size, bank.probabilities[leaf], bank.settings)
        if cut == NO_CUT or gain <= second_gain:
            continue
        if gain > best_gain:
            best, best_gain, second_gain = feature, gain, best_gain
            threshold = bank.streams.values[stream, cut - 1]
            left_clicks, left = clicks[cut], counts[cut]
            right_clicks, right = clicks[size] - clicks[cut], counts[size] - counts[cut]
        else:
            second_gain = gain
    n = bank.counts[leaf, 0] + bank.counts[leaf, 1]
    bound = np.sqrt(math.log(1.0 / bank.settings[SETTING_DELTA]) / (2.0 * n))
    if best == NO_FEATURE or not (best_gain - second_gain > bound or bound < bank.settings[SETTING_TAU]):
        return
    if bank.used[0] + 3 > bank.splits.shape[0]:
        return
    bank.counts[bank.used[0] + CHILD_RIGHT, 0] = right - right_clicks
    bank.counts[bank.used[0] + CHILD_RIGHT, 1] = right_clicks
    split(bank, leaf, best, threshold, left_clicks, left)


@internal
def learn_tree(
    bank: TreeBank,
    tree: int,
    run: Tuples,
    merged: Tuples,
    row: Floats,
    weighted_label: int,
    clicks: Integers,
    counts: Integers,
) -> None:
    """Learn one row in one tree, in place; the label is weight * 2 + label."""
    label, weight = weighted_label % 2, weighted_label // 2
    node = tree
    parent = bank.settings[SETTING_PRIOR]
    while True:
        bank.counts[node, label] += weight
        total = bank.counts[node, 0] + bank.counts[node, 1]
        bank.probabilities[node] = probability(bank.counts[node, 1], total, parent, bank.settings[SETTING_M])
        if bank.children[node] == NO_CHILD:
            break
        parent = bank.probabilities[node]
        node = child_of(bank, tree, node, row)
    if bank.slots[node] == NO_SLOT:
        take_slot(bank, node)
    slot = bank.slots[node]
    if slot == NO_SLOT or total > MAX_TREE_COUNT or is_full(bank):
        return
    n_features = bank.features.shape[1]
    for feature in range(n_features):
        value = row[bank.features[tree, feature]]
        if np.isnan(value):
            continue
        stream = slot * n_features + feature
        if push(bank.streams, stream, value, weighted_label):
            flush(bank.streams, stream, run, merged, 0.0, MAX_TREE_TUPLES)
    bank.since[node] += weight
    if bank.since[node] >= bank.settings[SETTING_GRACE_PERIOD]:
        bank.since[node] = 0
        try_split(bank, node, run, merged, clicks, counts)


@kernel
def learn(bank: TreeBank, run: Tuples, merged: Tuples, row: Floats, label: int, weights: Integers) -> None:
    """Learn one row in every tree, in place, each with its own whole weight."""
    clicks = np.empty(MAX_TREE_TUPLES + 1, np.int64)
    counts = np.empty(MAX_TREE_TUPLES + 1, np.int64)
    for tree in range(bank.features.shape[0]):
        if weights[tree] > 0:
            learn_tree(bank, tree, run, merged, row, 2 * weights[tree] + label, clicks, counts)


@kernel
def predict(outputs: Floats, bank: TreeBank, rows: Floats, start: int) -> None:
    """Write the probability of every tree for every row to the columns of `outputs` from `start` on, in place."""
    for tree in range(bank.features.shape[0]):
        for row in range(rows.shape[0]):
            node = tree
            while bank.children[node] != NO_CHILD:
                node = child_of(bank, tree, node, rows[row])
            outputs[row, start + tree] = bank.probabilities[node]


@kernel
def add_contributions(contributions: Floats, bank: TreeBank, row: Floats, weights: Floats) -> None:
    """Add to each column's contribution how much its splits changed the trees' weighted probabilities, in place."""
    for tree in range(bank.features.shape[0]):
        node = tree
        while bank.children[node] != NO_CHILD:
            child = child_of(bank, tree, node, row)
            column = bank.features[tree, bank.splits[node]]
            contributions[column] += weights[tree] * (bank.probabilities[child] - bank.probabilities[node])
            node = child
