"""Fast encoding of ordinary rows: dicts of finite numbers and known categories, written straight into a buffer."""

from collections.abc import Sequence
from math import hypot
from operator import itemgetter
from struct import Struct
from typing import Any

from stumpery.encoding.columns.categorical import Categorical
from stumpery.encoding.schema import Column

MAX_NUMBER = 8e307  # stands for infinity; the difference of two such numbers is finite
PLAIN = frozenset({int, float, bool})


class PlainRowWriter:
    """Writes rows that need no thought, and refuses all others, which the `Reader` then checks and encodes.

    Refused are missing keys and values, numbers beyond `MAX_NUMBER`, NumPy's scalars, rows that are no dict, values of
    another kind than their column's, and new categories of columns that take them. Keys of no column are ignored.

    Args:
        columns: the columns of a schema, all of which have had a value.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        names = [column.name for column in columns]
        self._pick = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
        self._codes = [
            (index, _codes(column)) for index, column in enumerate(columns) if isinstance(column, Categorical)
        ]
        self._pack = Struct(f"{len(names)}d").pack_into

    def write(self, row: Any, target: Any) -> bool:
        """Write a row into a buffer of 64-bit floats, in place; False if it is refused, and nothing was written."""
        if type(row) is not dict:
            return False
        try:
            values = self._pick(row)
            if self._codes:
                values = list(values)
                for index, codes in self._codes:
                    values[index] = codes[values[index]]
            if not PLAIN.issuperset(map(type, values)) or not hypot(*values) <= MAX_NUMBER:  # NaN is not
                return False
        except (KeyError, TypeError, ValueError, OverflowError):
            return False
        self._pack(target, 0, *values)
        return True


def _codes(column: Categorical) -> dict[Any, float]:
    """The codes of a column's categories: any other has one too only if the column takes no further categories."""
    return dict(column.lookup) if len(column.categories) < column.max_categories else column.lookup
