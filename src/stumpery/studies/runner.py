"""Run a study: progress on the screen, parts kept on the way, result.json, result.csv and a picture in the end."""

import hashlib
import json
import platform
import shutil
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stumpery import jit
from stumpery.evaluation.play import Progress
from stumpery.evaluation.result import json_text
from stumpery.extras import need
from stumpery.files import write_whole
from stumpery.studies.parts import FolderParts
from stumpery.studies.study import Outcome, Settings, Study

LIBRARIES = ("stumpery", "numpy", "numba", "narwhals", "polars", "scikit-learn", "matplotlib")


def run_study(study: Study, settings: Settings, out: Path, progress: Progress) -> tuple[Outcome, list[Path]]:
    """Do all of `study`, or what an interrupted run of the same settings left undone; give also the files written."""
    need("matplotlib", "study").use("agg")
    out.mkdir(parents=True, exist_ok=True)
    parts = FolderParts(out / "parts" / _key(study, settings))
    outcome = study.run(settings, parts, progress)
    files = [out / "result.json", out / "result.csv", out / f"{study.name}.png"]
    content = {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "settings": asdict(settings),
        "versions": versions(),
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
    shutil.rmtree(out / "parts", ignore_errors=True)
    return outcome, files


def versions() -> dict[str, str]:
    """What the figures were made with."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _key(study: Study, settings: Settings) -> str:
    """Parts of other settings, another version or other kernels are not ours."""
    described: dict[str, Any] = {key: value for key, value in asdict(settings).items() if key != "threads"}
    text = json.dumps([study.name, described, versions(), jit.fingerprint()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
