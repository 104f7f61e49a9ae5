"""Command `stumpery logs evaluate`: what policies would have earned on a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stumpery.cli.log_options import Lenient, LogOptions, log_progress, print_problems, reads_log
from stumpery.cli.logs import saved_policy
from stumpery.cli.parameters import Seed

if TYPE_CHECKING:
    from stumpery.logs import Log


@reads_log
def evaluate(
    options: LogOptions,
    policy: Annotated[list[Path] | None, typer.Option(help="A saved policy, evaluated frozen; repeatable.")] = None,
    learning: Annotated[
        list[Path] | None, typer.Option(help="A saved policy, evaluated as it learns along the log; repeatable.")
    ] = None,
    always: Annotated[list[str] | None, typer.Option(help="An action that is always taken; repeatable.")] = None,
    uniform: Annotated[bool, typer.Option("--uniform", help="Uniformly drawn actions.")] = False,
    slices: Annotated[str | None, typer.Option(help="A column of contexts: estimates for each of its values.")] = None,
    level: Annotated[float, typer.Option(help="The coverage of intervals.")] = 0.95,
    least_probability: Annotated[
        float | None, typer.Option(help="The least probability of any action; narrows the any-time intervals.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for report.json, report.csv and report.png.")] = None,
    seed: Seed = 0,
    lenient: Lenient = False,
) -> None:
    """Estimate what policies would have earned on a log, with intervals (off-policy evaluation)."""
    log = options.open(is_lenient=lenient)
    import stumpery as st

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with log_progress("find actions", log) as advance:
        log.scan(progress=advance)
    policies = named_policies(log, policy or [], learning or [], always or [], uniform=uniform)
    with log_progress("evaluate", log) as advance:
        report = st.evaluate(
            log,
            policies,
            slices=slices,
            level=level,
            least_probability=least_probability,
            seed=seed,
            progress=advance,
        )
    typer.echo(str(report))
    print_problems(log)
    if out is not None:
        report.to_json(out / "report.json")
        report.to_csv(out / "report.csv")
        figure: Any = report.plot().figure
        figure.savefig(out / "report.png")
        typer.echo(f"wrote {out}: report.json, report.csv, report.png")


def named_policies(
    log: "Log", frozen: list[Path], learning: list[Path], always: list[str], *, uniform: bool
) -> dict[str, Any]:
    """The policies of a command line by name; a saved one has the name of its file."""
    import stumpery as st
    from stumpery.errors import InvalidInput

    found: dict[str, Any] = {}
    for path in frozen:
        found[path.stem] = saved_policy(path)
    for path in learning:
        found[f"{path.stem}, learning"] = st.evaluation.Progressive(saved_policy(path))
    by_text = {str(action): action for action in log.actions}
    for text in always:
        found[f"always {text}"] = by_text.get(text, text)
    if uniform:
        found["uniform"] = st.policies.RandomPolicy(actions=log.actions, reward_range=log.reward_range)
    if not found:
        raise InvalidInput("nothing is to be evaluated: give --policy, --learning, --always or --uniform")
    return found
