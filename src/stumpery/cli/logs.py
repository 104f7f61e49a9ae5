"""Commands `stumpery logs inspect`, `convert` and `learn`: logs of decisions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.parameters import Jobs, Ray, Seed, chosen_executor
from stumpery.cli.progress import share_progress
from stumpery.cli.tables import print_table
from stumpery.system.writing import as_path, check_target, resolved

if TYPE_CHECKING:
    from stumpery.logs import Log
    from stumpery.policies import Policy

NO_POLICIES = ("Policy", "ContextualPolicy", "explorers")  # exports of the family that cannot be made
MAX_SHOWN_ROWS = 40  # of a table

app = typer.Typer(
    help="Logs of decisions: inspect them, convert them, learn from them.", no_args_is_help=True, rich_markup_mode=None
)

Files = Annotated[list[Path], typer.Argument(help="The log: files, or a folder of Parquet files.")]
Format = Annotated[
    str, typer.Option("--format", help="dsjson, cb, cb_adf, open_bandit, stumpery or table; auto looks at the file.")
]
Action = Annotated[
    str | None, typer.Option(help="A table's column of actions, or the feature that names those of dsjson and cb_adf.")
]
Reward = Annotated[
    str | None, typer.Option(help="A table's column of rewards; of dsjson: cost, or observations for the sum of o.")
]
Probability = Annotated[str | None, typer.Option(help="A table's column of probabilities.")]
Time = Annotated[str | None, typer.Option(help="A table's column of times.")]
EventId = Annotated[str | None, typer.Option(help="A table's column of identifiers, to find duplicates.")]
Column = Annotated[list[str] | None, typer.Option(help="A column of the contexts, repeatable; all by default.")]
NoFeedback = Annotated[str, typer.Option(help="The reward of rows without one; skip leaves them out of learning.")]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a text; UTF-8 by default.")]
Lenient = Annotated[bool, typer.Option("--lenient/--strict", help="Count lines with problems, or stop at the first.")]


@app.command(epilog="Example: stumpery logs inspect events.dsjson.gz")
def inspect(
    files: Files,
    file_format: Format = "auto",
    action: Action = None,
    reward: Reward = None,
    probability: Probability = None,
    time: Time = None,
    event_id: EventId = None,
    column: Column = None,
    no_feedback: NoFeedback = "skip",
    encoding: Encoding = None,
    plot: Annotated[Path | None, typer.Option(help="A picture to write: the mean reward along the log.")] = None,
    jobs: Jobs = None,
    ray: Ray = None,
) -> None:
    """Print a log's actions, rewards, probabilities, columns and lines with problems."""
    with user_errors():
        names = _names(action, reward, probability, time, event_id)
        log = open_log(files, file_format, names, column, no_feedback, encoding, is_lenient=True)
        from stumpery import logs

        if plot is not None:
            check_target(resolved(as_path(plot)))
        with chosen_executor(jobs, ray) as executor, log_progress("inspect", log) as advance:
            summary = logs.inspect(log, executor=executor, progress=advance)
        typer.echo(f"{summary.report.source} ({log.format}): {summary.rows:,} rows, {len(summary.actions):,} actions")
        for title, table in summary.tables.items():
            if table:
                _print_first(title, table)
        if not summary.report.counts:
            typer.echo("no lines with problems")
        if plot is not None:
            from stumpery.system.extras import need

            need("matplotlib", "study").use("agg")
            summary.plot().figure.savefig(plot, dpi=150, bbox_inches="tight")
            typer.echo(f"wrote {plot}")


@app.command(epilog="Example: stumpery logs convert events.dsjson.gz --out events.parquet")
def convert(
    files: Files,
    out: Annotated[Path, typer.Option(help="The file to write: .parquet or .jsonl is our own format, .dsjson, .cb.")],
    file_format: Format = "auto",
    action: Action = None,
    reward: Reward = None,
    probability: Probability = None,
    time: Time = None,
    event_id: EventId = None,
    column: Column = None,
    no_feedback: NoFeedback = "skip",
    encoding: Encoding = None,
    lenient: Lenient = False,
) -> None:
    """Write a log in another format."""
    with user_errors():
        names = _names(action, reward, probability, time, event_id)
        log = open_log(files, file_format, names, column, no_feedback, encoding, is_lenient=lenient)
        from stumpery import logs

        with log_progress("convert", log) as advance:
            rows, left_out = logs.write(log, out, progress=advance)
        _print_problems(log)
        typer.echo(f"wrote {out}: {rows:,} rows" + (f", {left_out:,} left out" if left_out else ""))


