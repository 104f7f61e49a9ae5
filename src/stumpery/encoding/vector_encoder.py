"""Dense encoding: rows as vectors of floats, used by linear and neural models."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.one_hot import OneHot
from stumpery.encoding.reader import Row
from stumpery.options import check_bool
from stumpery.types import Floats


@dataclass(frozen=True, kw_only=True)
class VectorEncoder(Encoder):
    """Dense encoding as floats: numbers as they are, categories as codes or one-hot, NaN where missing.

    Args:
        schema: the columns, with categories from the first rows.
        one_hot: whether a categorical column becomes a 0/1 column for each known category and one for all others, of
            which a missing value sets none; otherwise it becomes one column of codes.

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
        return self._one_hot_encoded(values.reshape(1, -1))[0] if self.one_hot else values

    def encode_many(self, rows: Any) -> Floats:
        """A frame, a list of dicts or a 2-D array as floats, (rows, width)."""
        values = self._reader.matrix(rows)
        return self._one_hot_encoded(values) if self.one_hot else values

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The meaning of each column of an encoded row."""
        if not self.one_hot:
            return self.schema.names
        return tuple(
            name
            for column in self.schema.columns
            for name in (
                [f"{column.name} = {category}" for category in (*column.categories, "other")]
                if isinstance(column, Categorical)
                else [column.name]
            )
        )

    def _one_hot_encoded(self, values: Floats) -> Floats:
        encoded = np.zeros((len(values), self.width))
        self._one_hot.set(encoded, np.where(np.isnan(values) | self._is_numerical, 0, values).astype(np.int64))
        encoded[:, self._one_hot.first_columns[:-1][self._is_numerical]] = values[:, self._is_numerical]
        return encoded

    @cached_property
    def _is_numerical(self) -> NDArray[np.bool_]:
        return np.array([kind == "numerical" for kind in self.schema.kinds.values()])

    @cached_property
    def _one_hot(self) -> OneHot:
        """Columns for the codes of categories; a numerical column has one, which no code sets."""
        coded = [
            [*range(1, len(column.categories) + 1), column.other] if isinstance(column, Categorical) else []
            for column in self.schema.columns
        ]
        n_codes = [codes[-1] + 1 if codes else 1 for codes in coded]
        return OneHot(coded=coded, n_codes=n_codes, widths=[max(1, len(codes)) for codes in coded])
