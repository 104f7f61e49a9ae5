"""Command `stumpery bench`: speed and memory beside other libraries."""

from typing import Annotated

import typer

from stumpery.cli.errors import user_errors


def bench(
    only: Annotated[str | None, typer.Option(help="Only the benchmarks whose name contains this text.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each benchmark; the median is reported.")] = 5,
) -> None:
    """Benchmark ours and the installed peers: one JSON line per benchmark, with name, ours, peer and ratio."""
    from stumpery.benchmarks import run_benchmarks

    with user_errors():
        for line in run_benchmarks(only=only, repeats=repeats):
            typer.echo(line)
