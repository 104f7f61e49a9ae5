"""Command `stumpery study`: figures and claims of the sources, reproduced."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.parameters import Jobs, Out, Ray, Seed, Steps, Threads, Trials, chosen_executor
from stumpery.cli.progress import event_progress
from stumpery.cli.tables import print_table
from stumpery.errors import InvalidInput

if TYPE_CHECKING:
    from stumpery.studies.study import Settings, Study

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
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare with the result kept with the library, by default at its length.")
    ] = False,
    save: Annotated[bool, typer.Option("--save", help="Keep the result with the library.")] = False,
) -> None:
    """Reproduce a figure or claim of a source; an interrupted run is resumed."""
    from stumpery.options import check_known
    from stumpery.studies import STUDIES
    from stumpery.studies.saved_results import check_same_settings, load_result, save_result
    from stumpery.studies.study import Settings

    if name == "list":
        rows = [{"study": each.name, "what": each.title, "source": each.source} for each in STUDIES.values()]
        print_table("Studies", rows)
        return
    with user_errors():
        check_known("study", name, STUDIES)
        _use_data(folder)
        if STUDIES[name].is_timed and (jobs or ray):
            raise InvalidInput(f"{name} measures time, so its parts run one by one; leave out --jobs and --ray")
        chosen = STUDIES[name]
        kept = load_result(name) if compare else None
        lengths = {"steps": chosen.steps, "trials": chosen.trials} if kept is None else kept["settings"]
        with chosen_executor(jobs, ray) as executor:
            settings = Settings(
                steps=lengths["steps"] if steps is None else steps,
                trials=lengths["trials"] if trials is None else trials,
                seed=seed,
                threads=threads,
                executor=executor,
            )
            if kept is not None:
                check_same_settings(kept, settings)
            result = _run(chosen, settings, out)
        if kept is not None:
            _print_comparison(kept, result)
        if save:
            typer.echo(f"wrote {save_result(result)}")


def _run(chosen: "Study", settings: "Settings", out: Path | None) -> dict[str, Any]:
    """Run a study and print its table, its findings and the files written; returns the content of result.json."""
    from stumpery.studies.runner import run_study

    with _resumable(), event_progress(chosen.name, chosen.n_events(settings)) as advance:
        outcome, files = run_study(chosen, settings, out or Path("out") / chosen.name, advance)
    print_table(chosen.title, outcome.table)
    if outcome.findings:
        print_table("Claims", [finding._asdict() for finding in outcome.findings])
    for path in files:
        typer.echo(f"wrote {path}")
    content: dict[str, Any] = json.loads(files[0].read_text(encoding="utf-8"))
    return content


def _print_comparison(kept: dict[str, Any], result: dict[str, Any]) -> None:
    """Print which figures and verdicts are not those of the kept result."""
    from stumpery.studies.saved_results import compare_results

    rows = compare_results(kept, result)
    if rows:
        print_table("Not equal to the kept result", rows)
    else:
        typer.echo("every figure and every verdict is equal to the kept result")


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
