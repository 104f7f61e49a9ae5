"""What a policy is given, checked: actions, ranges, probabilities, numbers, rows."""

import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np

from stumpery.options import shown
from stumpery.types import Action

MIN_PROBABILITY = 1e-9  # what is smaller counts as this: its inverse is a weight


def checked_actions(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Actions as plain values, each once."""
    if isinstance(actions, str | bytes | Set) or not isinstance(actions, Iterable):  # a set has no order of its own
        raise ValueError(f"actions is {shown(actions)}; it must be a list of actions")
    names = tuple(action.item() if isinstance(action, np.generic) else action for action in actions)
    if not names:
        raise ValueError("actions is empty; at least one action is needed")
    for name in names:
        if not isinstance(name, Action) or (isinstance(name, float) and not math.isfinite(name)):
            raise ValueError(f"an action is {shown(name)}; it must be a string, a finite number or a boolean")
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise ValueError(f"action {shown(twice)} is there twice; actions must differ")
    return names


def checked_probability(probability: Any) -> float:
    """A probability that can have been drawn with, and whose inverse can be worked with."""
    value = probability if type(probability) is float else as_number(probability)
    if not 0.0 < value <= 1.0:
        raise ValueError(f"probability is {shown(probability)}; it must be a number above 0 and at most 1")
    return max(value, MIN_PROBABILITY)


def as_number(value: Any) -> float:
    """A float, or NaN for what is not one number: text, a list, an array of several."""
    try:
        unfit = isinstance(value, str | bytes | complex) or np.ndim(value) or np.ma.is_masked(value)
        return math.nan if unfit else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
