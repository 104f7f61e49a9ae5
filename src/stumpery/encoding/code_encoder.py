"""Ordinal encoding: rows as small integer codes, used by trees."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.code_encoder_kernels import encode_column, encode_row
from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.columns.numerical import N_QUANTILES
from stumpery.encoding.columns.values import cut_text
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.one_hot import ragged_starts
from stumpery.encoding.reader import Row
from stumpery.encoding.schema import Column
from stumpery.options import check_whole
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

Codes = NDArray[np.uint8 | np.uint16]


@dataclass(frozen=True, kw_only=True)
class CodeEncoder(Encoder):
    """Ordinal encoding: each column as one small integer, 0 if missing, else the number of a bin or of a category.

    Bins have equal frequencies in the schema's sample and include their upper ends; see `Numerical.cuts` for ties. A
    column of zeros and ones has two bins; infinities are in the first and last bin. The last code of a categorical
    column stands for all unknown categories.

    Args:
        schema: the columns, with quantiles and categories from the first rows.
        n_bins: the bins of a numerical column, from 2 to 240.

    >>> from stumpery.encoding import Schema
    >>> encoder = CodeEncoder(schema=Schema.of({"age": [17, 25, 65], "device": ["phone", "desktop"]}))
    >>> encoder.encode_one({"age": 25, "device": "watch"})
    array([2, 3], dtype=uint8)
    >>> [meanings[code] for meanings, code in zip(encoder.code_names, [2, 3])]
    ['age in (17, 25]', 'device = other']
    """

    n_bins: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n_bins", self.n_bins, 2, N_QUANTILES)
        _ = self._edges

    def encode_one(self, row: Row) -> Codes:
        """One dict or 1-D array as codes."""
        codes = np.empty(len(self.schema.columns), self.dtype)
        encode_row(codes, self._reader.row(row), self._flat_edges, self._starts)
        return codes

    def encode_many(self, rows: Any) -> Codes:
        """A frame, a list of dicts or a 2-D array as codes, (rows, columns)."""
        n_rows, columns = self._reader.columns(rows)
        codes = np.empty((n_rows, len(self.schema)), self.dtype)
        for column, (values, edges) in enumerate(zip(columns, self._edges, strict=True)):
            encode_column(codes, column, values, edges)
        return codes

    @cached_property
    def n_codes(self) -> tuple[int, ...]:
        """The number of codes of each column, "missing" included."""
        return tuple(len(edges) + 2 for edges in self._edges)

    @cached_property
    def dtype(self) -> type[np.uint8] | type[np.uint16]:
        """The smallest integer type that holds every code."""
        return np.uint8 if max(self.n_codes) <= 256 else np.uint16

    @cached_property
    def code_names(self) -> tuple[tuple[str, ...], ...]:
        """The meaning of each code of each column."""
        return tuple(map(_meanings, self.schema.columns, self._edges))

    @cached_property
    def _edges(self) -> tuple[Floats, ...]:
        """Each column's cut points."""
        reserve(8 * sum(column.other for column in self.schema.columns if isinstance(column, Categorical)))
        return tuple(
            np.arange(1.0, column.other) if isinstance(column, Categorical) else np.array(column.cuts(self.n_bins))
            for column in self.schema.columns
        )

    @cached_property
    def _flat_edges(self) -> Floats:
        return np.concatenate(self._edges)

    @cached_property
    def _starts(self) -> Integers:
        return ragged_starts([len(edges) for edges in self._edges])


def _meanings(column: Column, edges: Floats) -> tuple[str, ...]:
    missing = f"{column.name} missing"
    if isinstance(column, Categorical):
        free = ["(free)"] * (column.max_categories - len(column.categories))
        return (missing, *(f"{column.name} = {category}" for category in (*column.categories, *free, "other")))
    if not len(edges):
        return (missing, f"{column.name} present")
    ends = [cut_text(edge, 6) for edge in edges]
    between = (f"{column.name} in ({low}, {high}]" for low, high in pairwise(ends))
    return (missing, f"{column.name} <= {ends[0]}", *between, f"{column.name} > {ends[-1]}")
