"""Times of events as seconds since 1970: from numbers, dates, and ISO texts."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.types import Floats

MOST_S = 1e17  # more seconds are no date of NumPy


def seconds(values: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Times as seconds since 1970, in UTC where a text names no zone, NaN where missing; and which are invalid."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        whole = values.astype("datetime64[us]")
        times = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
        return times, np.zeros(len(times), dtype=np.bool_)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _dated(values.astype(np.float64))
    fast = _utc_texts(values)
    if fast is not None:
        return fast, np.zeros(len(fast), dtype=np.bool_)
    times = np.array([_second(value) for value in values], dtype=np.float64)
    times, invalid = _dated(times)
    invalid |= np.isnan(times) & np.array([value is not None and value == value for value in values], dtype=np.bool_)  # noqa: PLR0124
    return times, invalid


def _dated(times: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Times that are dates, NaN where not; and which are infinite or beyond all dates."""
    beyond = np.abs(times) > MOST_S
    return np.where(beyond, np.nan, times), beyond


def _utc_texts(values: Any) -> Floats | None:
    """ISO texts that end with Z, all at once; None where others are among them."""
    try:
        if not all(map(_is_plain, values)):
            return None
        times: Floats = np.array([text[:-1] for text in values], dtype="datetime64[us]").astype(np.int64) / 1e6
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return times


def _is_plain(text: str) -> bool:
    """Whether a text can only be a date and a time in UTC: NumPy would take "now", and warn of zones."""
    return text[-1] == "Z" and text[10] == "T" and text.count("-") == 2 and "+" not in text


def _second(value: Any) -> float:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        return float("nan") if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
