"""Table of rows and clicks as a stream of the click challenge, shuffled by the seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.encoding import HashEncoder, Schema
from stumpery.errors import InvalidInput
from stumpery.labels.binary import checked_clicks
from stumpery.options import check_whole
from stumpery.streams.click_log import ClickRows
from stumpery.types import Floats, Integers


@dataclass(kw_only=True)
class ClickTable:
    """Stream of a table's rows for the click challenge, shuffled for every seed and every pass.

    Args:
        rows: Rows as a list of dicts, a frame or an array.
        clicks: Whether each row was clicked: True or False, 1 or 0.
        schema: The columns and their kinds; inferred from the rows by default.

    >>> table = ClickTable(rows=[{"age": 20}, {"age": 30}, {"age": 40}], clicks=[0, 1, 0])
    >>> next(table.blocks(seed=7, size=3)).clicks.sum()
    np.int64(1)
    """

    rows: Any
    clicks: Any
    schema: Schema | None = None

    def __post_init__(self) -> None:
        self.schema = Schema.infer(self.rows) if self.schema is None else self.schema
        self._matrix: Floats = HashEncoder(schema=self.schema).encode_many(self.rows)
        self._clicks: Integers = np.array(checked_clicks("clicks", self.clicks), np.int64)
        if len(self._clicks) != len(self._matrix):
            raise InvalidInput(
                f"there are {len(self._matrix)} rows and {len(self._clicks)} clicks: one of each is needed"
            )

    def __len__(self) -> int:
        return len(self._matrix)

    def blocks(self, *, seed: int, size: int) -> Iterator[ClickRows]:
        """Blocks of `size` rows, without end; their click probabilities are unknown (NaN)."""
        check_whole("size", size, 1, len(self._matrix))
        rng = np.random.default_rng(seed)
        no_categories = np.zeros((size, 0), np.int64)
        while True:
            order = rng.permutation(len(self._matrix))
            for start in range(0, len(order) - size + 1, size):
                rows = order[start : start + size]
                yield ClickRows(self._matrix[rows], self._clicks[rows], np.full(size, np.nan), no_categories)
