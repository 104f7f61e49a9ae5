"""The columns of a stream, in order: declared by a user, or inferred from the first rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np

from stumpery.encoding.columns.categorical import MAX_CATEGORIES, Categorical
from stumpery.encoding.columns.numerical import Numerical
from stumpery.encoding.columns.values import Data, value_kind
from stumpery.encoding.tables import open_table
from stumpery.errors import CorruptFile, InvalidInput
from stumpery.options import check_one_of, check_whole, listed, shown
from stumpery.saving.saveable import Arrays, Options, Saveable

Column = Numerical | Categorical
Declared = str | Sequence[str] | Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Schema(Saveable):
    """The schema of a stream: its numerical and categorical columns, with categories and quantiles of the first rows.

    A schema never changes: `extend` and `close` give a new one.

    Args:
        columns: `Numerical` and `Categorical` columns with different names. `Schema.of` and `Schema.infer` make them.

    >>> schema = Schema.infer([{"age": 31, "device": "phone"}, {"age": None, "device": "desktop"}])
    >>> schema.kinds
    {'age': 'numerical', 'device': 'categorical'}
    >>> schema.extend([{"device": "watch"}]).columns[1].categories
    ('phone', 'desktop', 'watch')
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InvalidInput(f"columns is {shown(names)}; it must be one or more, named by different strings")

    @classmethod
    def of(cls, columns: Mapping[str, Declared], *, max_categories: int = 64) -> Self:
        """Declare each column: "numerical", "categorical", "categorical number", or a list of cut points or categories.

        A numerical column takes its quantiles, and a categorical one its categories, from the rows shown to `extend`.
        A "categorical number" column takes numbers too, as categories. A list of categories is complete.

        Args:
            columns: from each column's name to its declaration.
            max_categories: how many categories of a column get codes of their own; all others share one.

        >>> Schema.of({"age": [17, 25, 65], "device": ["phone", "desktop"]}).kinds
        {'age': 'numerical', 'device': 'categorical'}
        """
        _check_declared("columns", columns)
        return cls(columns=tuple(_declare(name, kind, max_categories) for name, kind in columns.items()))

    @classmethod
    def infer(cls, rows: Any, *, max_categories: int = 64, declared: Mapping[str, Declared] | None = None) -> Self:
        """Infer the columns from a list of dicts, a 2-D array or a frame.

        Strings, categoricals and enums are categorical; bools, integers and floats are numerical, and so is a column
        without any value. Categories get their codes in the order of their arrival; where there are more than
        `max_categories`, the most frequent ones do.

        Args:
            rows: the first rows.
            max_categories: how many categories of a column get codes of their own; all others share one.
            declared: columns that are not inferred but declared, as in `of`.
        """
        table = open_table(rows)
        declared = {} if declared is None else declared
        _check_declared("declared", declared)
        for name in declared:
            check_one_of("a declared column", name, table.names)
        columns: list[Column] = []
        for index, name in enumerate(table.names):
            data = table.column(index)
            kind = declared[name] if name in declared else kind_in(data, name in table.categorical)
            columns.append(_declare(name, kind, max_categories).infer(data))
        return cls(columns=tuple(columns))

    def extend(self, rows: Any) -> Self:
        """A schema with the rows' new categories, up to `max_categories`, and with quantiles where there were none.

        No code changes its meaning. New categories get theirs in the order of their arrival, one row at a time or
        all at once.
        """
        table = open_table(rows, self.names)
        learned = (column.learn(table.column(index)) for index, column in enumerate(self.columns))
        return replace(self, columns=tuple(learned))

    def close(self) -> Self:
        """A schema that takes no further categories, with as few codes as possible."""
        return replace(self, columns=tuple(column.close() for column in self.columns))

    def check_has(self, names: Sequence[str]) -> None:
        """Refuse, with a ValueError, names that are no columns."""
        absent = [name for name in names if name not in self.names]
        if absent:
            raise InvalidInput(f"the schema has no column {listed(absent)}; it has {listed(self.names)}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """Each column's kind, "numerical" or "categorical"."""
        return {column.name: column.kind for column in self.columns}

    def __len__(self) -> int:
        return len(self.columns)

    def _options(self) -> Options:
        """Names and sizes as plain values."""
        return {"columns": [{"kind": column.kind, **column.options()} for column in self.columns]}

    def _arrays(self) -> Arrays:
        """The quantiles of all numerical columns as one array."""
        points = [column.points or () for column in self.columns if isinstance(column, Numerical)]
        return {"points": np.array(list(chain.from_iterable(points)), dtype=np.float64)}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        try:
            points = iter(arrays["points"].tolist())
            saved = [(_KINDS[each["kind"]], each) for each in options["columns"]]
            columns = tuple(kind.from_options(each, points) for kind, each in saved)
        except (KeyError, TypeError, AttributeError) as error:
            raise CorruptFile(f"a saved schema must have columns and points: {error!r}") from None
        if next(points, None) is not None:
            raise CorruptFile("a saved schema has more points than its columns say; it must have as many")
        return {"columns": columns}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        """All of it is in the columns."""


_KINDS: dict[str, type[Column]] = {"numerical": Numerical, "categorical": Categorical}


def _check_declared(name: str, columns: Any) -> None:
    if not isinstance(columns, Mapping):
        raise InvalidInput(f"{name} is {shown(columns)}; it must be a dict from columns to what they hold")


def _declare(name: str, kind: Any, max_categories: int) -> Column:
    check_whole("max_categories", max_categories, 1, MAX_CATEGORIES)
    if isinstance(kind, np.ndarray):
        kind = kind.tolist()
    word = kind if isinstance(kind, str) else None
    if word == "numerical":
        return Numerical(name=name)
    if word in ("categorical", "categorical number"):
        return Categorical(name=name, max_categories=max_categories, takes_numbers=word == "categorical number")
    is_list = isinstance(kind, Sequence) and not isinstance(kind, str | bytes)
    kinds = {value_kind(type(value)) for value in kind} if is_list else set()
    if kinds == {"string"}:
        categories = tuple(map(str, kind))
        return Categorical(name=name, categories=categories, max_categories=len(categories))
    if kinds == {"number"}:
        return Numerical(name=name, points=tuple(Numerical(name=name).read(kind).tolist()), given=True)
    raise InvalidInput(
        f"column {name!r} is {shown(kind)}; "
        "it must be 'numerical', 'categorical', 'categorical number', a list of cut points or a list of categories"
    )


def kind_in(data: Data, is_categorical: bool) -> str:
    """The kind with which a column of these values is declared: "numerical", "categorical" or "categorical number"."""
    kinds = {"number"} if isinstance(data, np.ndarray) else {value_kind(kind) for kind in set(map(type, data))}
    if "string" in kinds:
        return "categorical"
    return "categorical number" if is_categorical else "numerical"
