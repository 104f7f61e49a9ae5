"""Nodes of an extracted decision tree as arrays: children, depths, merging of equal leaves, validation.

The functions also take `n_codes`, (columns,): how many codes each column has.
"""

from typing import NamedTuple

import numpy as np

from stumpery.saving import validation
from stumpery.types import Floats, Integers

LEAF = NO_CHILD = -1


class TreeNodes(NamedTuple):
    """Nodes in an order with parents before children; the first is the root.

    A node that queries a column has a slot for each of the column's codes and one for a missing value.
    """

    column: Integers  # (nodes,): the queried column, or LEAF
    report: Integers  # (nodes,): the class reported by a leaf, or for an answer without a branch
    weight: Floats  # (nodes,): number of rows that reach the node
    slots: Integers  # (nodes,): index of the node's first slot
    children: Integers  # (slots,): the child of each slot, or NO_CHILD


def n_slots(nodes: TreeNodes, n_codes: Integers) -> Integers:
    """The number of slots of each node."""
    counts: Integers = np.where(nodes.column == LEAF, 0, n_codes[nodes.column] + 1)
    return counts


def slots_of(nodes: TreeNodes, n_codes: Integers, node: int) -> Integers:
    """The slots of one node."""
    column, start = int(nodes.column[node]), int(nodes.slots[node])
    return nodes.children[start : start + (0 if column == LEAF else int(n_codes[column]) + 1)]


def children_of(nodes: TreeNodes, n_codes: Integers, node: int) -> Integers:
    """The children of one node."""
    slots = slots_of(nodes, n_codes, node)
    children: Integers = slots[slots != NO_CHILD]
    return children


def depths(nodes: TreeNodes, n_codes: Integers) -> Integers:
    """The depth of each node: how many columns are queried on the path to it; missing values do not count."""
    depth = np.zeros(len(nodes.column), np.int64)
    for node in np.flatnonzero(nodes.column != LEAF).tolist():
        slots = slots_of(nodes, n_codes, node)
        is_answered = np.arange(len(slots)) < len(slots) - 1
        is_child = slots != NO_CHILD
        depth[slots[is_child]] = depth[node] + is_answered[is_child]
    return depth


def answered_weights(nodes: TreeNodes, n_codes: Integers) -> Floats:
    """The number of rows with an answer to each node's query: all but those where the column is missing."""
    missing = np.zeros(len(nodes.column))
    for node in np.flatnonzero(nodes.column != LEAF).tolist():
        child = slots_of(nodes, n_codes, node)[-1]
        missing[node] = 0.0 if child == NO_CHILD else nodes.weight[child]
    return nodes.weight - missing


def merge_equal_leaves(nodes: TreeNodes, n_codes: Integers) -> TreeNodes:
    """Prune queries whose branches all report the same class to leaves; predictions stay the same."""
    column, report = nodes.column.copy(), nodes.report.copy()
    for node in range(len(column) - 1, -1, -1):
        children = children_of(nodes, n_codes, node)
        if children.size and (column[children] == LEAF).all() and (report[children] == report[children[0]]).all():
            column[node], report[node] = LEAF, report[children[0]]
    return _compact(nodes._replace(column=column, report=report), n_codes)


def _compact(nodes: TreeNodes, n_codes: Integers) -> TreeNodes:
    """The nodes that can be reached from the root, renumbered in the same order."""
    reachable = np.zeros(len(nodes.column), bool)
    reachable[0] = True
    starts, children, n = np.zeros(len(nodes.column), np.int64), [], 0
    for node in range(len(reachable)):
        if reachable[node]:
            slots = slots_of(nodes, n_codes, node)
            reachable[slots[slots != NO_CHILD]] = True
            starts[node], n = n, n + len(slots)
            children.append(slots)
    number = np.cumsum(reachable) - 1
    flat = np.concatenate(children) if n else np.zeros(0, np.int64)
    renumbered = np.where(flat == NO_CHILD, NO_CHILD, number[flat])
    return TreeNodes(
        nodes.column[reachable], nodes.report[reachable], nodes.weight[reachable], starts[reachable], renumbered
    )


def validate(nodes: TreeNodes, n_codes: Integers, n_classes: int) -> None:
    """Raise a ValueError if the nodes are no tree over these columns and classes."""
    n = len(nodes.column)
    integers = (nodes.column, nodes.report, nodes.slots, nodes.children)
    is_valid = (
        all(array.dtype == np.int64 and array.ndim == 1 for array in integers) and nodes.weight.dtype == np.float64
    )
    validation.check(is_valid, "an array of the nodes has a wrong type or shape")
    sizes = {len(nodes.report), len(nodes.slots), *nodes.weight.shape}
    validation.check(n > 0 and nodes.weight.ndim == 1 and sizes == {n}, "the arrays of the nodes differ in length")
    validation.check(np.isfinite(nodes.weight).all(), "the weight of a node is not finite")
    validation.check_within(nodes.column, LEAF, len(n_codes) - 1, "the column of a node")
    validation.check_within(nodes.report, 0, n_classes - 1, "the class of a node")
    counts = n_slots(nodes, n_codes)
    is_valid = (nodes.slots == np.cumsum(counts) - counts).all() and counts.sum() == len(nodes.children)
    validation.check(is_valid, "the slots of a node do not match the codes of its column")
    parent = np.repeat(np.arange(n), counts)
    is_child = nodes.children != NO_CHILD
    children = nodes.children[is_child]
    validation.check((children > parent[is_child]).all(), "a node stands before its parent")
    validation.check_within(children, 1, n - 1, "the child of a node")
    n_parents = np.bincount(np.append(children, 0), minlength=n)  # the root counts as a child
    validation.check_all(n_parents <= 1, "node {} has two parents")
    validation.check_all(n_parents == 1, "node {} has no parent")
