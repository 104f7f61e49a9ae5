"""The command line. Heavy imports wait until a command needs them, so that help comes at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from stumpery.evaluation.play import Progress
    from stumpery.studies.study import Outcome

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Datasets: what there is, where it comes from.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data, name="data")


def _study_names() -> list[str]:
    from stumpery.studies import STUDIES

    return ["list", *STUDIES]


def _dataset_names() -> list[str]:
    from stumpery.streams.datasets.registry import DATASETS

    return list(DATASETS)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"stumpery {version('stumpery')}")
        raise typer.Exit


Steps = Annotated[int | None, typer.Option(help="Events in each trial.")]
Trials = Annotated[int | None, typer.Option(help="Repetitions, each with its own seed.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same figures.")]
Threads = Annotated[int, typer.Option(help="Trials played at once.")]
Out = Annotated[Path | None, typer.Option(help="Where the files go; out/NAME unless said.")]
Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]
Folder = Annotated[Path | None, typer.Option("--data", help="A folder of Parquet files, as STUMPERY_DATA.")]


@app.callback()
def main(version: Version = False) -> None:
    """Learning and deciding on streams with trees."""


@app.command(epilog="Example: stumpery demo --steps 10000 --trials 5")
def demo(steps: Steps = None, trials: Trials = None, seed: Seed = 0, threads: Threads = 2, out: Out = None) -> None:
    """Play several policies on one stream: a table, a picture and result.json under out/demo."""
    study("demo", steps, trials, seed, threads, out)


@app.command(epilog="Example: stumpery study bandits-101 --trials 20 --out out/quick")
def study(
    name: Annotated[str, typer.Argument(help="A study's name, or list.", autocompletion=_study_names)] = "list",
    steps: Steps = None,
    trials: Trials = None,
    seed: Seed = 0,
    threads: Threads = 2,
    out: Out = None,
    folder: Folder = None,
) -> None:
    """Run a study of a source's figure or claim; it resumes where it was stopped."""
    from stumpery.options import check_known
    from stumpery.studies import STUDIES
    from stumpery.studies.runner import run_study
    from stumpery.studies.study import Settings

    if name == "list":
        shown = [{"study": s.name, "what": s.title, "source": s.source} for s in STUDIES.values()]
        _print_table("Studies", shown)
        return
    with _one_sentence():
        check_known("study", name, STUDIES)
        chosen = STUDIES[name]
        _use_data(folder)
        settings = Settings(
            steps=chosen.steps if steps is None else steps,
            trials=chosen.trials if trials is None else trials,
            seed=seed,
            threads=threads,
        )
        with _goes_on(), _progress(name, chosen.n_events(settings)) as advance:
            outcome, files = run_study(chosen, settings, out or Path("out") / name, advance)
        _show(outcome, chosen.title, files)


@app.command(epilog="Example: stumpery plan --actions 7 --variables 94 --depth 14 --trees 100 --epsilon 0.4")
def plan(
    actions: Annotated[int, typer.Option(help="K, how many actions.")] = 7,
    variables: Annotated[int, typer.Option(help="M, how many binary variables.")] = 94,
    depth: Annotated[int, typer.Option(help="D, the deepest tree.")] = 5,
    trees: Annotated[int, typer.Option(help="L, how many trees.")] = 100,
    variable_gap: Annotated[float, typer.Option(help="From the best variable's reward to the next.")] = 0.1,
    action_gap: Annotated[float, typer.Option(help="From the best action's reward to the next.")] = 0.1,
    epsilon: Annotated[float, typer.Option(help="How far from the best is near enough, for the second table.")] = 0.0,
    delta: Annotated[float, typer.Option(help="The probability to be wrong.")] = 0.05,
) -> None:
    """Say how many events the elimination algorithms need (Feraud et al. 2016)."""
    from stumpery.policies.bandit_forest import sample_complexity as needs

    with _one_sentence():
        one_action = needs.action_selection(n_actions=actions, action_gap=action_gap, delta=delta)
        one_variable = needs.variable_selection(
            n_actions=actions, n_variables=variables, variable_gap=variable_gap, delta=delta
        )
        forest = needs.bandit_forest(
            n_actions=actions,
            n_variables=variables,
            variable_gap=variable_gap,
            action_gap=action_gap,
            depth=depth,
            n_trees=trees,
            delta=delta,
        )
        bounds = {
            "best action (Lemma 3)": one_action,
            "best variable (Lemma 1)": one_variable,
            "best stump (Theorem 1)": needs.decision_stump(
                n_actions=actions,
                n_variables=variables,
                variable_gap=variable_gap,
                action_gap=action_gap,
                delta=delta,
            ),
            "best forest (Theorem 3)": forest,
        }
        tests = {
            "drop an action (2)": (action_gap, actions, 2.0),
            "drop a variable (1)": (variable_gap, actions * variables, 4.0),
            "drop an action of a forest's leaf (4)": (action_gap, actions * trees, 2.0),
            "drop a variable of a forest's node (3)": (variable_gap, actions * variables * depth * trees, 4.0),
        }
        plays = {
            name: needs.plays_until_elimination(gap=gap, epsilon=epsilon, n_hypotheses=n, width=width, delta=delta)
            for name, (gap, n, width) in tests.items()
        }
    _print_table("Events needed at most", [{"to know the": k, "events": f"{v:,.0f}"} for k, v in bounds.items()])
    _print_table(
        "Plays of each action when the test fires, if the gap shows as it is",
        [{"test (equation)": k, "plays": f"{v:,}"} for k, v in plays.items()],
    )


