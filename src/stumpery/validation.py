"""Validation of saved states: each check raises one sentence that says what is inconsistent.

Digests find damage; these find files that were made by hand or by a faulty program, whose numbers would lead a kernel
out of an array or into an endless loop.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import CorruptFile
from stumpery.types import Integers

MAX_MAGNITUDE = 1e100  # of a learned number: far beyond any stream, and its square is still finite

MAX_EVENT_COUNT = 2.0**53  # that can be counted one by one in a float
MOST_COUNTED = 2**62  # by a summary in 64 bits


def corrupt(what: str) -> CorruptFile:
    """The error for a state that no stream could have led to."""
    return CorruptFile(f"corrupt file: {what}")


def check(fits: Any, what: str) -> None:
    """Refuse a state where something does not hold; `what` says how it is inconsistent."""
    if not fits:
        raise corrupt(what)


def check_all(fits: NDArray[np.bool_], what: str) -> None:
    """Refuse a state where something does not hold everywhere; `{}` in `what` becomes the first place where not."""
    if not fits.all():
        wrong = np.argwhere(~fits)[0].tolist()
        raise corrupt(what.format(wrong[0] if len(wrong) == 1 else tuple(wrong)))


def check_within(values: NDArray[Any], least: float, most: float, what: str) -> None:
    """Refuse values out of a range, both ends included, and NaN; `what` names them."""
    if values.size and not (values.min().item() >= least and values.max().item() <= most):
        wrong = next(value for value in values.ravel().tolist() if not least <= value <= most)
        raise corrupt(f"{what} is {wrong}, which is not within {least:g} and {most:g}")


def check_learned(values: NDArray[Any], what: str) -> None:
    """Refuse learned numbers that are not finite, or beyond all that a stream can lead to."""
    check_within(values, -MAX_MAGNITUDE, MAX_MAGNITUDE, what)


def check_total(total: float, most: float = MOST_COUNTED, what: str = "a summary") -> None:
    """Refuse a merge that would count further than can be saved, which only merging again and again ever does."""
    if total > most:
        raise ValueError(f"together they have counted {_figure(total)}; {what} counts up to {_figure(most)}")


def _figure(number: float) -> str:
    return f"{int(number):,}" if number < 1e20 else f"{number:g}"


def check_random_state(words: NDArray[np.uint64]) -> None:
    """Refuse the one state that a generator never leaves."""
    check(words.any(), "its random state is all zeros")


def depths(children: NDArray[Any], is_leaf: NDArray[np.bool_], n_roots: int) -> Integers:
    """How deep each node lies below the first `n_roots`, the roots; -1 where no root leads.

    `children` holds each inner node's first child; the second stands behind it. Refuses children out of range and nodes
    with two parents, so that there is no circle.
    """
    n_nodes = len(children)
    found = np.full(n_nodes, -1, np.int64)
    level, depth = np.arange(n_roots), 0
    while len(level):
        check((found[level] < 0).all() and len(np.unique(level)) == len(level), _twice(level, found))
        found[level] = depth
        inner = level[~is_leaf[level]]
        first = children[inner].astype(np.int64)
        astray = inner[(first < n_roots) | (first >= n_nodes - 1)]
        check(not len(astray), f"the child of node {astray[0] if len(astray) else 0} leads out of the nodes")
        level, depth = np.concatenate([first, first + 1]), depth + 1
    return found


def _twice(level: Integers, found: Integers) -> str:
    """Which node of a level is met for the second time."""
    values, counts = np.unique(level, return_counts=True)
    again = values[(counts > 1) | (found[values] >= 0)]
    return f"node {again[0] if len(again) else 0} has two parents"


def chain(first: int, links: NDArray[Any], end: int, what: str) -> Integers:
    """The places along a linked list; refuses one that leads out of the array or goes round in a circle."""
    found: list[int] = []
    following = links.tolist()
    while first != end:
        check(0 <= first < len(following), f"{what} leads to {first}, which does not exist")
        check(len(found) < len(following), f"{what} goes round in a circle")
        found.append(first)
        first = following[first]
    return np.array(found, np.int64)
