"""Registry entries of datasets: columns, size, origin, licence and checksum."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["number", "name", "time"]
Format = Literal["csv", "csv with header", "adult", "spaces", "libsvm", "arff", "open bandit", "scikit-learn"]


@dataclass(frozen=True)
class Column:
    """Column of a dataset: its name and its kind.

    Args:
        name: The name, as the origin has it where it names its columns.
        kind: "number" (bits are numbers), "name" (categories) or "time" (in UTC).

    >>> Column("age", "number").kind
    'number'
    """

    name: str
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Dataset of the registry: its columns, size, origin, licence and checksum.

    A column that the origin lacks, such as a mark of the training part, is never loaded.

    Args:
        name: The name by which it is loaded.
        title: What it is, for tables.
        columns: All columns that are loaded, in the order of the origin.
        n_rows: Number of rows.
        target: The usual target column, though any may serve; None where there is none.
        class_counts: Rows of each class of the target; empty where they are not documented.
        origin: Addresses of the files, whose rows follow each other; empty where there is no public file.
        format: Format of the files.
        licence: The licence of the data.
        citation: The source to cite.
        note: What else a user should know.
        sha256: Checksum of the canonical content, see `checksum`.
        sha256_rows: Number of leading rows that the checksum covers; None: all.
        part_of: Name of the larger dataset that contains this one, if there is one.

    >>> from stumpery.streams import find_dataset
    >>> digits = find_dataset("digits")
    >>> digits.n_rows, digits.target
    (1797, 'digit')
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    n_rows: int
    target: str | None = None
    class_counts: Mapping[str, int] = field(default_factory=dict)
    origin: tuple[str, ...] = ()
    format: Format = "csv"
    licence: str
    citation: str
    note: str = ""
    sha256: str
    sha256_rows: int | None = None
    part_of: str | None = None

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
