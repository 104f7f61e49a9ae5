"""Errors that a user can correct: one sentence on the error stream and an exit code, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

INTERRUPTED, FAILED = 130, 2  # exit codes


@contextmanager
def user_errors() -> Iterator[None]:
    """Print the message of an error and exit."""
    from stumpery.errors import StumperyError

    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nstopped", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (StumperyError, ValueError, ArithmeticError, OSError, ImportError) as error:
        typer.echo(f"stumpery: {error}", err=True)
        raise typer.Exit(FAILED) from None
