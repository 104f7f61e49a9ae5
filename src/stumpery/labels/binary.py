"""Binary labels: a click or none."""

from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.labels.lists import listed_values
from stumpery.options import shown


def checked_click(y: Any) -> int:
    """0 or 1 from a bool or a number; anything else, a NaN too, is refused."""
    if isinstance(y, bool | np.bool_ | int | float | np.integer | np.floating) and (y == 0 or y == 1):  # noqa: PLR1714
        return int(y)
    raise InvalidInput(f"a label is {shown(y)}; it must be True or False, 1 or 0")


def checked_clicks(name: str, values: Any) -> list[int]:
    """Many binary labels as 0 and 1."""
    return [checked_click(value) for value in listed_values(name, values)]
