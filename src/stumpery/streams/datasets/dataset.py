"""Registry entries of datasets: columns, size, origin, licence and checksum."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["number", "name", "time"]
Format = Literal["csv", "csv with header", "adult", "spaces", "libsvm", "arff", "open bandit", "scikit-learn"]


@dataclass(frozen=True)
class Column:
    """A column and its kind: numbers (bits are numbers), names (categories), or times in UTC."""

    name: str
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One entry of the registry; `columns` are all that is loaded, in the order of the origin.

    A column that the origin lacks, such as a mark of the training part, is never loaded. `target` is only the
    usual choice: any column may serve.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    n_rows: int
    target: str | None = None
    class_counts: Mapping[str, int] = field(default_factory=dict)  # empty where not documented
    origin: tuple[str, ...] = ()  # files whose rows follow each other; empty: no public file
    format: Format = "csv"
    licence: str
    citation: str
    note: str = ""
    sha256: str  # of the canonical content, see `checksum`
    sha256_rows: int | None = None  # number of leading rows in the checksum; None: all
    part_of: str | None = None  # the larger dataset that contains this one

    @property
    def checked_rows(self) -> int:
        """The number of leading rows that the checksum covers."""
        return self.n_rows if self.sha256_rows is None else self.sha256_rows


def numbers(*words: str) -> tuple[Column, ...]:
    """Columns of numbers, one for each word.

    >>> numbers("B G", "R") == (Column("B", "number"), Column("G", "number"), Column("R", "number"))
    True
    """
    return tuple(Column(name, "number") for text in words for name in text.split())


def names(*words: str) -> tuple[Column, ...]:
    """Columns of names, one for each word."""
    return tuple(Column(name, "name") for text in words for name in text.split())
