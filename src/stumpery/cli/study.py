"""Command `stumpery study`: figures and claims of the sources, reproduced."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.parameters import Jobs, Out, Ray, Seed, Steps, Threads, Trials, chosen_executor
from stumpery.cli.progress import event_progress
from stumpery.cli.tables import print_table
from stumpery.errors import InvalidInput

if TYPE_CHECKING:
    from stumpery.jobs.executor import Executor

Folder = Annotated[Path | None, typer.Option("--data", help="A folder of Parquet files, as STUMPERY_DATA.")]


def _study_names() -> list[str]:
    from stumpery.studies import STUDIES

    return ["list", *STUDIES]


def study(
    name: Annotated[str, typer.Argument(help="A study's name, or list.", autocompletion=_study_names)] = "list",
    steps: Steps = None,
    trials: Trials = None,
    seed: Seed = 0,
    threads: Threads = 2,
    out: Out = None,
    folder: Folder = None,
    jobs: Jobs = None,
    ray: Ray = None,
) -> None:
    """Reproduce a figure or claim of a source; an interrupted run is resumed."""
    from stumpery.options import check_known
    from stumpery.studies import STUDIES

    if name == "list":
        rows = [{"study": each.name, "what": each.title, "source": each.source} for each in STUDIES.values()]
        print_table("Studies", rows)
        return
    with user_errors():
        check_known("study", name, STUDIES)
        _use_data(folder)
        if STUDIES[name].is_timed and (jobs or ray):
            raise InvalidInput(f"{name} measures time, so its parts run one by one; leave out --jobs and --ray")
        with chosen_executor(jobs, ray) as executor:
            _run(name, steps, trials, seed, threads, out, executor)


def _run(
    name: str,
    steps: int | None,
    trials: int | None,
    seed: int,
    threads: int,
    out: Path | None,
    executor: "Executor | None",
) -> None:
    """Run a study and print its table, its findings and the files written."""
    from stumpery.studies import STUDIES
    from stumpery.studies.runner import run_study
    from stumpery.studies.study import Settings

    chosen = STUDIES[name]
    steps, trials = chosen.steps if steps is None else steps, chosen.trials if trials is None else trials
    settings = Settings(steps=steps, trials=trials, seed=seed, threads=threads, executor=executor)
    with _resumable(), event_progress(name, chosen.n_events(settings)) as advance:
        outcome, files = run_study(chosen, settings, out or Path("out") / name, advance)
    print_table(chosen.title, outcome.table)
    if outcome.findings:
        print_table("Claims", [finding._asdict() for finding in outcome.findings])
    for path in files:
        typer.echo(f"wrote {path}")


def _use_data(folder: Path | None) -> None:
    if folder is not None:
        if not folder.is_dir():
            raise InvalidInput(f"--data is {str(folder)!r}; it must be a folder of Parquet files")
        os.environ["STUMPERY_DATA"] = str(folder)


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nrun the same command again to resume", err=True)
        raise
