"""Progress bars with speed and remaining time, on the error stream so that results can be piped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

    from stumpery.evaluation.events import Progress


@contextmanager
def event_progress(title: str, n_events: int) -> "Iterator[Progress]":
    """A bar over events; give the function that advances it."""
    from rich import progress

    rate = progress.TextColumn("{task.fields[rate]}")
    remaining = progress.TimeRemainingColumn(elapsed_when_finished=True)
    with _bars(progress.TaskProgressColumn(), rate, remaining) as bars:
        task = bars.add_task(title, total=n_events, rate="")

        def advance(n: int) -> None:
            bars.advance(task, n)
            speed = bars.tasks[0].finished_speed or bars.tasks[0].speed
            bars.update(task, rate=f"{speed:,.0f} events/s" if speed else "")

        yield advance


@contextmanager
def share_progress(title: str) -> "Iterator[Callable[[int, float], None]]":
    """A bar over rows whose number is not known; give the function that takes new rows and the share done, 0 to 1."""
    from time import perf_counter

    from rich import progress

    rate = progress.TextColumn("{task.fields[rate]}")
    remaining = progress.TimeRemainingColumn(elapsed_when_finished=True)
    with _bars(progress.TaskProgressColumn(), rate, remaining) as bars:
        task = bars.add_task(title, total=1.0, rate="")
        start, n_rows = perf_counter(), 0

        def advance(n: int, share: float) -> None:
            nonlocal n_rows
            n_rows += n
            speed = n_rows / max(perf_counter() - start, 1e-9)
            bars.update(task, completed=share, rate=f"{n_rows:,} rows, {speed:,.0f} rows/s")

        yield advance
        bars.update(task, completed=1.0)


@contextmanager
def download_progress(name: str) -> "Iterator[Callable[[int, int | None], None]]":
    """A bar over a file's bytes; give the function that takes the bytes so far and in all."""
    from rich import progress

    columns = progress.DownloadColumn(), progress.TransferSpeedColumn(), progress.TimeRemainingColumn()
    with _bars(*columns) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _bars(*columns: "ProgressColumn") -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(TextColumn("{task.description}"), BarColumn(), *columns, console=Console(stderr=True))
