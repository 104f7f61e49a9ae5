"""A column of names: each known name has a small code, and all others share one.

Code 0 stands for missing, 1 to `max_names` for the names in the order in which they were learned, the last
for any other name. Codes not yet given to a name are room for names to come, so no code changes its meaning.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np

from stumpery.encoding.columns.values import Data, kind_of, refuse, text_of
from stumpery.options import check_whole, shown
from stumpery.types import Floats

MAX_CATEGORIES = 2**16 - 2  # with "missing" and "other", the codes fill 16 bits


@dataclass(frozen=True, kw_only=True)
class Categorical:
    """A column of names, of which the first `max_names` have a code of their own."""

    kind: ClassVar[str] = "name"
    name: str
    names: tuple[str, ...] = ()
    max_names: int = 64
    numbered: bool = False  # numbers are welcome too and stand for their text

    def __post_init__(self) -> None:
        check_whole("max_names", self.max_names, 1, MAX_CATEGORIES)
        distinct = {name for name in self.names if kind_of(type(name)) == "name"}
        if len(self.names) > self.max_names or len(distinct) < len(self.names):
            raise ValueError(
                f"column {self.name!r} is {shown(self.names)}; it must be different strings, at most {self.max_names}"
            )

    @property
    def other(self) -> int:
        """The code of all names without a code; it stays the same when names are learned."""
        return self.max_names + 1

    @cached_property
    def lookup(self) -> dict[Any, float]:
        """From a value to its code: NaN if it is missing."""
        return _Lookup(self)

    def read(self, data: Data) -> Floats:
        """The values' codes, NaN where missing."""
        if isinstance(data, np.ndarray):
            values, place = np.unique(data, return_inverse=True)
            return self.read(values.tolist())[place]
        self._check(data)
        return np.fromiter(map(self.lookup.__getitem__, data), np.float64, len(data))

    def _check(self, data: Sequence[Any]) -> None:
        """Refuse what is neither a name nor a number nor missing; after this all values can be hashed."""
        for strange in {kind for kind in set(map(type, data)) if kind_of(kind) == "strange"}:
            raise refuse(self.name, self.kind, next(value for value in data if type(value) is strange))

    def text(self, value: Any) -> str | None:
        """The name that a value stands for, or None if it is missing."""
        kind = kind_of(type(value))
        if kind == "missing" or (kind == "number" and value != value):  # noqa: PLR0124 - only NaN differs from itself
            return None
        if kind == "name" or (kind == "number" and self.numbered):
            return text_of(value)
        raise refuse(self.name, self.kind, value)

    def infer(self, data: Data) -> Self:
        """Give names a code in the order of their arrival; where there is no room for all, the frequent ones."""
        counts = self._new(data)
        frequent = {text for text, _ in counts.most_common(self.max_names - len(self.names))}
        return self._with(text for text in counts if text in frequent)

    def learn(self, data: Data) -> Self:
        """Give new names a code in the order of their arrival, while there is room; the codes given earlier stay."""
        return self._with(self._new(data))

    def _new(self, data: Data) -> Counter[str]:
        """How often each unknown name comes, in the order of their arrival."""
        values = data.tolist() if isinstance(data, np.ndarray) else data
        self._check(values)
        counts: Counter[str] = Counter()
        for value, times in Counter(values).items():
            text = self.text(value)
            if text is not None and text not in self.lookup:
                counts[text] += times
        return counts

    def _with(self, new: Iterable[str]) -> Self:
        return replace(self, names=(*self.names, *new)[: self.max_names])

    def close(self) -> Self:
        """Give up the room for further names."""
        return replace(self, max_names=max(1, len(self.names)))

    def options(self) -> dict[str, Any]:
        """The column as plain JSON values."""
        return {
            "name": self.name,
            "names": list(self.names),
            "max_names": int(self.max_names),
            "numbered": self.numbered,
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any], points: Iterator[float]) -> Self:
        """Rebuild from `options`; a name takes no points."""
        names = tuple(options["names"])
        return cls(name=options["name"], names=names, max_names=options["max_names"], numbered=options["numbered"])


class _Lookup(dict[Any, float]):
    """A column's names and their codes; any other value gets its code without being kept."""

    def __init__(self, column: Categorical) -> None:
        super().__init__(zip(column.names, count(1.0), strict=False))
        self.column = column

    def __missing__(self, value: Any) -> float:
        text = self.column.text(value)
        return np.nan if text is None else self.get(text, float(self.column.other))
