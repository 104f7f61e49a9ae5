"""The kind of a single value: a number, a string, missing, or of no supported type."""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.options import shown

MAX_ROUNDED, MIN_ROUNDED = 2.0**16, 1e-37  # absolute cut points outside are shown with all digits

Data = Sequence[Any] | NDArray[Any]  # a column's values: Python values, or an array of numbers

PLAIN_NUMBERS = frozenset(
    {int, float, bool, NoneType, *(np.dtype(code).type for code in "?bhilqBHILQefd")}
)  # NumPy converts lists of these, None to NaN


def value_kind(kind: type) -> str:
    """The kind of a type's values: "missing", "number", "string" or "other"; a NaN is still a number here."""
    if kind is NoneType or kind.__name__ == "NAType":  # pandas.NA, without importing pandas
        return "missing"
    if issubclass(kind, str):
        return "string"
    if issubclass(kind, np.timedelta64):  # an integer to NumPy
        return "other"
    return "number" if issubclass(kind, Real | Decimal | np.bool_) else "other"


def text_of(value: Any) -> str:
    """A category as a plain string; of a number its text, without a point if it is whole."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral) or float(value).is_integer():
        return str(int(value))
    return repr(float(value))


def cut_text(threshold: float, n_digits: int = 4) -> str:
    """A cut point as text: a few digits, or all where they may distinguish ids, timestamps or amounts."""
    size = abs(threshold)
    if size == 0.0 or MIN_ROUNDED <= size <= MAX_ROUNDED:
        return f"{threshold:.{n_digits}g}"
    return repr(float(threshold)).removesuffix(".0")


def value_error(column: str, wanted: str, value: Any) -> InvalidInput:
    """The error for a value that does not fit its column."""
    return InvalidInput(f"a value of column {column!r} is {shown(value)}; it must be a {wanted} or missing")
