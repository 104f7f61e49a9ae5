"""Classes out of a given set, as selectors are told them."""

import math
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.options import listed, shown
from stumpery.types import Action


def checked_known_class(label: Any, classes: tuple[Any, ...]) -> Any:
    """A label that is one of the classes; where none are given, anything that can name one."""
    if isinstance(label, np.generic):
        label = label.item()
    is_missing = label is None or (isinstance(label, float) and math.isnan(label))
    if classes and not (isinstance(label, Action) and label in classes):
        is_name = isinstance(label, Action) and not is_missing
        hint = ", and others must be named, as in classes=(-1, 1)" if is_name else ""
        raise InvalidInput(f"label is {shown(label)}; classes are {listed(classes)}{hint}")
    if not isinstance(label, Hashable) or is_missing:
        raise InvalidInput(f"label is {shown(label)}; it must name a class, a round without one ends with skip()")
    return label


def checked_known_classes(labels: Any, n: int, classes: tuple[Any, ...]) -> NDArray[Any]:
    """A label out of the classes for each of `n` rows."""
    kind = object if isinstance(labels, list | tuple) else None  # 0 beside "a" would become text
    array = np.asarray(labels, dtype=kind)
    if array.ndim != 1 or len(array) != n:
        raise InvalidInput(f"there are {n} rows and labels of shape {array.shape}: one label for each row is needed")
    different = array.tolist()
    with suppress(TypeError):  # where one is a list or the like, and will be refused
        different = list(dict.fromkeys(different))
    for label in different:
        checked_known_class(label, classes)
    return array


def class_type(classes: tuple[Any, ...]) -> Any:
    """An array's type that holds every class as it is."""
    is_uniform = len({type(label) for label in classes}) == 1
    return np.array(classes).dtype if is_uniform else np.dtype(object)
