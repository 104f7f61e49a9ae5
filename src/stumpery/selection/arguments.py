"""Checks of names of actions or features."""

import math
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from stumpery.errors import InvalidInput
from stumpery.options import shown
from stumpery.types import Action


def checked_names(what: str, names: Any, *, may_be_empty: bool = False) -> tuple[Action, ...]:
    """Names as plain values; a ValueError if they are not distinct names."""
    if isinstance(names, str | bytes | Set) or not isinstance(names, Iterable):  # a set has no order of its own
        raise InvalidInput(f"{what} is {shown(names)}; it must be a list of names")
    plain = tuple(name.item() if isinstance(name, np.generic) else name for name in names)
    if not plain and not may_be_empty:
        raise InvalidInput(f"{what} is empty; at least one name is needed")
    for name in plain:
        if not isinstance(name, Action) or (isinstance(name, float) and not math.isfinite(name)):
            raise InvalidInput(f"{what} holds {shown(name)}; a name must be a string, a finite number or a boolean")
    if len(set(plain)) != len(plain):
        twice = next(name for index, name in enumerate(plain) if name in plain[:index])
        raise InvalidInput(f"{what} holds {shown(twice)} twice; names must differ")
    return plain
