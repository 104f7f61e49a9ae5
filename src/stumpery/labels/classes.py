"""Classes of any name, encoded in the order of their arrival."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.labels.lists import listed_labels
from stumpery.options import shown
from stumpery.saving.validation import check
from stumpery.types import Floats

Label = str | int | float | bool
MAX_CLASSES = 1000


def encode_classes(y: Any, known: Sequence[Label]) -> tuple[list[Label], Floats]:
    """The classes after these labels, and each label's index among them; the known ones keep theirs."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biufU" and y.ndim == 1:
        values, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        order = np.argsort(first)
        classes, codes = encode_classes(values[order].tolist(), known)
        by_value = np.empty(len(values))
        by_value[order] = codes
        return classes, by_value[inverse]
    indices = {label: index for index, label in enumerate(known)}
    labels = listed_labels("y", y)
    if set(map(type, labels)) not in ({str}, {int}):  # strings and integers need no check
        labels = [checked_class(label) for label in labels]
    for label in dict.fromkeys(labels):
        indices.setdefault(label, len(indices))
    codes = np.fromiter(map(indices.__getitem__, labels), np.float64, len(labels))
    if len(indices) > MAX_CLASSES:
        raise InvalidInput(f"there would be {len(indices)} classes; {MAX_CLASSES} is the most")
    return list(indices), codes


def checked_classes(classes: Any) -> list[Label]:
    """Saved classes; a CorruptFile if they are not distinct."""
    different = encode_classes(classes, [])[0]
    check(different == classes, "its classes are not all different")
    return different


def checked_class(label: Any) -> Label:
    """A label that can be a class and written to a file; anything else, a NaN too, is refused."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise InvalidInput(f"a label is {shown(label)}; it must be a string, a finite number or a boolean")


def class_array(classes: Sequence[Any]) -> NDArray[Any]:
    """Classes as an array to index; of mixed types, as objects."""
    if len({type(label) for label in classes}) == 1:
        return np.array(classes)
    mixed = np.empty(len(classes), dtype=object)
    mixed[:] = classes
    return mixed
