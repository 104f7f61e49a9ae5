"""A categorical column: each known category has a code of its own, and all others share one.

Code 0 stands for a missing value, 1 to `max_categories` for the categories in the order in which they were learned, and
the last code for any other category. Codes are reserved for categories to come, so no code ever changes its meaning.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np

from stumpery.encoding.columns.values import Data, text_of, value_error, value_kind
from stumpery.errors import InvalidInput
from stumpery.options import check_whole, shown
from stumpery.types import Floats

MAX_CATEGORIES = 2**16 - 2  # with "missing" and "other", the codes fill 16 bits


@dataclass(frozen=True, kw_only=True)
class Categorical:
    """A categorical column, of which the first `max_categories` categories have a code of their own.

    Args:
        name: the column's name.
        categories: the categories known so far, in the order of their codes, which begin at 1.
        max_categories: how many categories get a code of their own, from 1 to 65,534.
        takes_numbers: whether numbers are categories too and stand for their text; otherwise they are refused.
    """

    kind: ClassVar[str] = "categorical"
    name: str
    categories: tuple[str, ...] = ()
    max_categories: int = 64
    takes_numbers: bool = False

    def __post_init__(self) -> None:
        check_whole("max_categories", self.max_categories, 1, MAX_CATEGORIES)
        distinct = {category for category in self.categories if value_kind(type(category)) == "string"}
        if len(self.categories) > self.max_categories or len(distinct) < len(self.categories):
            raise InvalidInput(
                f"column {self.name!r} is {shown(self.categories)}; "
                f"it must be different strings, at most {self.max_categories}"
            )

    @property
    def other(self) -> int:
        """The code of all categories without a code; it stays the same when categories are learned."""
        return self.max_categories + 1

    @cached_property
    def lookup(self) -> dict[Any, float]:
        """From a value to its code: NaN if it is missing."""
        return CodeLookup(self)

    def read(self, data: Data) -> Floats:
        """The values' codes, NaN where missing."""
        if isinstance(data, np.ndarray):
            values, index = np.unique(data, return_inverse=True)
            return self.read(values.tolist())[index]
        self._check_kinds(data)
        return np.fromiter(map(self.lookup.__getitem__, data), np.float64, len(data))

    def text(self, value: Any) -> str | None:
        """The category of a value, or None if it is missing."""
        kind = value_kind(type(value))
        if kind == "missing" or (kind == "number" and value != value):  # noqa: PLR0124 - only NaN differs from itself
            return None
        if kind == "string" or (kind == "number" and self.takes_numbers):
            return text_of(value)
        raise value_error(self.name, "string", value)

    def infer(self, data: Data) -> Self:
        """Give categories a code in the order of their arrival; where there are too many, the most frequent ones."""
        counts = self._count_new(data)
        frequent = {text for text, _ in counts.most_common(self.max_categories - len(self.categories))}
        return self._with(text for text in counts if text in frequent)

    def learn(self, data: Data) -> Self:
        """Give new categories a code in the order of their arrival, while there are any; codes given earlier stay."""
        return self._with(self._count_new(data))

    def close(self) -> Self:
        """Take no further categories."""
        return replace(self, max_categories=max(1, len(self.categories)))

    def options(self) -> dict[str, Any]:
        """The column as plain JSON values."""
        return {
            "name": self.name,
            "categories": list(self.categories),
            "max_categories": int(self.max_categories),
            "takes_numbers": self.takes_numbers,
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any], points: Iterator[float]) -> Self:
        """Rebuild from `options`; a categorical column takes no points."""
        return cls(
            name=options["name"],
            categories=tuple(options["categories"]),
            max_categories=options["max_categories"],
            takes_numbers=options["takes_numbers"],
        )

    def _check_kinds(self, data: Sequence[Any]) -> None:
        """Refuse what is neither a string nor a number nor missing; after this all values can be hashed."""
        kinds = set(map(type, data))
        for other in {kind for kind in kinds if value_kind(kind) == "other"}:
            raise value_error(self.name, "string", next(value for value in data if type(value) is other))
        if any(issubclass(kind, Decimal) for kind in kinds):
            for value in data:
                if isinstance(value, Decimal) and value.is_snan():
                    raise value_error(self.name, "string", value)

    def _count_new(self, data: Data) -> Counter[str]:
        """How often each unknown category comes, in the order of their arrival."""
        values = data.tolist() if isinstance(data, np.ndarray) else data
        self._check_kinds(values)
        counts: Counter[str] = Counter()
        for value, times in Counter(values).items():
            text = self.text(value)
            if text is not None and text not in self.lookup:
                counts[text] += times
        return counts

    def _with(self, new: Iterable[str]) -> Self:
        return replace(self, categories=(*self.categories, *new)[: self.max_categories])


class CodeLookup(dict[Any, float]):
    """A column's categories and their codes; the code of any other value is computed and not kept."""

    def __init__(self, column: Categorical) -> None:
        super().__init__(zip(column.categories, count(1.0), strict=False))
        self.column = column

    def __missing__(self, value: Any) -> float:
        text = self.column.text(value)
        return np.nan if text is None else self.get(text, float(self.column.other))
