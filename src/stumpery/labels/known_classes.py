"""The classes that a selector is told, checked."""

import math
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import listed, shown
from stumpery.types import Action


def checked_label(label: Any, classes: tuple[Any, ...]) -> Any:
    """A plain value that is one of the classes; where none are named, anything that can name one."""
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
    """A label for each of `n` rows."""
    kind = object if isinstance(labels, list | tuple) else None  # 0 beside "a" would become text
    found = np.asarray(labels, dtype=kind)
    if found.ndim != 1 or len(found) != n:
        raise ValueError(f"there are {n} rows and labels of shape {found.shape}: one label for each row is needed")
    plain = found.tolist()
    with suppress(TypeError):  # where one is a list or the like, and will be refused
        plain = list(dict.fromkeys(plain))
    for label in plain:
        checked_label(label, classes)
    return found


def class_type(classes: tuple[Any, ...]) -> Any:
    """An array's type that holds every class as it is."""
    alike = len({type(label) for label in classes}) == 1
    return np.array(classes).dtype if alike else np.dtype(object)
