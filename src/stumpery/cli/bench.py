"""Command `stumpery bench`: speed and memory beside other libraries, and since they were last saved."""

import json
from pathlib import Path
from typing import Annotated

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.tables import print_table


def bench(
    only: Annotated[str | None, typer.Option(help="Only the benchmarks whose name contains this text.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each benchmark; the median is reported.")] = 5,
    against: Annotated[
        bool,
        typer.Option("--against", help="Compare with this machine's saved figures: what moved by more than noise."),
    ] = False,
    save: Annotated[bool, typer.Option("--save", help="Save the figures as this machine's.")] = False,
    folder: Annotated[Path | None, typer.Option(help="Where figures are saved; the user's cache by default.")] = None,
) -> None:
    """Benchmark ours and the installed peers: one JSON line per benchmark, with name, ours, peer and ratio."""
    from stumpery.benchmarks import run_benchmarks
    from stumpery.benchmarks.saved_figures import compare_figures, load_figures, path_of_machine, save_figures

    with user_errors():
        path = path_of_machine(folder)
        saved = load_figures(path) if against else {}
        lines = []
        for line in run_benchmarks(only=only, repeats=repeats):
            typer.echo(line)
            lines.append(json.loads(line))
        if against:
            print_table("Since the figures were saved", compare_figures(saved, lines))
        if save:
            save_figures(path, lines)
            typer.echo(f"wrote {path}")
