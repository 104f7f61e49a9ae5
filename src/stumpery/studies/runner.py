"""Run a study: progress, resumable parts, and the files result.json, result.csv and a plot."""

import hashlib
import json
import platform
import shutil
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import stumpery
from stumpery.evaluation.events import Progress
from stumpery.evaluation.result import json_text
from stumpery.studies.finished_parts import FolderParts
from stumpery.studies.study import Outcome, Settings, Study
from stumpery.system.extras import need
from stumpery.system.writing import write_whole

LIBRARIES = ("stumpery", "numpy", "numba", "narwhals", "jax", "polars", "scikit-learn", "matplotlib")


def run_study(study: Study, settings: Settings, out: Path, progress: Progress) -> tuple[Outcome, list[Path]]:
    """Run `study`, resuming an interrupted run of the same settings; returns the outcome and the files written."""
    need("matplotlib", "study").use("agg")
    out.mkdir(parents=True, exist_ok=True)
    parts = FolderParts(out / "parts" / _key(study, settings))
    is_resumed, start = len(parts) > 0, perf_counter()
    outcome = study.run(settings, parts, progress)
    seconds = None if is_resumed else round(perf_counter() - start, 1)  # of the whole run
    files = [out / "result.json", out / "result.csv", out / f"{study.name}.png"]
    content = {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "settings": settings.numbers(),
        "versions": versions(),
        "seconds": seconds,
        **outcome.result.summary(),
        "table": outcome.table,
        "findings": [entry._asdict() for entry in outcome.findings],
        "curves": outcome.result.columns(),
    }
    write_whole(files[0], json_text(content).encode())
    outcome.result.to_csv(files[1])
    figure = outcome.draw()
    figure.savefig(files[2], dpi=150, bbox_inches="tight")
    need("matplotlib.pyplot", "study").close(figure)
    shutil.rmtree(parts.folder, ignore_errors=True)
    with suppress(OSError):  # not empty: parts of other settings
        parts.folder.parent.rmdir()
    return outcome, files


def versions() -> dict[str, str]:
    """Versions of Python and the libraries that the results depend on."""
    installed = {"python": platform.python_version(), "machine": platform.machine()}
    for library in LIBRARIES:
        try:
            installed[library] = version(library)
        except PackageNotFoundError:
            continue
    return installed


def _sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(stumpery.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _key(study: Study, settings: Settings) -> str:
    """A hash of settings, versions and source code: parts made with others are not resumed."""
    described: dict[str, Any] = {key: value for key, value in settings.numbers().items() if key != "threads"}
    text = json.dumps([study.name, described, versions(), _sources()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
