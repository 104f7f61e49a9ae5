"""Hashed categorical encoding, used by the click models: rows as floats in which a category is its hash."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.reader import Reader, Row
from stumpery.hashing import unit_hash
from stumpery.types import Floats

MAX_CACHED_HASHES = 4096  # of a column


@dataclass(frozen=True, kw_only=True)
class HashEncoder(Encoder):
    """Hashed categorical encoding: numbers as they are, categories as hashes from 0 to below 1, NaN where missing.

    No category is unknown, and none is stored: only the kinds of the schema's columns matter. The hash is the same on
    every machine and in every process.

    Args:
        schema: the columns.

    >>> from stumpery.encoding import Schema
    >>> encoder = HashEncoder(schema=Schema.of({"age": "numerical", "device": "categorical"}))
    >>> encoder.encode_one({"age": 31, "device": "watch"}).round(4)
    array([31.    ,  0.7742])
    """

    def encode_one(self, row: Row) -> Floats:
        """One dict or 1-D array as floats."""
        return self._reader.row(row)

    def encode_many(self, rows: Any) -> Floats:
        """A frame, a list of dicts or a 2-D array as floats, (rows, columns)."""
        return self._reader.matrix(rows)

    @cached_property
    def _reader(self) -> Reader:
        columns = (
            _HashedColumn(name=column.name, takes_numbers=column.takes_numbers)
            if isinstance(column, Categorical)
            else column
            for column in self.schema.columns
        )
        return Reader(replace(self.schema, columns=tuple(columns)))


class _HashedColumn(Categorical):
    """A categorical column whose codes are hashes."""

    @cached_property
    def lookup(self) -> dict[Any, float]:
        return _HashCache(self)


class _HashCache(dict[Any, float]):
    """The hashes of a column's first strings; the hash of any other value is computed each time."""

    def __init__(self, column: Categorical) -> None:
        super().__init__()
        self.column = column

    def __missing__(self, value: Any) -> float:
        text = self.column.text(value)
        if text is None:
            return np.nan
        code = unit_hash(text)
        if type(value) is str and len(self) < MAX_CACHED_HASHES:
            self[value] = code
        return code
