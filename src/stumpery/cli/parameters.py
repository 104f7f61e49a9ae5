"""Options that several commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stumpery.jobs.executor import Executor

Steps = Annotated[int | None, typer.Option(help="Events in each trial.")]
Trials = Annotated[int | None, typer.Option(help="Repetitions, each with its own seed.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same figures.")]
Threads = Annotated[int, typer.Option(help="Trials run in parallel, in threads of this process.")]
Jobs = Annotated[int | None, typer.Option(help="Processes of this machine that share the work.", min=1)]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Ray cluster that shares the work: local starts one here, auto is the one that runs here, or HOST:PORT.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Output folder; out/NAME by default.")]


@contextmanager
def chosen_executor(n_jobs: int | None, address: str | None) -> "Iterator[Executor | None]":
    """The executor that --jobs or --ray names, which ends with the block; None if neither is given."""
    from stumpery import jobs
    from stumpery.errors import InvalidInput

    if n_jobs is not None and address is not None:
        raise InvalidInput("--jobs and --ray are both given; the work is shared by processes or by a cluster")
    if address is not None:
        with jobs.RayCluster(address) as cluster:
            yield cluster
    elif n_jobs is not None:
        with jobs.Processes(n_jobs) as processes:
            yield processes
    else:
        yield None
