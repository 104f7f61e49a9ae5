"""Keys of rows: the values of a column as strings and whole numbers, and the rows of each."""

import math
from hashlib import blake2b
from typing import Any

import numpy as np

from stumpery.columns import Values
from stumpery.encoding.columns.values import text_of, value_kind
from stumpery.errors import InvalidInput
from stumpery.logs.chunk import LogChunk
from stumpery.logs.log import Log
from stumpery.options import check_known, shown
from stumpery.types import Integers

Key = str | int
FIRST_INEXACT = 2.0**53  # contexts are floats, from here on of even numbers only


def check_key(log: Log, key: str) -> None:
    """Validate that a log has the column of keys."""
    if not isinstance(log, Log):
        raise InvalidInput(f"log is {shown(log)}; it must come from stumpery.logs.read or stumpery.logs.from_frame")
    check_known("column", key, log.columns)


def rows_by_key(chunk: LogChunk, key: str) -> dict[Key, Integers]:
    """The rows of each key, in the order in which keys come; rows without a key are left out."""
    found: dict[Key, list[int]] = {}
    for row, value in enumerate(_plain(key, chunk.contexts[key])):
        if value is not None:
            found.setdefault(value, []).append(row)
    return {value: np.array(rows, dtype=np.int64) for value, rows in found.items()}


def _plain(key: str, values: Values) -> list[Key | None]:
    if not isinstance(values, np.ndarray):
        return [value if type(value) is str else _text(key, value) for value in values]
    numbers = values.astype(np.float64)
    if np.any(numbers % 1.0 != 0.0, where=~np.isnan(numbers)):
        raise InvalidInput(f"the column {key!r} has numbers that are not whole; keys are strings or whole numbers")
    if np.any(np.abs(numbers) >= FIRST_INEXACT, where=~np.isnan(numbers)):
        raise InvalidInput(f"the column {key!r} has numbers of 2^53 or more, of which several look alike; use strings")
    return [None if np.isnan(number) else int(number) for number in numbers.tolist()]


def _text(key: str, value: Any) -> str | None:
    """A value of a column of strings and others as a key; None where it is missing."""
    kind = value_kind(type(value))
    if kind == "other":
        raise InvalidInput(f"the column {key!r} has the value {shown(value)}; keys are strings or whole numbers")
    is_missing = kind == "missing" or (kind == "number" and math.isnan(value))
    return None if is_missing else text_of(value)


def hash_of(key: Key, seed: int = 0) -> int:
    """A hash of 63 bits, the same on every machine."""
    return (
        int.from_bytes(blake2b(f"{seed} {key}".encode(errors="surrogatepass"), digest_size=8).digest(), "little") >> 1
    )
