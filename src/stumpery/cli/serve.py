"""Command `stumpery serve`: the decision service."""

from pathlib import Path
from typing import Annotated

import typer

from stumpery.cli.errors import user_errors
from stumpery.system.garbage_collection import paused_collection


def serve(
    site: Annotated[Path | None, typer.Argument(help="A TOML file with the settings of the site.")] = None,
    actions: Annotated[str | None, typer.Option(help="Actions of a policy named default, separated by commas.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder of the log; stumpery-site by default.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; this machine alone by default.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 8321 by default, and 0 chooses a free one.")] = None,
    log: Annotated[str | None, typer.Option(help="postgresql://... instead of a file in the folder.")] = None,
    role: Annotated[str | None, typer.Option(help="server, decider or learner, where several serve one log.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of this process; its machine and port by default.")] = None,
) -> None:
    """Serve decisions over HTTP: decide, reward, explain; every answer is on the disk before it leaves."""
    with user_errors(), paused_collection():  # until it serves
        from stumpery.system.extras import need

        for module in ("msgspec", "apsw", "starlette", "uvicorn"):
            need(module, "service")
        from stumpery.service.http.structured_logging import set_up_logging
        from stumpery.service.server import serve as serve_site
        from stumpery.service.settings import site_of

        settings = site_of(site, actions=actions, folder=folder, host=host, port=port, log=log, role=role, name=name)
        set_up_logging(settings.log_format)
        serve_site(settings, lambda address: typer.echo(f"stumpery serves {address} (its page shows what it earns)"))
