"""Rows as dense floats, the food of linear and neural models."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.one_hot import Ones
from stumpery.encoding.reader import Row
from stumpery.options import check_bool
from stumpery.types import Floats


@dataclass(frozen=True, kw_only=True)
class VectorEncoder(Encoder):
    """Numbers as they are, names as their codes, NaN where missing.

    With `one_hot`, a name sets one of several 0/1 columns instead: one for each known name and one for all
    others; a missing name sets none.

    >>> from stumpery.encoding import Schema
    >>> schema = Schema.of({"age": "numerical", "device": ["phone", "desktop"]})
    >>> VectorEncoder(schema=schema).encode_one({"age": 31, "device": "desktop"})
    array([31.,  2.])
    >>> encoder = VectorEncoder(schema=schema, one_hot=True)
    >>> encoder.encode_one({"device": "watch"})
    array([nan,  0.,  0.,  1.])
    >>> encoder.feature_names
    ('age', 'device = phone', 'device = desktop', 'device = other')
    """

    one_hot: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("one_hot", self.one_hot)

    def encode_one(self, row: Row) -> Floats:
        """One dict or 1-D array as floats."""
        values = self._reader.row(row)
        return self._spread(values.reshape(1, -1))[0] if self.one_hot else values

    def encode_many(self, rows: Any) -> Floats:
        """A frame, a list of dicts or a 2-D array as floats, (rows, width)."""
        values = self._reader.matrix(rows)
        return self._spread(values) if self.one_hot else values

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """What each place of an encoded row means."""
        if not self.one_hot:
            return self.schema.names
        return tuple(
            f"{column.name} = {each}" if isinstance(column, Categorical) else each
            for column in self.schema.columns
            for each in ((*column.categories, "other") if isinstance(column, Categorical) else (column.name,))
        )

    def _spread(self, values: Floats) -> Floats:
        spread = np.zeros((len(values), self.width))
        self._ones.set(spread, np.where(np.isnan(values) | self._is_number, 0, values).astype(np.int64))
        spread[:, self._ones.firsts[:-1][self._is_number]] = values[:, self._is_number]
        return spread

    @cached_property
    def _is_number(self) -> NDArray[np.bool_]:
        return np.array([kind == "numerical" for kind in self.schema.kinds.values()])

    @cached_property
    def _ones(self) -> Ones:
        """Places for the codes of names; a number takes one place, which no code sets."""
        coded = [
            [*range(1, len(column.categories) + 1), column.other] if isinstance(column, Categorical) else []
            for column in self.schema.columns
        ]
        n_codes = [codes[-1] + 1 if codes else 1 for codes in coded]
        return Ones(coded=coded, n_codes=n_codes, sizes=[max(1, len(codes)) for codes in coded])
