"""Command line: a file for each of `stumpery demo`, `study`, `plan`, `bench`, `data`, `logs`, `serve` and `service`.

Heavy imports stand inside the commands, so that help and shell completion need neither NumPy nor Numba.
"""

from typing import Annotated

import typer

from stumpery.cli import bench, data, demo, evaluate_log, logs, plan, serve, service, study

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command(epilog="Example: stumpery demo --steps 10000 --trials 5")(demo.demo)
app.command(epilog="Example: stumpery study bandits-101 --trials 20 --out out/quick")(study.study)
app.command(epilog="Example: stumpery plan --actions 7 --variables 94 --depth 14 --trees 100 --epsilon 0.4")(plan.plan)
app.command(epilog="Example: stumpery bench --only bandits")(bench.bench)
app.command(epilog="Example: stumpery serve --actions news,sport,film")(serve.serve)
app.add_typer(data.app, name="data")
logs.app.command(epilog="Example: stumpery logs evaluate events.dsjson.gz --policy policy.safetensors --always news")(
    evaluate_log.evaluate
)
app.add_typer(logs.app, name="logs")
app.add_typer(service.app, name="service")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"stumpery {version('stumpery')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


@app.callback()
def main(version: Version = False) -> None:
    """Contextual bandits and online learning with trees."""
