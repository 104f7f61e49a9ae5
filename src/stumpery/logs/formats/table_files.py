"""Tables in files: CSV and Parquet, by the names of their columns."""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stumpery.columns import Columns, Values
from stumpery.errors import InvalidInput
from stumpery.logs.formats.lines import Lines, read_lines
from stumpery.logs.formats.naming import Naming
from stumpery.logs.report import LogReport
from stumpery.logs.rows import RawRows
from stumpery.system.extras import need
from stumpery.types import Action

N_SAMPLE_ROWS = 1000  # from which the kinds of a CSV's columns are inferred
ABSENT = frozenset({"", "nan", "NaN", "NA", "null", "None"})


class ParquetTable:
    """A Parquet file, read in batches.

    Args:
        path: the file.
    """

    unit = "row"

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            self.names: list[str] = file.schema_arrow.names
            self.n_rows: int | None = file.metadata.num_rows
            self.metadata: dict[bytes, bytes] = file.schema_arrow.metadata or {}

    def _opened(self) -> Any:
        try:
            return need("pyarrow.parquet", "logs").ParquetFile(self.path)
        except (ValueError, OSError) as error:  # pyarrow's ArrowInvalid is a ValueError
            raise InvalidInput(f"{self.path} is damaged, or no Parquet file: {error}") from None

    def has_values(self, name: str) -> bool:
        """Whether a column is more than missing values, by the statistics of the file; where it has none, it is."""
        with self._opened() as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        for group in groups:
            columns = [group.column(place) for place in range(group.num_columns)]
            found = next((column.statistics for column in columns if column.path_in_schema == name), None)
            if found is None or not found.has_null_count or found.null_count < group.num_rows:
                return True
        return False

    def batches(
        self, columns: Sequence[str], size: int, report: LogReport
    ) -> Iterator[tuple[Any, np.ndarray[Any, Any], float]]:
        """Frames of the named columns, the numbers of their rows, and the share that has been read."""
        pyarrow = need("pyarrow", "logs")
        start, n_rows = 0, max(self.n_rows or 0, 1)
        with self._opened() as file:
            batches = file.iter_batches(batch_size=size, columns=list(dict.fromkeys(columns)))
            while True:
                try:
                    batch = next(batches, None)
                except (ValueError, OSError):
                    report.add("cut file", start)
                    return
                if batch is None:
                    return
                lines = np.arange(start, start + batch.num_rows, dtype=np.int64)
                start += batch.num_rows
                yield pyarrow.Table.from_batches([batch]), lines, start / n_rows


class CsvTable:
    """A CSV file with a line of names, read in chunks; numbers are what the first rows' columns of numbers hold.

    Args:
        path: the file.
        encoding: its encoding.
    """

    unit = "line"
    n_rows: int | None = None

    def __init__(self, path: Path, encoding: str | None) -> None:
        self.path = path
        self._encoding = encoding
        rows = []
        for block in read_lines(path, N_SAMPLE_ROWS, encoding):
            rows = [row for _, row in _parsed(block, 1, LogReport(path.name, "lenient"))]
            break
        self.names: list[str] = rows[0] if rows else []
        if len(set(self.names)) != len(self.names):
            raise InvalidInput(f"{path} has several columns of the same name; their names must differ")
        columns = list(zip(*(row for row in rows[1:] if len(row) == len(self.names)), strict=True))
        self._is_number = [
            any(value not in ABSENT for value in values) and all(map(_is_number, values)) for values in columns
        ] or [False] * len(self.names)

    def batches(
        self, columns: Sequence[str], size: int, report: LogReport
    ) -> Iterator[tuple[Columns, np.ndarray[Any, Any], float]]:
        """The named columns, the lines of their rows, and the share that has been read."""
        places = [self.names.index(name) for name in dict.fromkeys(columns)]
        width = len(self.names)
        for block in read_lines(self.path, size, self._encoding):
            found = [(number, row) for number, row in _parsed(block, width, report) if number > 1]
            if found:
                lines = np.array([number for number, _ in found], dtype=np.int64)
                values = list(zip(*(row for _, row in found), strict=True))
                chosen = {self.names[place]: self._column(place, values[place], lines, report) for place in places}
                yield Columns(chosen), lines, block.share
            if block.is_damaged:
                report.add("cut file", block.first + len(block.lines))

    def _column(self, place: int, values: Sequence[str], lines: Any, report: LogReport) -> Values:
        if not self._is_number[place]:
            return [None if value in ABSENT else value for value in values]
        try:
            numbers = np.array([np.nan if value in ABSENT else float(value) for value in values])
        except ValueError:
            wrong = [not _is_number(value) for value in values]
            report.add_many("value of another type", lines[np.array(wrong)], self.names[place])
            numbers = np.array(
                [float(value) if value not in ABSENT and _is_number(value) else np.nan for value in values]
            )
        return numbers


class TableSource:
    """A log in a CSV or Parquet file.

    Args:
        table: the file.
        naming: which columns hold what.
        file_format: the format's name.
        actions: the actions, if the file declares them.
    """

    reward_range: tuple[float, float] | None = None

    def __init__(self, table: ParquetTable | CsvTable, naming: Naming, file_format: str = "table") -> None:
        self.name = table.path.name
        self.format = file_format
        self.unit = table.unit
        self.n_rows = table.n_rows
        self.actions: tuple[Action, ...] | None = None
        self.has_probabilities = naming.probability is not None
        self._table = table
        self._naming = naming.checked(table.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of contexts."""
        return self._naming.columns or ()

    def rows(self, size: int, report: LogReport, advance: Callable[[float], None]) -> Iterator[RawRows]:
        """Read the file's rows."""
        naming = self._naming
        others = (naming.probabilities or {}).values()
        named = [naming.action, naming.reward, naming.probability, naming.time, naming.event_id, *others]
        wanted = [name for name in [*named, *self.columns] if name is not None]
        for frame, lines, share in self._table.batches(wanted, size, report):
            yield naming.raw_rows(frame, lines, report)
            advance(share)


def open_table_file(path: Path, encoding: str | None) -> ParquetTable | CsvTable:
    """A CSV or Parquet file."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1" or path.suffix == ".parquet"
    return ParquetTable(path) if is_parquet else CsvTable(path, encoding)


OPEN_BANDIT = Naming(action="item_id", reward="click", probability="propensity_score", time="timestamp")
OPEN_BANDIT_NAMES = frozenset({"item_id", "position", "click", "propensity_score"})


def open_bandit_naming(names: Sequence[str]) -> Naming:
    """The columns of the Open Bandit Dataset: a row is one item at one position, with its propensity there."""
    contexts = tuple(
        name for name in names if name == "position" or name.startswith(("user_feature_", "user-item_affinity_"))
    )
    return replace(OPEN_BANDIT, columns=contexts, time="timestamp" if "timestamp" in names else None)


def _parsed(block: Lines, width: int, report: LogReport) -> Iterator[tuple[int, list[str]]]:
    """The rows of lines, with their numbers; those of another width are problems, unless `width` is 1."""
    last = block.first + len(block.lines) - 1
    for number, line in enumerate(block.lines, block.first):
        try:
            row = next(csv.reader([line.decode().rstrip("\r")], strict=True), [])
        except (UnicodeDecodeError, csv.Error):
            row = None
        if row == []:
            continue
        if row is None or (len(row) != width and width != 1):
            report.add("cut last line" if number == last and block.is_open else "unreadable line", number)
        else:
            yield number, row


def _is_number(value: str) -> bool:
    if value in ABSENT:
        return True
    try:
        float(value)
    except ValueError:
        return False
    return True
