"""Labels of classes, as summaries take them."""

from typing import Any

import numpy as np

from stumpery.options import shown
from stumpery.types import Integers


def checked_labels(labels: Any, n: int, n_classes: int) -> Integers:
    """A label for each of n values, or one 0 for all where none are given."""
    if labels is None:
        return np.zeros(1, np.int64)
    try:
        given = np.asarray(labels if hasattr(labels, "__len__") else list(labels))
    except (TypeError, ValueError):
        given = np.array("")
    if given.dtype.kind == "f" and given.size and (np.abs(given) < 2.0**53).all() and (given == np.rint(given)).all():
        given = given.astype(np.int64)
    if given.ndim != 1 or (given.dtype.kind not in "biu" and given.size):
        raise ValueError(f"labels is {shown(labels)}; it must be whole numbers from 0 to {n_classes - 1}")
    if len(given) != n:
        raise ValueError(f"there are {n} values and {len(given)} labels: one of each is needed")
    if given.size and not (given.min() >= 0 and given.max() < n_classes):
        worst = given[(given < 0) | (given >= n_classes)][0]
        raise ValueError(f"a label is {worst}; it must be a whole number from 0 to {n_classes - 1}")
    return given.astype(np.int64)
