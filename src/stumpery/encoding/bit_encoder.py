"""Binary encoding: rows as bits, used by the bandit forest."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stumpery.encoding.code_encoder import CodeEncoder
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.one_hot import OneHot
from stumpery.encoding.reader import Row
from stumpery.encoding.schema import Column
from stumpery.options import check_bool
from stumpery.types import Bits


@dataclass(frozen=True, kw_only=True)
class BitEncoder(Encoder):
    """Binary encoding (Féraud et al. 2016): equal-frequency bins of numerical columns, one-hot categories.

    A column of zeros and ones stays one bit, set above 0. A numerical column with fewer than `n_bins` distinct values
    has one bit for each. Missing values and new categories set no bit, unless there are `indicators`.

    Covertype gives 10 * 5 + 44 = 94 bits as in the paper. Adult gives 119, where the paper says 82: 6 * 5 for its
    numerical columns, fnlwgt among them, and 89 for its categorical ones, without occupation, with income, where "?" is
    a category.

    Args:
        schema: the columns, with quantiles and categories from the first rows.
        n_bins: the bins of a numerical column, from 2 to 240; five as in the paper.
        indicators: whether each column has a bit for missing values, and each categorical one a bit for other
            categories.

    >>> from stumpery.encoding import Schema
    >>> rows = [{"age": age, "member": age % 2, "device": "phone"} for age in range(20, 70)]
    >>> encoder = BitEncoder(schema=Schema.infer(rows))
    >>> encoder.encode_one({"age": 31, "member": 1, "device": "watch"})
    array([0, 1, 0, 0, 0, 1, 0], dtype=uint8)
    >>> encoder.feature_names[1:4]
    ('age in (29, 39]', 'age in (39, 49]', 'age in (49, 59]')
    """

    n_bins: int = 5
    indicators: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("indicators", self.indicators)
        _ = self._codes

    def encode_one(self, row: Row) -> Bits:
        """One dict or 1-D array as bits."""
        bits = np.zeros(self.width, np.uint8)
        self._one_hot.set(bits.reshape(1, -1), self._codes.encode_one(row).reshape(1, -1))
        return bits

    def encode_many(self, rows: Any) -> Bits:
        """A frame, a list of dicts or a 2-D array as bits, (rows, bits)."""
        codes = self._codes.encode_many(rows)
        bits = np.zeros((len(codes), self.width), np.uint8)
        self._one_hot.set(bits, codes)
        return bits

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The meaning of each bit."""
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
        missing = [0] if self.indicators else []
        if isinstance(column, Categorical):
            other = [column.other] if self.indicators else []
            return [*range(1, len(column.categories) + 1), *other, *missing]
        return [*range(2 if column.is_bit else 1, n_codes), *missing]

    @cached_property
    def _codes(self) -> CodeEncoder:
        return CodeEncoder(schema=self.schema, n_bins=self.n_bins)

    @cached_property
    def _one_hot(self) -> OneHot:
        n_codes = self._codes.n_codes
        coded = list(map(self._coded, self.schema.columns, n_codes))
        return OneHot(coded=coded, n_codes=n_codes, widths=[len(codes) for codes in coded])
