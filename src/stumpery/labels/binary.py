"""Labels and weights, as click predictors take them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stumpery.options import check_whole, shown

MAX_WEIGHT = 10_000


def checked_click(y: Any) -> int:
    """0 or 1 from a bool or a number; anything else, a NaN too, is refused."""
    if isinstance(y, bool | np.bool_ | int | float | np.integer | np.floating) and (y == 0 or y == 1):  # noqa: PLR1714
        return int(y)
    raise ValueError(f"a label is {shown(y)}; it must be True or False, 1 or 0")


def checked_clicks(name: str, values: Any) -> list[int]:
    """Many labels as 0 and 1."""
    return [checked_click(each) for each in listed_values(name, values)]


def checked_weight(w: Any) -> int:
    """A whole number of times."""
    if isinstance(w, float | np.floating) and float(w).is_integer():
        w = int(w)
    check_whole("w", w, 0, MAX_WEIGHT)
    return int(w)


def listed_values(name: str, values: Any) -> list[Any]:
    """A list, an array or a series as a list of Python's own values."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} is {shown(values)}; it must be a list, an array or a series, a value a row")
    for listing in ("tolist", "to_pylist"):  # NumPy's and pandas', pyarrow's
        if hasattr(values, listing):
            return list(getattr(values, listing)())
    return list(values)