@app.command(epilog="Example: stumpery logs learn events.dsjson.gz --out policy.safetensors")
def learn(
    files: Files,
    out: Annotated[Path, typer.Option(help="The file for the policy.")],
    policy: Annotated[
        str, typer.Option(help="The class of the policy, such as RewardForest or LinUCB.")
    ] = "RewardForest",
    start: Annotated[Path | None, typer.Option(help="A saved policy to go on with, instead of a new one.")] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help="The most memory of the policy, where it has this option.")
    ] = None,
    seed: Seed = 0,
    file_format: Format = "auto",
    action: Action = None,
    reward: Reward = None,
    probability: Probability = None,
    time: Time = None,
    event_id: EventId = None,
    column: Column = None,
    no_feedback: NoFeedback = "skip",
    encoding: Encoding = None,
    lenient: Lenient = False,
) -> None:
    """Learn a policy from a log, and save it."""
    with user_errors():
        names = _names(action, reward, probability, time, event_id)
        log = open_log(files, file_format, names, column, no_feedback, encoding, is_lenient=lenient)
        import stumpery as st

        options = {"seed": seed} | ({} if max_bytes is None else {"max_bytes": max_bytes})
        check_target(resolved(as_path(out)))  # before the log is read
        learner = _new_policy(policy, log, options) if start is None else saved_policy(start)
        with log_progress("learn", log) as advance:
            learner.learn_log(log, progress=advance)
        st.save(learner, out)
        _print_problems(log)
        _print_first("Actions", _learned(learner))
        typer.echo(f"wrote {out}: {type(learner).__name__}, {log.report.rows:,} rows, {learner.n_bytes:,} bytes")


def open_log(
    files: list[Path],
    file_format: str,
    names: dict[str, str | None],
    columns: list[str] | None,
    no_feedback: str,
    encoding: str | None,
    *,
    is_lenient: bool,
) -> "Log":
    """A log by the options of a command."""
    from stumpery import logs

    try:
        reward_without: str | float = no_feedback if no_feedback == "skip" else float(no_feedback)
    except ValueError:
        reward_without = no_feedback
    return logs.read(
        files,
        format=file_format,
        on_error="lenient" if is_lenient else "strict",
        no_feedback=reward_without,
        columns=columns or None,
        encoding=encoding,
        action=names["action"],
        reward=names["reward"],
        probability=names["probability"],
        time=names["time"],
        event_id=names["event_id"],
    )


@contextmanager
def log_progress(title: str, log: "Log") -> Iterator[Callable[[int], None]]:
    """A bar over a log: the share of the file, rows a second, the time left."""
    with share_progress(title) as advance:
        yield lambda n_rows: advance(n_rows, log.share_read)


def _names(
    action: str | None, reward: str | None, probability: str | None, time: str | None, event_id: str | None
) -> dict[str, str | None]:
    return {"action": action, "reward": reward, "probability": probability, "time": time, "event_id": event_id}


def _new_policy(name: str, log: "Log", options: dict[str, Any]) -> "Policy":
    """A new policy of a class by its name, with the log's actions and range of rewards."""
    import inspect as signatures

    from stumpery import policies
    from stumpery.errors import InvalidInput
    from stumpery.options import check_known

    check_known("policy", name, [each for each in policies.__all__ if each not in NO_POLICIES])
    kind = getattr(policies, name)
    taken = signatures.signature(kind).parameters
    for option in options:
        if option not in taken:
            raise InvalidInput(f"{name} has no option {option}")
    with log_progress("find actions", log) as advance:
        log.scan(progress=advance)
    made: Policy = kind(actions=log.actions, reward_range=log.reward_range, **options)
    return made


def saved_policy(path: Path) -> "Policy":
    """A policy from a file; an InvalidInput if that holds something else."""
    import stumpery as st
    from stumpery.errors import InvalidInput
    from stumpery.policies import Policy

    loaded = st.load(path)
    if not isinstance(loaded, Policy):
        raise InvalidInput(f"{path} holds a {type(loaded).__name__}; only a policy learns from a log")
    return loaded


def _learned(policy: "Policy") -> list[dict[str, Any]]:
    """What a policy has learned of each action."""
    from stumpery.errors import StumperyError

    try:
        rows = policy.explain().rows
    except StumperyError:  # a contextual policy that had no row
        return []
    return [{name: row.get(name) for name in ("action", "n", "mean")} for row in rows]


def _print_first(title: str, table: Sequence[Mapping[str, Any]]) -> None:
    """Print a table, of a long one the first rows."""
    print_table(title, [dict(row) for row in table[:MAX_SHOWN_ROWS]])
    if len(table) > MAX_SHOWN_ROWS:
        typer.echo(f"and {len(table) - MAX_SHOWN_ROWS:,} more")


def _print_problems(log: "Log") -> None:
    if log.report.table:
        print_table("Lines with problems", [dict(row) for row in log.report.table])
