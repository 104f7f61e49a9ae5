"""What a single value is: a number, a name, missing, or something that no column can hold."""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.options import shown

LONG, SMALL = 2.0**16, 1e-37  # of numbers, whatever the sign: beyond these all digits may matter

Data = Sequence[Any] | NDArray[Any]  # a column's values: Python values, or an array of numbers

# NumPy reads these in one go, None as NaN.
PLAIN_NUMBERS = frozenset({int, float, bool, NoneType, *(np.dtype(code).type for code in "?bhilqBHILQefd")})


def kind_of(kind: type) -> str:
    """Tell "missing", "number", "name" and "strange" types apart; a NaN is still a number here."""
    if kind is NoneType or kind.__name__ == "NAType":  # pandas.NA, without importing pandas
        return "missing"
    if issubclass(kind, str):
        return "name"
    is_number = issubclass(kind, Real | Decimal | np.bool_) and not issubclass(
        kind, np.timedelta64
    )  # an integer to NumPy
    return "number" if is_number else "strange"


def text_of(value: Any) -> str:
    """A name as a plain string; a number's text, without a point if it is whole."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral) or float(value).is_integer():
        return str(int(value))
    return repr(float(value))


def cut_text(threshold: float, n_digits: int = 4) -> str:
    """A cut point for readers: a few digits, or all where these would not tell ids, timestamps or money apart."""
    size = abs(threshold)
    if size == 0.0 or SMALL <= size <= LONG:
        return f"{threshold:.{n_digits}g}"
    return repr(float(threshold)).removesuffix(".0")


def refuse(column: str, wanted: str, value: Any) -> ValueError:
    """The error for a value that does not fit its column."""
    return ValueError(f"a value of column {column!r} is {shown(value)}; it must be a {wanted} or missing")
