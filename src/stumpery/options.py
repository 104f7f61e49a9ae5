"""Checks of options: each raises one sentence that names the option, what came and what is allowed."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """A whole number from `least` to `most`, both included."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        allowed = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value!r}; it must be a whole number {allowed}")


def check_number(
    name: str, value: Any, least: float, most: float = math.inf, *, above: bool = False, below: bool = False
) -> None:
    """A finite number from `least` to `most`; the ends themselves are refused where `above` or `below` is set."""
    if is_number(value) and least <= value <= most and not ((above and value == least) or (below and value == most)):
        return
    allowed = f"above {least:g}" if above else f"of {least:g} or more"
    if most < math.inf:
        end = f"below {most:g}" if below else f"at most {most:g}"
        allowed = f"from {least:g} to {most:g}" if not (above or below) else f"{allowed} and {end}"
    raise ValueError(f"{name} is {value!r}; it must be a number {allowed}")


def check_one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """One of a few values."""
    choices = list(allowed)
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def is_number(value: Any) -> bool:
    """Whether it is a real, finite number."""
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False
