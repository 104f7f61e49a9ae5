"""Result of a study as a table of rows."""

from dataclasses import dataclass
from math import isnan
from typing import Any

from stumpery.evaluation.result import Result


@dataclass(frozen=True, eq=False)
class TableResult(Result):
    """A result of rows with the same columns."""

    rows: list[dict[str, Any]]

    def columns(self) -> dict[str, Any]:
        """The columns of the table."""
        return {name: [row[name] for row in self.rows] for name in (self.rows[0] if self.rows else {})}

    def summary(self) -> dict[str, Any]:
        """The number of rows."""
        return {"n_rows": len(self.rows)}

    def _overview(self) -> list[dict[str, Any]]:
        return self.rows


def estimate(mean: float, half_width: float, form: str) -> str:
    """A mean and the half-width of its confidence interval, as text; a single trial has no interval.

    >>> estimate(0.51234, 0.0123, ".3f"), estimate(1200, float("nan"), ",.0f")
    ('0.512 ± 0.012', '1,200')
    """
    return f"{mean:{form}}" if isnan(half_width) else f"{mean:{form}} ± {half_width:{form}}"
