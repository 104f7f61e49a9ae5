"""Base class of results: a table that becomes a frame, a CSV file, a JSON file, and a short summary."""

import csv
import io
import json
import math
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.display import as_html, as_text, cell
from stumpery.frames import make_frame
from stumpery.options import MAX_LISTED
from stumpery.system.extras import need
from stumpery.system.writing import as_path, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result(ABC):
    """Result of an evaluation: a table of columns, and a summary of plain values."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The whole table: a sequence per column."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Settings and figures as plain values."""

    def __str__(self) -> str:
        return "\n".join([type(self).__name__, *as_text(self._overview())])

    def __repr__(self) -> str:
        rows = self._overview()
        if len(rows) == 1:
            parts = [f"{name}={cell(value)}" for name, value in rows[0].items()]
        else:
            parts = [cell(next(iter(row.values()))) for row in rows[:MAX_LISTED]] + ["..."] * (len(rows) > MAX_LISTED)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._overview())

    def _overview(self) -> list[dict[str, Any]]:
        """A row of final figures for each model that was compared, or the summary as one row."""
        summary = self.summary()
        rows: list[dict[str, Any]] = summary.get("final", [summary])
        return rows

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a polars, pandas or pyarrow frame."""
        return make_frame(self.columns(), backend)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """The table as a CSV file, written whole or not at all."""
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        write_whole(as_path(path), text.getvalue().encode())

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Summary and table as a JSON file, written whole or not at all."""
        content = {**self.summary(), "columns": self.columns()}
        write_whole(as_path(path), json_text(content).encode())


def new_axes() -> "Axes":
    """Axes of a new figure."""
    axes: Axes = need("matplotlib.pyplot", "study").subplots()[1]
    return axes


def json_text(content: Any) -> str:
    """Strict JSON: arrays become lists, and what is not finite becomes null."""
    return json.dumps(_plain(content), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
