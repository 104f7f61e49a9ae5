"""Rows as floats in which a name is its hash, the food of click predictors."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.reader import Reader, Row
from stumpery.hashing import unit_hash
from stumpery.types import Floats

MOST_KEPT = 4096  # hashes of a column that are kept at hand


@dataclass(frozen=True, kw_only=True)
class HashEncoder(Encoder):
    """Numbers as they are, names as hashes from 0 to below 1, NaN where missing.

    No name is unknown and none has to be kept: a schema need only say which columns hold names. The hash is the same
    on every machine and in every process.

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
            _HashedName(name=column.name, takes_numbers=column.takes_numbers)
            if isinstance(column, Categorical)
            else column
            for column in self.schema.columns
        )
        return Reader(replace(self.schema, columns=tuple(columns)))


class _HashedName(Categorical):
    """A column of names whose codes are hashes."""

    @cached_property
    def lookup(self) -> dict[Any, float]:
        return _Hashes(self)


class _Hashes(dict[Any, float]):
    """The hashes of some strings; of any other value it is made when asked for."""

    def __init__(self, column: Categorical) -> None:
        super().__init__()
        self.column = column

    def __missing__(self, value: Any) -> float:
        text = self.column.text(value)
        if text is None:
            return np.nan
        found = unit_hash(text)
        if type(value) is str and len(self) < MOST_KEPT:
            self[value] = found
        return found
