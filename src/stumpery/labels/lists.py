"""Lists of labels from lists, arrays and series of any library."""

from collections.abc import Mapping
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.options import shown


def listed_values(name: str, values: Any) -> list[Any]:
    """The values of a list, an array or a series, as Python's own."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise InvalidInput(f"{name} is {shown(values)}; it must be a list, an array or a series, a value a row")
    for method in ("tolist", "to_pylist"):  # NumPy's and pandas', pyarrow's
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def listed_labels(name: str, values: Any) -> list[Any]:
    """The labels of a list, an array or a series; a single value, text or a table is refused."""
    n_dimensions = getattr(values, "ndim", 2 if hasattr(values, "columns") else 1)  # a frame has columns
    if n_dimensions != 1:
        raise InvalidInput(f"{name} has {n_dimensions} dimensions; it must have 1")
    return listed_values(name, values)