@app.command(epilog="Example: stumpery bench --only bandits")
def bench(
    only: Annotated[str | None, typer.Option(help="Just the workloads whose name contains this.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each; the median counts.")] = 5,
) -> None:
    """Measure ours and the installed peers side by side: one JSON line a figure, with name, ours, peer and ratio."""
    from stumpery.benchmarks import run_benchmarks

    with _one_sentence():
        for line in run_benchmarks(only=only, repeats=repeats):
            typer.echo(line)


@data.command("list", epilog="Example: stumpery data list")
def data_list() -> None:
    """List the datasets, their sizes, and where each would come from."""
    from stumpery.streams.datasets import load as loading

    with _one_sentence():
        _print_table("Datasets", [row._asdict() for row in loading.available()])


@data.command("fetch", epilog="Example: stumpery data fetch nursery")
def data_fetch(name: Annotated[str, typer.Argument(help="A dataset's name.", autocompletion=_dataset_names)]) -> None:
    """Download a dataset from its public origin, check it and keep it in the cache."""
    from stumpery.streams.datasets import load as loading
    from stumpery.streams.datasets.registry import find

    with _one_sentence():
        if find(name).format == "scikit-learn":
            typer.echo(f"{name} comes with scikit-learn: there is nothing to fetch")
            return
        with _download_progress(name) as progress:
            path = loading.fetch(name, progress=progress)
        typer.echo(path)


@data.command("path", epilog="Example: stumpery data path nursery")
def data_path(
    name: Annotated[
        str | None,
        typer.Argument(help="A dataset's name; the folder of all unless said.", autocompletion=_dataset_names),
    ] = None,
) -> None:
    """Print where a dataset's file is, or the folder that datasets are looked for in first."""
    from stumpery.streams.datasets import load as loading

    with _one_sentence():
        typer.echo(loading.path(name) if name else loading.data_folder() or loading.cache_folder())


def _use_data(folder: Path | None) -> None:
    import os

    if folder is not None:
        if not folder.is_dir():
            raise ValueError(f"--data is {str(folder)!r}; it must be a folder of Parquet files")
        os.environ["STUMPERY_DATA"] = str(folder)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """An error that a user can mend is one sentence, not a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nstopped", err=True)
        raise typer.Exit(130) from None
    except (ValueError, ArithmeticError, OSError, ImportError) as error:
        _fail(str(error))


@contextmanager
def _goes_on() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nthe same command goes on from here", err=True)
        raise


def _fail(message: str) -> NoReturn:
    typer.echo(f"stumpery: {message}", err=True)
    raise typer.Exit(2)


@contextmanager
def _progress(title: str, n_events: int) -> "Iterator[Progress]":
    """A bar with rate and time left, on the error stream so that results can be piped."""
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=n_events, rate="")

        def advance(n: int) -> None:
            bar.advance(task, n)
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f} events/s" if speed else "")

        yield advance


@contextmanager
def _download_progress(name: str) -> "Iterator[Callable[[int, int | None], None]]":
    """A bar for the file at hand, with its size, speed and time left."""
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(outcome: "Outcome", title: str, files: list[Path]) -> None:
    _print_table(title, outcome.table)
    if outcome.findings:
        _print_table("Claims", [entry._asdict() for entry in outcome.findings])
    for path in files:
        typer.echo(f"wrote {path}")


def _print_table(title: str, table: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    lines = box.HEAVY_HEAD if console.encoding.startswith("utf") else box.ASCII
    shown = Table(title=title, title_justify="left", box=lines)
    for name, value in (table[0] if table else {}).items():
        numeric = isinstance(value, int | float)
        title = name.removeprefix("n_").replace("_", " ")
        width = max(len(_cell(row[name])) for row in table) if numeric else None  # a number is never cut
        shown.add_column(title, justify="right" if numeric else "left", min_width=width, overflow="fold")
    for row in table:
        shown.add_row(*(_cell(value) for value in row.values()))
    console.print(shown)


def _cell(value: Any) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN: one trial has no interval
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
    return str(value)
