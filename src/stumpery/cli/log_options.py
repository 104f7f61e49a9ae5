"""Options of commands that read a log: the files and how they are read; a bar over a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.progress import share_progress
from stumpery.cli.tables import print_table

if TYPE_CHECKING:
    from stumpery.logs import Log

Lenient = Annotated[bool, typer.Option("--lenient/--strict", help="Count lines with problems, or stop at the first.")]


@dataclass(frozen=True)
class LogOptions:
    """What a user says of a log on the command line."""

    files: Annotated[list[Path], typer.Argument(help="The log; several files are read one after the other.")]
    file_format: Annotated[
        str,
        typer.Option("--format", help="dsjson, cb, cb_adf, open_bandit, stumpery or table; auto looks at the file."),
    ] = "auto"
    action: Annotated[
        str | None,
        typer.Option(help="A table's column of actions, or the feature that names those of dsjson and cb_adf."),
    ] = None
    reward: Annotated[
        str | None,
        typer.Option(help="A table's column of rewards; of dsjson: cost, or observations for the sum of o."),
    ] = None
    probability: Annotated[str | None, typer.Option(help="A table's column of probabilities.")] = None
    time: Annotated[str | None, typer.Option(help="A table's column of times.")] = None
    event_id: Annotated[str | None, typer.Option(help="A table's column of identifiers, to find duplicates.")] = None
    column: Annotated[list[str] | None, typer.Option(help="A column of the contexts, repeatable; all by default.")] = (
        None
    )
    no_feedback: Annotated[
        str, typer.Option(help="The reward of rows without one; skip leaves them out of learning.")
    ] = "skip"
    encoding: Annotated[str | None, typer.Option(help="The encoding of a text; UTF-8 by default.")] = None

    def open(self, *, is_lenient: bool) -> "Log":
        """The log."""
        from stumpery import logs

        try:
            no_feedback: str | float = self.no_feedback if self.no_feedback == "skip" else float(self.no_feedback)
        except ValueError:
            no_feedback = self.no_feedback
        return logs.read(
            self.files,
            format=self.file_format,
            on_error="lenient" if is_lenient else "strict",
            no_feedback=no_feedback,
            columns=self.column or None,
            encoding=self.encoding,
            action=self.action,
            reward=self.reward,
            probability=self.probability,
            time=self.time,
            event_id=self.event_id,
        )


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command whose first parameter are `LogOptions`: it takes each of them as an option of its own."""
    _, *own = signature(command).parameters.values()
    shared = signature(LogOptions).parameters

    def with_options(**given: Any) -> None:
        with user_errors():
            options = LogOptions(**{name: given.pop(name) for name in shared})
            command(options, **given)

    files, *others = shared.values()
    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (files, *own, *others)]
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
    return with_options


@contextmanager
def log_progress(title: str, log: "Log") -> Iterator[Callable[[int], None]]:
    """A bar over a log: the share of the file, rows a second, the time left."""
    with share_progress(title) as advance:
        yield lambda n_rows: advance(n_rows, log.share_read)


def print_problems(log: "Log") -> None:
    """Print the lines with problems of the last pass, if there are any."""
    if log.report.table:
        print_table("Lines with problems", [dict(row) for row in log.report.table])
