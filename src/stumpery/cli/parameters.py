"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Steps = Annotated[int | None, typer.Option(help="Events in each trial.")]
Trials = Annotated[int | None, typer.Option(help="Repetitions, each with its own seed.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same figures.")]
Threads = Annotated[int, typer.Option(help="Trials run in parallel.")]
Out = Annotated[Path | None, typer.Option(help="Output folder; out/NAME by default.")]
