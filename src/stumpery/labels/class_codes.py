"""Classes that are whole numbers from 0, as summaries count them."""

from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.types import Integers


def checked_class_codes(labels: Any, n: int, n_classes: int) -> Integers:
    """A class code for each of n values, or one 0 for all where none are given."""
    if labels is None:
        return np.zeros(1, np.int64)
    try:
        codes = np.asarray(labels if hasattr(labels, "__len__") else list(labels))
    except (TypeError, ValueError):
        codes = np.array("")
    if codes.dtype.kind == "f" and codes.size and (np.abs(codes) < 2.0**53).all() and (codes == np.rint(codes)).all():
        codes = codes.astype(np.int64)
    if codes.ndim != 1 or (codes.dtype.kind not in "biu" and codes.size):
        raise InvalidInput(f"labels is {shown(labels)}; it must be whole numbers from 0 to {n_classes - 1}")
    if len(codes) != n:
        raise InvalidInput(f"there are {n} values and {len(codes)} labels: one of each is needed")
    if codes.size and not (codes.min() >= 0 and codes.max() < n_classes):
        worst = codes[(codes < 0) | (codes >= n_classes)][0]
        raise InvalidInput(f"a label is {worst}; it must be a whole number from 0 to {n_classes - 1}")
    return codes.astype(np.int64)
