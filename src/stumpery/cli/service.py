"""Commands `stumpery service check`, `rebuild`, `export`, `backup`, `erase`, `key`, `bench` and `soak`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.tables import print_table

app = typer.Typer(help="Upkeep of a decision service.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="The site's folder.")]
Log = Annotated[str | None, typer.Option(help="postgresql://... instead of a file in the folder.")]


@app.command(epilog="Example: stumpery service check stumpery-site")
def check(
    folder: Folder,
    decisions: Annotated[bool, typer.Option(help="Also draw every decision again.")] = False,
    log: Log = None,
) -> None:
    """Check the log and its snapshots: every row, every event, and equal bits; the service must not run."""
    with user_errors():
        from stumpery.service.upkeep.checking import check as check_site

        print_table("Checked", list(check_site(folder, log, decisions=decisions)))


@app.command(epilog="Example: stumpery service rebuild stumpery-site")
def rebuild(folder: Folder, log: Log = None) -> None:
    """Rebuild the policies from the whole log, compare the bits, and save a snapshot; the service must not run."""
    with user_errors():
        from stumpery.service.upkeep.checking import rebuild as rebuild_site

        print_table("Rebuilt", list(rebuild_site(folder, log)))


@app.command(epilog="Example: stumpery service export stumpery-site default decisions.jsonl")
def export(
    folder: Folder,
    policy: Annotated[str, typer.Argument(help="The policy.")],
    path: Annotated[Path, typer.Argument(help="The file of JSON lines to write.")],
    log: Log = None,
) -> None:
    """Write decisions and their rewards as JSON lines; also while the service runs."""
    with user_errors():
        from stumpery.service.upkeep.exporting import export as export_policy

        typer.echo(f"wrote {export_policy(folder, policy, path, log):,} decisions to {path}")


@app.command(epilog="Example: stumpery service backup stumpery-site copies/monday")
def backup(folder: Folder, target: Annotated[Path, typer.Argument(help="A new folder.")], log: Log = None) -> None:
    """Copy the log to a file in a new folder; also while the service runs."""
    with user_errors():
        from stumpery.service.upkeep.copying import back_up

        typer.echo(f"copied {back_up(folder, target, log):,} events to {target}")


@app.command(epilog="Example: stumpery service erase stumpery-site user 4711")
def erase(
    folder: Folder,
    column: Annotated[str, typer.Argument(help="The column of contexts.")],
    value: Annotated[str, typer.Argument(help="The value whose contexts are erased.")],
    log: Log = None,
) -> None:
    """Erase contexts, and rebuild the policies without them; the service must not run."""
    with user_errors():
        from stumpery.service.upkeep.copying import erase as erase_contexts

        n = erase_contexts(folder, column, value, log)
        typer.echo(f"erased {n:,} contexts; the policies were rebuilt without them")


@app.command(epilog="Example: stumpery service demo --visitors 50")
def demo(
    folder: Annotated[Path | None, typer.Option(help="Folder of the log; a temporary one by default.")] = None,
    port: Annotated[int, typer.Option(help="Port; 0 chooses a free one.")] = 8321,
    visitors: Annotated[float, typer.Option(help="Simulated visitors a second.")] = 20.0,
) -> None:
    """Serve a simulated shop with visitors, whose clicks come seconds later, and a page that shows it."""
    with user_errors():
        from tempfile import TemporaryDirectory

        from stumpery.options import check_number
        from stumpery.service.demonstration import demonstrate
        from stumpery.service.http.structured_logging import set_up_logging

        check_number("visitors", visitors, 0.1, 1000.0)
        set_up_logging("text")
        with TemporaryDirectory(prefix="stumpery-") as temporary:
            where = str(folder or temporary)
            demonstrate(where, port, visitors, lambda address: typer.echo(f"open {address} (Ctrl-C ends it)"))


@app.command(epilog="Example: stumpery service key --name web --rights decide,reward")
def key(
    name: Annotated[str, typer.Option(help="A name for the key.")] = "app",
    rights: Annotated[str, typer.Option(help="Some of decide, reward, admin, with commas.")] = "decide,reward",
) -> None:
    """Make an API key: print it once, and its lines for the settings, which hold its SHA-256 alone."""
    with user_errors():
        from stumpery.service.http.security import new_key
        from stumpery.service.settings import KeySettings, converted

        secret, digest = new_key()
        given = [right.strip() for right in rights.split(",")]
        settings = converted({"name": name, "sha256": digest, "rights": given}, KeySettings, "the key")
        typer.echo(f"key: {secret}\n\n[[keys]]\nname = {json.dumps(settings.name)}\nsha256 = {json.dumps(digest)}")
        typer.echo(f"rights = {json.dumps(list(settings.rights))}")


@app.command(epilog="Example: stumpery service bench --events 100000")
def bench(
    seconds: Annotated[float, typer.Option(help="Seconds of each measurement under load.")] = 5.0,
    events: Annotated[int, typer.Option(help="Events in the log that is rebuilt.")] = 1_000_000,
    replicas: Annotated[int, typer.Option(help="So many processes on one log, instead of all else.")] = 1,
    log: Annotated[str | None, typer.Option(help="With replicas: an empty database, postgresql://...")] = None,
) -> None:
    """Measure throughput and latencies of decisions, a rebuild, and the start after kill -9: a JSON line each."""
    with user_errors():
        from tempfile import TemporaryDirectory

        from stumpery.options import check_number, check_whole
        from stumpery.service.upkeep.measuring import measure
        from stumpery.service.upkeep.measuring_replicas import measure_replicas

        check_number("seconds", seconds, 0.1, 3600.0)
        check_whole("events", events, 100)
        check_whole("replicas", replicas, 1, 64)
        if replicas == 1:
            for line in measure(seconds, events):
                typer.echo(json.dumps(line))
            return
        with TemporaryDirectory() as folder:
            for line in measure_replicas(Path(folder), replicas, seconds, log):
                typer.echo(json.dumps(line))


@app.command(epilog="Example: stumpery service soak --minutes 60")
def soak(
    minutes: Annotated[float, typer.Option(help="Minutes in which a day passes for the server.")] = 60.0,
    connections: Annotated[int, typer.Option(help="Connections that send requests one after the other.")] = 16,
) -> None:
    """Load a service for which a day passes: a JSON line each hour or so, and whether it stayed as it was."""
    with user_errors():
        from stumpery.options import check_number, check_whole
        from stumpery.service.upkeep.soaking import soak as soak_site

        check_number("minutes", minutes, 0.1, 10_000.0)
        check_whole("connections", connections, 1, 1_000)
        line = {}
        for line in soak_site(minutes, connections):
            typer.echo(json.dumps(line))
        if not line["is_flat"]:
            raise typer.Exit(1)
