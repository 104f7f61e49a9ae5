"""Validation of saved states: checks that raise one sentence about what is inconsistent.

Digests detect damaged files. These checks detect files made by hand or by a faulty program, whose numbers would make a
kernel read past an array or loop forever.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile, InvalidInput
from stumpery.types import Integers

MAX_MAGNITUDE = 1e100  # of learned numbers: larger than any stream leads to, and the square is finite

MAX_EVENT_COUNT = 2.0**53  # the largest count that a float represents exactly
MAX_TOTAL = 2**62  # of counts in a summary, in 64 bits


def corrupt(what: str) -> CorruptFile:
    """The error for a state that no stream could have led to."""
    return CorruptFile(f"corrupt file: {what}")


def check(fits: Any, what: str) -> None:
    """Raise unless a condition holds; `what` says what is inconsistent."""
    if not fits:
        raise corrupt(what)


def check_all(fits: NDArray[np.bool_], what: str) -> None:
    """Raise unless a condition holds for all elements; `{}` in `what` becomes the index of the first violation."""
    if not fits.all():
        wrong = np.argwhere(~fits)[0].tolist()
        raise corrupt(what.format(wrong[0] if len(wrong) == 1 else tuple(wrong)))


def check_within(values: NDArray[Any], low: float, high: float, what: str) -> None:
    """Raise unless all values are between `least` and `most`, both included; `what` names them."""
    if values.size and not (values.min().item() >= low and values.max().item() <= high):
        wrong = next(value for value in values.ravel().tolist() if not low <= value <= high)
        raise corrupt(f"{what} is {wrong}, which is not within {low:g} and {high:g}")


def check_learned(values: NDArray[Any], what: str) -> None:
    """Raise unless learned numbers are finite and at most MAX_MAGNITUDE."""
    check_within(values, -MAX_MAGNITUDE, MAX_MAGNITUDE, what)


def check_total(total: float, high: float = MAX_TOTAL, what: str = "a summary") -> None:
    """Raise if a merge would exceed the largest count that can be saved, as only repeated merging does."""
    if total > high:
        raise InvalidInput(f"together they have counted {_formatted(total)}; {what} counts up to {_formatted(high)}")


def _formatted(number: float) -> str:
    return f"{int(number):,}" if number < 1e20 else f"{number:g}"


def check_random_state(words: NDArray[np.uint64]) -> None:
    """Raise for a random state of zeros, which a generator cannot leave."""
    check(words.any(), "its random state is all zeros")


def depths(children: NDArray[Any], is_leaf: NDArray[np.bool_], n_roots: int) -> Integers:
    """The depth of each node below the roots, which are the first `n_roots` nodes; -1 for unreachable nodes.

    `children` holds the first child of each inner node; the second one follows it. Raises for children out of range and
    for nodes with two parents, so that there are no cycles.
    """
    n_nodes = len(children)
    node_depths = np.full(n_nodes, -1, np.int64)
    level, depth = np.arange(n_roots), 0
    while len(level):
        check((node_depths[level] < 0).all() and len(np.unique(level)) == len(level), _twice(level, node_depths))
        node_depths[level] = depth
        inner = level[~is_leaf[level]]
        first = children[inner].astype(np.int64)
        invalid = inner[(first < n_roots) | (first >= n_nodes - 1)]
        check(not len(invalid), f"the child of node {invalid[0] if len(invalid) else 0} is not a node")
        level, depth = np.concatenate([first, first + 1]), depth + 1
    return node_depths


def _twice(level: Integers, node_depths: Integers) -> str:
    """A message that names a node reached for the second time."""
    values, counts = np.unique(level, return_counts=True)
    again = values[(counts > 1) | (node_depths[values] >= 0)]
    return f"node {again[0] if len(again) else 0} has two parents"


def chain(first: int, links: NDArray[Any], end: int, what: str) -> Integers:
    """The indices along a linked list up to a negative `end`; raises for a link out of range and for a cycle.

    Runs of indices that follow each other, as in a list of what was never used, are taken at once.
    """
    n_links, n_indices = len(links), 0
    breaks = np.flatnonzero(links != np.arange(1, n_links + 1))
    lasts, next_of = breaks.tolist(), links[breaks].tolist()
    starts: list[int] = []
    lengths: list[int] = []
    at = first
    while at != end:
        if not 0 <= at < n_links:
            raise corrupt(f"{what} leads to {at}, which does not exist")
        run = bisect_left(lasts, at)
        is_last = run == len(lasts)
        starts.append(at)
        lengths.append((n_links - 1 if is_last else lasts[run]) - at + 1)
        n_indices += lengths[-1]
        if n_indices > n_links:
            raise corrupt(f"{what} has a cycle")
        at = n_links if is_last else next_of[run]
    if not starts:
        return np.zeros(0, np.int64)
    offsets = np.array(starts, np.int64) - np.concatenate([[0], np.cumsum(lengths)[:-1]])
    indices: Integers = np.arange(n_indices) + np.repeat(offsets, lengths)
    return indices
