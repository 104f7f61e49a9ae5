"""The nodes of an explicit tree as plain arrays: what hangs below them, equal leaves as one, and what is no tree.

How many codes a column has is for its owner to know: `n_codes`, (columns,), comes with the nodes.
"""

from typing import NamedTuple

import numpy as np

from stumpery import validation
from stumpery.types import Floats, Integers

LEAF = NO_CHILD = -1


class Nodes(NamedTuple):
    """Nodes, every one before its children; the first is the root.

    A node that queries a column has a slot for each of the column's codes and one for a missing value.
    """

    column: Integers  # (nodes,): what is queried, LEAF where a class is reported
    report: Integers  # (nodes,): the class that is reported, by a leaf or where an answer has no branch
    weight: Floats  # (nodes,): how many of the rows that the tree was shown come here
    slots: Integers  # (nodes,): where a node's slots begin
    children: Integers  # (slots,): NO_CHILD where no branch is known


def n_slots(nodes: Nodes, n_codes: Integers) -> Integers:
    """How many slots each node has."""
    counts: Integers = np.where(nodes.column == LEAF, 0, n_codes[nodes.column] + 1)
    return counts


def slots_of(nodes: Nodes, n_codes: Integers, node: int) -> Integers:
    """What is in the slots of one node."""
    column, start = int(nodes.column[node]), int(nodes.slots[node])
    return nodes.children[start : start + (0 if column == LEAF else int(n_codes[column]) + 1)]


def below(nodes: Nodes, n_codes: Integers, node: int) -> Integers:
    """The children of one node."""
    slots = slots_of(nodes, n_codes, node)
    found: Integers = slots[slots != NO_CHILD]
    return found


def depths(nodes: Nodes, n_codes: Integers) -> Integers:
    """How many columns were looked at on the way to each node; a missing value is no look."""
    found = np.zeros(len(nodes.column), np.int64)
    for node in np.flatnonzero(nodes.column != LEAF).tolist():
        slots = slots_of(nodes, n_codes, node)
        is_look = np.arange(len(slots)) < len(slots) - 1
        is_child = slots != NO_CHILD
        found[slots[is_child]] = found[node] + is_look[is_child]
    return found


def answered(nodes: Nodes, n_codes: Integers) -> Floats:
    """How many rows get an answer to a node's query: all but those where the column is missing."""
    missing = np.zeros(len(nodes.column))
    for node in np.flatnonzero(nodes.column != LEAF).tolist():
        child = slots_of(nodes, n_codes, node)[-1]
        missing[node] = 0.0 if child == NO_CHILD else nodes.weight[child]
    return nodes.weight - missing


def merged(nodes: Nodes, n_codes: Integers) -> Nodes:
    """Nodes in which a query whose branches all report the same class is that report itself."""
    column, report = nodes.column.copy(), nodes.report.copy()
    for node in range(len(column) - 1, -1, -1):
        under = below(nodes, n_codes, node)
        if under.size and (column[under] == LEAF).all() and (report[under] == report[under[0]]).all():
            column[node], report[node] = LEAF, report[under[0]]
    return _compact(nodes._replace(column=column, report=report), n_codes)


def _compact(nodes: Nodes, n_codes: Integers) -> Nodes:
    """The nodes that can still be reached, numbered anew in the same order."""
    kept = np.zeros(len(nodes.column), bool)
    kept[0] = True
    starts, children, n = np.zeros(len(nodes.column), np.int64), [], 0
    for node in range(len(kept)):
        if kept[node]:
            slots = slots_of(nodes, n_codes, node)
            kept[slots[slots != NO_CHILD]] = True
            starts[node], n = n, n + len(slots)
            children.append(slots)
    number = np.cumsum(kept) - 1
    flat = np.concatenate(children) if n else np.zeros(0, np.int64)
    renumbered = np.where(flat == NO_CHILD, NO_CHILD, number[flat])
    return Nodes(nodes.column[kept], nodes.report[kept], nodes.weight[kept], starts[kept], renumbered)


def check(nodes: Nodes, n_codes: Integers, n_classes: int) -> None:
    """Refuse nodes that would lead a row astray."""
    n = len(nodes.column)
    whole = (nodes.column, nodes.report, nodes.slots, nodes.children)
    fits = all(array.dtype == np.int64 and array.ndim == 1 for array in whole) and nodes.weight.dtype == np.float64
    validation.check(fits, "an array of the nodes has another type or shape")
    sizes = {len(nodes.report), len(nodes.slots), *nodes.weight.shape}
    validation.check(n > 0 and nodes.weight.ndim == 1 and sizes == {n}, "the arrays of the nodes are of other lengths")
    validation.check(np.isfinite(nodes.weight).all(), "the weight of a node is not finite")
    validation.check_within(nodes.column, LEAF, len(n_codes) - 1, "the column of a node")
    validation.check_within(nodes.report, 0, n_classes - 1, "the class of a node")
    counts = n_slots(nodes, n_codes)
    fits = (nodes.slots == np.cumsum(counts) - counts).all() and counts.sum() == len(nodes.children)
    validation.check(fits, "a node has another number of branches than its column has codes")
    parent = np.repeat(np.arange(n), counts)
    is_child = nodes.children != NO_CHILD
    children = nodes.children[is_child]
    validation.check((children > parent[is_child]).all(), "a node stands before its parent")
    validation.check_within(children, 1, n - 1, "the child of a node")
    met = np.bincount(np.append(children, 0), minlength=n)  # and the root
    validation.check_all(met <= 1, "node {} has two parents")
    validation.check_all(met == 1, "node {} is in no tree")
