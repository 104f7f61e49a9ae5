"""Commands `stumpery logs inspect`, `convert`, `split` and `learn`: logs of decisions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stumpery.cli.log_options import Lenient, LogOptions, log_progress, print_problems, reads_log
from stumpery.cli.parameters import Jobs, Ray, Seed, chosen_executor
from stumpery.cli.progress import event_progress
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


@app.command(epilog="Example: stumpery logs inspect events.dsjson.gz")
@reads_log
def inspect(
    options: LogOptions,
    plot: Annotated[Path | None, typer.Option(help="A picture to write: the mean reward along the log.")] = None,
    jobs: Jobs = None,
    ray: Ray = None,
) -> None:
    """Print a log's actions, rewards, probabilities, columns and lines with problems."""
    log = options.open(is_lenient=True)
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
@reads_log
def convert(
    options: LogOptions,
    out: Annotated[Path, typer.Option(help="The file to write: .parquet or .jsonl is our own format, .dsjson, .cb.")],
    lenient: Lenient = False,
) -> None:
    """Write a log in another format."""
    log = options.open(is_lenient=lenient)
    from stumpery import logs

    with log_progress("convert", log) as advance:
        rows, left_out = logs.write(log, out, progress=advance)
    print_problems(log)
    typer.echo(f"wrote {out}: {rows:,} rows" + (f", {left_out:,} left out" if left_out else ""))


@app.command(epilog="Example: stumpery logs split events.parquet --key tenant --files 64 --out tenants")
@reads_log
def split(
    options: LogOptions,
    key: Annotated[str, typer.Option(help="The column of keys, such as tenants.")],
    out: Annotated[Path, typer.Option(help="The folder for the files.")],
    n_files: Annotated[int, typer.Option("--files", help="Files; all rows of a key are in one.")] = 16,
    lenient: Lenient = False,
) -> None:
    """Write a log as several Parquet files, the rows of each key in one of them."""
    log = options.open(is_lenient=lenient)
    from stumpery import logs

    with log_progress("split", log) as advance:
        rows, left_out = logs.write_by_key(log, out, key=key, n_files=n_files, progress=advance)
    print_problems(log)
    typer.echo(f"wrote {out}: {rows:,} rows" + (f", {left_out:,} without a key left out" if left_out else ""))


@app.command(epilog="Example: stumpery logs learn events.dsjson.gz --out policy.safetensors")
@reads_log
def learn(
    options: LogOptions,
    out: Annotated[Path, typer.Option(help="The file for the policy; a folder for several policies or a key.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="The class of the policy, such as LinUCB; RewardForest by default. Repeatable: several learn at once."
        ),
    ] = None,
    start: Annotated[
        list[Path] | None, typer.Option(help="A saved policy to go on with, instead of a new one; repeatable.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A column: a policy for each of its values, from files that split has written.")
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help="The most memory of the policy, where it has this option.")
    ] = None,
    seed: Seed = 0,
    lenient: Lenient = False,
    jobs: Jobs = None,
    ray: Ray = None,
) -> None:
    """Learn policies from a log, and save them."""
    log = options.open(is_lenient=lenient)
    import stumpery as st
    from stumpery.errors import InvalidInput

    given = {"seed": seed} | ({} if max_bytes is None else {"max_bytes": max_bytes})
    names = policy or ([] if start else ["RewardForest"])
    if len(names) + len(start or []) == 1 and key is None:
        check_target(resolved(as_path(out)))  # before the log is read
    policies = {name: _new_policy(name, log, given) for name in names}
    policies |= {path.stem: saved_policy(path) for path in start or []}
    with chosen_executor(jobs, ray) as executor:
        if key is not None:
            if start or len(policies) > 1:
                raise InvalidInput("--key takes one --policy, of which each key gets its own")
            with event_progress("learn", log.n_rows or 0) as advance:
                recipe = next(iter(policies.values()))
                learned = st.logs.learn_by_key(log, recipe, out, key=key, executor=executor, progress=advance)
            typer.echo(f"wrote {out}: {len(learned):,} policies, {learned.n_rows:,} rows")
            return
        if len(policies) > 1:
            with event_progress("learn", len(policies) * (log.scan().n_rows or 0)) as advance:
                found = st.logs.learn(log, policies, executor=executor, progress=advance)
            out.mkdir(parents=True, exist_ok=True)
            for name, each in found.items():
                st.save(each, out / f"{name}.safetensors")
            typer.echo(f"wrote {out}: {', '.join(f'{name}.safetensors' for name in found)}")
            return
    (learner,) = policies.values()
    with log_progress("learn", log) as advance:
        learner.learn_log(log, progress=advance)
    st.save(learner, out)
    print_problems(log)
    _print_first("Actions", _learned(learner))
    typer.echo(f"wrote {out}: {type(learner).__name__}, {log.report.rows:,} rows, {learner.n_bytes:,} bytes")


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
