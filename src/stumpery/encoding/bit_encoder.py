"""Rows as bits, the food of the Bandit Forest."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stumpery.encoding.code_encoder import CodeEncoder
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.one_hot import Ones
from stumpery.encoding.reader import Row
from stumpery.encoding.schema import Column
from stumpery.options import check_bool
from stumpery.types import Bits


@dataclass(frozen=True, kw_only=True)
class BitEncoder(Encoder):
    """The binary recoding of Féraud et al. (2016): five equal-frequency bins a number, one bit a known name.

    A column of zeros and ones stays one bit, set above 0. A number with fewer than `n_bins` distinct values
    has one bit for each. Missing values and new names set no bit, unless `marks` adds a bit for missing to
    every column and one for other names to every column of names.

    Covertype gives 10 * 5 + 44 = 94 bits as in the paper. Adult gives 119, where the paper says 82: 6 * 5 for
    its numbers, fnlwgt among them, and 89 for its names, without occupation, with income, "?" being a name.

    >>> from stumpery.encoding import Schema
    >>> rows = [{"age": age, "member": age % 2, "device": "phone"} for age in range(20, 70)]
    >>> encoder = BitEncoder(schema=Schema.infer(rows))
    >>> encoder.encode_one({"age": 31, "member": 1, "device": "watch"})
    array([0, 1, 0, 0, 0, 1, 0], dtype=uint8)
    >>> encoder.feature_names[1:4]
    ('age in (29, 39]', 'age in (39, 49]', 'age in (49, 59]')
    """

    n_bins: int = 5
    marks: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("marks", self.marks)
        _ = self._codes

    def encode_one(self, row: Row) -> Bits:
        """One dict or 1-D array as bits."""
        bits = np.zeros(self.width, np.uint8)
        self._ones.set(bits.reshape(1, -1), self._codes.encode_one(row).reshape(1, -1))
        return bits

    def encode_many(self, rows: Any) -> Bits:
        """A frame, a list of dicts or a 2-D array as bits, (rows, bits)."""
        codes = self._codes.encode_many(rows)
        bits = np.zeros((len(codes), self.width), np.uint8)
        self._ones.set(bits, codes)
        return bits

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """What it means that a bit is set."""
        named = zip(self.schema.columns, self._codes.code_names, strict=True)
        return tuple(
            column.name if code > 0 and not isinstance(column, Categorical) and column.is_bit else meanings[code]
            for column, meanings in named
            for code in self._coded(column, len(meanings))
        )

    @cached_property
    def width(self) -> int:
        """The number of bits."""
        return len(self.feature_names)

    def _coded(self, column: Column, n_codes: int) -> list[int]:
        """The codes that have a bit, in the order of the bits."""
        marks = [0] if self.marks else []
        if isinstance(column, Categorical):
            other = [column.other] if self.marks else []
            return [*range(1, len(column.categories) + 1), *other, *marks]
        return [*range(2 if column.is_bit else 1, n_codes), *marks]

    @cached_property
    def _codes(self) -> CodeEncoder:
        return CodeEncoder(schema=self.schema, n_bins=self.n_bins)

    @cached_property
    def _ones(self) -> Ones:
        n_codes = self._codes.n_codes
        coded = list(map(self._coded, self.schema.columns, n_codes))
        return Ones(coded=coded, n_codes=n_codes, sizes=[len(each) for each in coded])
