"""Validation of options: checks that raise one sentence with the option, its value and the allowed values."""

import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from stumpery.errors import InvalidInput

MAX_SHOWN = 60  # characters of a value in a message
MAX_LISTED = 10  # values of a list in a message
MAX_KNOWN = 30  # known names in a message


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Check an integer from `least` to `most`, both included."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        allowed = f"of {low} or more" if high is None else f"from {low} to {high}"
        raise InvalidInput(f"{name} is {shown(value)}; it must be a whole number {allowed}")


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False, below: bool = False
) -> None:
    """Check a finite number from `least` to `most`; `above` and `below` exclude the ends."""
    if is_number(value) and low <= value <= high and not ((above and value == low) or (below and value == high)):
        return
    allowed = f"above {low:g}" if above else f"of {low:g} or more"
    if high < math.inf:
        end = f"below {high:g}" if below else f"at most {high:g}"
        allowed = f"from {low:g} to {high:g}" if not (above or below) else f"{allowed} and {end}"
    raise InvalidInput(f"{name} is {shown(value)}; it must be a number {allowed}")


def check_one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Check that a value is one of the allowed ones."""
    choices = list(allowed)
    try:
        known = value in choices
    except ValueError:  # an array is neither equal nor unequal to a value
        known = False
    if not known:
        raise InvalidInput(f"{name} is {shown(value)}; it must be one of {listed(choices)}")


def check_known(what: str, name: Any, known: Iterable[str]) -> None:
    """One of the known names; the ValueError proposes those that are spelled like it."""
    names = list(known)
    if not isinstance(name, str) or name not in names:
        texts = [str(each) for each in names]
        close = get_close_matches(name, texts) if isinstance(name, str) and len(name) <= MAX_SHOWN else []
        more = f" and {len(texts) - MAX_KNOWN:,} more" if len(texts) > MAX_KNOWN else ""
        hint = f"did you mean {' or '.join(close)}" if close else f"there are {', '.join(texts[:MAX_KNOWN])}{more}"
        raise InvalidInput(f"there is no {what} {shown(name)}: {hint if texts else 'there is none'}")


def check_bool(name: str, value: Any) -> None:
    """Check a bool; truthy values of other types are refused."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is {shown(value)}; it must be True or False")


def check_callable(name: str, value: Any) -> None:
    """Check a function, or None where there is none."""
    if value is not None and not callable(value):
        raise InvalidInput(f"{name} is {shown(value)}; it must be a function or None")


def check_range(name: str, value: Any) -> tuple[float, float]:
    """Check two finite numbers, the lower one first, with a finite difference; returns them as floats."""
    try:
        low, high = (float(end) if is_number(end) else math.nan for end in value)
    except (TypeError, ValueError):  # not iterable, not two
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InvalidInput(f"{name} is {shown(value)}; it must be two finite numbers, the lower one first")
    return low, high


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number and no bool."""
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False


def shown(value: Any) -> str:
    """The repr of a value in one line, shortened.

    >>> shown([1, 2])
    '[1, 2]'
    >>> len(shown("long" * 1000))
    60
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes out no whole number of more than 4300 digits
        text = "a number of very many digits"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def listed(values: Sequence[Any]) -> str:
    """The first MAX_LISTED values, and how many more there are."""
    text = ", ".join(map(shown, values[:MAX_LISTED]))
    return text if len(values) <= MAX_LISTED else f"{text} and {len(values) - MAX_LISTED} more"
