"""Small tables as aligned text and as HTML for notebooks."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

MAX_ROWS = 30  # of a table that is shown

Table = Sequence[Mapping[str, Any]]


def as_text(table: Table) -> list[str]:
    r"""The lines of an aligned table, with the names of the columns above it; of a long one the first rows.

    >>> print(*as_text([{"action": "news", "mean": 0.25}, {"action": "film", "mean": 1 / 3}]), sep="\n")
      action    mean
        news    0.25
        film  0.3333
    """
    if not table:
        return []
    cells = [list(table[0]), *([cell(value) for value in row.values()] for row in table[:MAX_ROWS])]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = ["  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
    return [*lines, *_rest(table)]


def as_html(title: str, table: Table) -> str:
    """A title and a table as HTML; of a long one the first rows."""
    head = "".join(f"<th>{escape(name)}</th>" for name in (table[0] if table else {}))
    body = "".join(f"<tr>{''.join(map(_html_cell, row.values()))}</tr>" for row in table[:MAX_ROWS])
    rows = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if table else ""
    return f"<div><p>{escape(title)}</p>{rows}{''.join(f'<p>{line}</p>' for line in _rest(table))}</div>"


def cell(value: Any) -> str:
    """A value as a short text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _html_cell(value: Any) -> str:
    return f"<td>{escape(cell(value))}</td>"


def _rest(table: Table) -> list[str]:
    return [f"  and {len(table) - MAX_ROWS:,} more"] if len(table) > MAX_ROWS else []
