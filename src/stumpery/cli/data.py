"""Commands `stumpery data list`, `fetch` and `path`: datasets by name."""

from typing import Annotated

import typer

from stumpery.cli.errors import user_errors
from stumpery.cli.progress import download_progress
from stumpery.cli.tables import print_table

app = typer.Typer(help="Datasets: list, download and locate them.", no_args_is_help=True, rich_markup_mode=None)


def _dataset_names() -> list[str]:
    from stumpery.streams.datasets.registry import DATASETS

    return list(DATASETS)


@app.command("list", epilog="Example: stumpery data list")
def list_datasets() -> None:
    """List the datasets, their sizes, and where each would come from."""
    from stumpery.streams.datasets import load as loading

    with user_errors():
        print_table("Datasets", [row._asdict() for row in loading.available()])


@app.command("fetch", epilog="Example: stumpery data fetch nursery")
def fetch(name: Annotated[str, typer.Argument(help="A dataset's name.", autocompletion=_dataset_names)]) -> None:
    """Download a dataset from its public origin, verify its checksum and keep it in the cache."""
    from stumpery.streams.datasets import load as loading
    from stumpery.streams.datasets.registry import find

    with user_errors():
        if find(name).format == "scikit-learn":
            typer.echo(f"{name} comes with scikit-learn: there is nothing to fetch")
            return
        with download_progress(name) as progress:
            path = loading.fetch(name, progress=progress)
        typer.echo(path)


@app.command("path", epilog="Example: stumpery data path nursery")
def print_path(
    name: Annotated[
        str | None,
        typer.Argument(help="A dataset's name; by default the folder of all.", autocompletion=_dataset_names),
    ] = None,
) -> None:
    """Print the path of a dataset's file, or the folder in which datasets are looked up first."""
    from stumpery.streams.datasets import load as loading

    with user_errors():
        typer.echo(loading.path(name) if name else loading.data_folder() or loading.cache_folder())
