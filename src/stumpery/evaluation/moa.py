"""Prequential evaluation of MOA's learners through CapyMOA, as peers of ours on the same rows.

MOA asks a Java agent for the sizes of its objects. The agent's classes are in MOA's jar, but Java loads an
agent only from a jar whose manifest names it, so a small jar is written before Java starts.
"""

import atexit
import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from stumpery.system.extras import need

WINDOW = 1000
AGENT = "sizeof/agent/SizeOfAgent"
OPENED = "--add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/java.lang=ALL-UNNAMED"  # to the agent
JAVA_OPTIONS = "-Xmx8g -Xss10M"  # as CapyMOA starts it


class MoaRun(NamedTuple):
    """Accuracy, speed and memory of one of MOA's learners."""

    accuracy: float
    events_per_s: float
    n_bytes: float  # of the learner's Java objects; NaN where Java was started without the agent


def run_moa(
    learner: str,
    columns: Mapping[str, Sequence[Any]],
    labels: Sequence[Any],
    *,
    from_python: bool = False,
    **options: Any,
) -> MoaRun:
    """Evaluate a learner of `capymoa.classifier`: each event tests it, then it learns the event.

    It runs in MOA's own loop; with `from_python` every event is a call from Python.
    """
    start_with_agent()
    streams, classifiers = need("capymoa.stream", "moa"), need("capymoa.classifier", "moa")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.arff"
        path.write_text(arff(columns, labels), encoding="utf-8")
        stream = streams.ARFFStream(str(path))
        model = getattr(classifiers, learner)(schema=stream.get_schema(), **options)
        if from_python:
            return run_from_python(stream, model, len(labels))
        start = perf_counter()
        results = need("capymoa.evaluation", "moa").prequential_evaluation(stream, model, window_size=WINDOW)
        seconds = perf_counter() - start
    accuracy = float(results.cumulative.accuracy()) / 100.0
    return MoaRun(accuracy, len(labels) / seconds, bytes_of(model))


def run_from_python(stream: Any, model: Any, n: int) -> MoaRun:
    """Predict and train with a call from Python for every event."""
    right, start = 0, perf_counter()
    while stream.has_more_instances():
        event = stream.next_instance()
        right += model.predict(event) == event.y_index
        model.train(event)
    return MoaRun(right / n, n / (perf_counter() - start), bytes_of(model))


def bytes_of(model: Any) -> float:
    """Memory of a learner's objects in bytes, as MOA measures it."""
    return float(model.moa_learner.measureByteSize()) or float("nan")


@cache
def start_with_agent() -> None:
    """Make CapyMOA start Java with the agent, unless Java runs already."""
    spec = find_spec("capymoa")
    if spec is None or spec.origin is None or "capymoa" in sys.modules:
        return
    folder = tempfile.TemporaryDirectory(prefix="stumpery-")
    atexit.register(folder.cleanup)
    jar = Path(folder.name) / "sizes.jar"
    with zipfile.ZipFile(Path(spec.origin).parent / "jar" / "moa.jar") as moa, zipfile.ZipFile(jar, "w") as agent:
        agent.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nPremain-Class: {AGENT.replace('/', '.')}\n")
        for name in moa.namelist():
            if name.startswith(AGENT.rpartition("/")[0]) and name.endswith(".class"):
                agent.writestr(name, moa.read(name))
    before = os.environ.get("CAPYMOA_JVM_ARGS", JAVA_OPTIONS)
    os.environ["CAPYMOA_JVM_ARGS"] = f"{before} -javaagent:{jar} {OPENED}"


def arff(columns: Mapping[str, Sequence[Any]], labels: Sequence[Any]) -> str:
    """Rows in the ARFF format: strings and labels as nominal attributes, everything else as numbers."""
    lines = ["@relation stream"]
    texts: list[list[str]] = []
    for index, values in enumerate([*columns.values(), labels]):
        is_categorical = index == len(columns) or isinstance(values[0], str)
        codes = {value: f"v{code}" for code, value in enumerate(dict.fromkeys(values))} if is_categorical else {}
        lines.append(f"@attribute a{index} " + (f"{{{','.join(codes.values())}}}" if is_categorical else "numeric"))
        texts.append([codes[value] if is_categorical else repr(float(value)) for value in values])
    lines.append("@data")
    lines += [",".join(row) for row in zip(*texts, strict=True)]
    return "\n".join(lines) + "\n"
