"""Tables in the terminal."""

from typing import Any


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows under their column names; a number is never cut, text is folded."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    lines = box.HEAVY_HEAD if console.encoding.startswith("utf") else box.ASCII
    table = Table(title=title, title_justify="left", box=lines)
    for name, value in (rows[0] if rows else {}).items():
        is_numeric = isinstance(value, int | float)
        heading = name.removeprefix("n_").replace("_", " ")
        width = max(len(_cell(row[name])) for row in rows) if is_numeric else None
        table.add_column(heading, justify="right" if is_numeric else "left", min_width=width, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN: one trial has no interval
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
    return str(value)
