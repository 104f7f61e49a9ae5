"""Checks of class labels."""

import math
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import listed, shown
from stumpery.types import Action


def checked_label(label: Any, classes: tuple[Any, ...]) -> Any:
    """A label as a plain value, one of the classes if these are given; a ValueError if it cannot be one."""
    if isinstance(label, np.generic):
        label = label.item()
    is_missing = label is None or (isinstance(label, float) and math.isnan(label))
    if classes and not (isinstance(label, Action) and label in classes):
        named = isinstance(label, Action) and not is_missing
        hint = ", and others must be named, as in classes=(-1, 1)" if named else ""
        raise ValueError(f"label is {shown(label)}; classes are {listed(classes)}{hint}")
    if not isinstance(label, Hashable) or is_missing:
        raise ValueError(f"label is {shown(label)}; it must name a class, a round without one ends with skip()")
    return label


def checked_labels(labels: Any, n: int, classes: tuple[Any, ...]) -> NDArray[Any]:
    """A label for each of `n` rows, as an array."""
    kind = object if isinstance(labels, list | tuple) else None  # 0 beside "a" would become text
    given = np.asarray(labels, dtype=kind)
    if given.ndim != 1 or len(given) != n:
        raise ValueError(f"there are {n} rows and labels of shape {given.shape}: one label for each row is needed")
    distinct = given.tolist()
    with suppress(TypeError):  # an unhashable label, which is refused below
        distinct = list(dict.fromkeys(distinct))
    for label in distinct:
        checked_label(label, classes)
    return given


def class_type(classes: tuple[Any, ...]) -> Any:
    """The dtype of an array that holds every class unchanged."""
    have_one_type = len({type(label) for label in classes}) == 1
    return np.array(classes).dtype if have_one_type else np.dtype(object)
