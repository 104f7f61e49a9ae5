"""Classes of any name, in the order of their arrival."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.labels.binary import listed_values
from stumpery.options import shown
from stumpery.types import Floats
from stumpery.validation import check

Label = str | int | float | bool
MAX_CLASSES = 1000


def encode_classes(y: Any, known: Sequence[Label]) -> tuple[list[Label], Floats]:
    """The classes after these labels, and each label's place among them; the known ones stay as they are."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biufU" and y.ndim == 1:
        values, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        order = np.argsort(first)
        classes, codes = encode_classes(values[order].tolist(), known)
        by_value = np.empty(len(values))
        by_value[order] = codes
        return classes, by_value[inverse]
    places = {label: place for place, label in enumerate(known)}
    labels = listed_labels("y", y)
    if set(map(type, labels)) not in ({str}, {int}):  # what is plain already is looked up at once
        labels = [plain_label(label) for label in labels]
    for label in dict.fromkeys(labels):
        places.setdefault(label, len(places))
    codes = np.fromiter(map(places.__getitem__, labels), np.float64, len(labels))
    if len(places) > MAX_CLASSES:
        raise ValueError(f"there would be {len(places)} classes; {MAX_CLASSES} is the most")
    return list(places), codes


def checked_classes(classes: Any) -> list[Label]:
    """Saved classes; a CorruptFile says that one comes twice."""
    found = encode_classes(classes, [])[0]
    check(found == classes, "its classes are not all different")
    return found


def plain_label(label: Any) -> Label:
    """A label that can be a class and written to a file; anything else, a NaN too, is refused."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise ValueError(f"a label is {shown(label)}; it must be a string, a finite number or a boolean")


def listed_labels(name: str, values: Any) -> list[Any]:
    """A list of what came; a single value, text or a table is refused."""
    n_dimensions = getattr(values, "ndim", 2 if hasattr(values, "columns") else 1)  # a frame has columns
    if n_dimensions != 1:
        raise ValueError(f"{name} has {n_dimensions} dimensions; it must have 1")
    return listed_values(name, values)


def predicts_probabilities(model: Any) -> bool:
    """Whether a model predicts classes; an ensemble says so itself."""
    return bool(getattr(model, "is_classifier", hasattr(model, "predict_proba_one")))


def as_array(classes: Sequence[Any]) -> NDArray[Any]:
    """Classes as an array to choose from; of mixed types, as objects."""
    if len({type(each) for each in classes}) == 1:
        return np.array(classes)
    mixed = np.empty(len(classes), dtype=object)
    mixed[:] = classes
    return mixed
