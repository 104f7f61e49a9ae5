"""MOA's learners, through CapyMOA, on the same rows: test, then learn, in MOA's own loop.

MOA asks a Java agent for the sizes of its objects. The agent's classes are in MOA's jar, but a jar must name its agent
to be one, so a small jar is made of them before Java starts.
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
    """What MOA's loop gave."""

    accuracy: float
    events_per_s: float
    n_bytes: float  # of the learner's Java objects; NaN where Java had been started without the agent


def run_moa(
    learner: str,
    columns: Mapping[str, Sequence[Any]],
    labels: Sequence[Any],
    *,
    from_python: bool = False,
    **options: Any,
) -> MoaRun:
    """In MOA's own loop, or `from_python` event by event through CapyMOA's verbs.

    The accuracy over all events and the events a second of a learner of `capymoa.classifier`.
    """
    start_with_agent()
    streams, classifiers = need("capymoa.stream", "moa"), need("capymoa.classifier", "moa")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.arff"
        path.write_text(arff(columns, labels), encoding="utf-8")
        stream = streams.ARFFStream(str(path))
        model = getattr(classifiers, learner)(schema=stream.get_schema(), **options)
        if from_python:
            return one_by_one(stream, model, len(labels))
        start = perf_counter()
        found = need("capymoa.evaluation", "moa").prequential_evaluation(stream, model, window_size=WINDOW)
        seconds = perf_counter() - start
    measured = float(found.cumulative.accuracy()) / 100.0
    return MoaRun(measured, len(labels) / seconds, size_of(model))


def one_by_one(stream: Any, model: Any, n: int) -> MoaRun:
    """Predict and train, called from Python for every event."""
    right, start = 0, perf_counter()
    while stream.has_more_instances():
        event = stream.next_instance()
        right += model.predict(event) == event.y_index
        model.train(event)
    return MoaRun(right / n, n / (perf_counter() - start), size_of(model))


def size_of(model: Any) -> float:
    """The bytes of a learner's objects, as MOA measures them."""
    return float(model.moa_learner.measureByteSize()) or float("nan")


@cache
def start_with_agent() -> None:
    """Let Java start with the agent; where it runs already, nothing can be done."""
    found = find_spec("capymoa")
    if found is None or found.origin is None or "capymoa" in sys.modules:
        return
    folder = tempfile.TemporaryDirectory(prefix="stumpery-")
    atexit.register(folder.cleanup)
    jar = Path(folder.name) / "sizes.jar"
    with zipfile.ZipFile(Path(found.origin).parent / "jar" / "moa.jar") as moa, zipfile.ZipFile(jar, "w") as agent:
        agent.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nPremain-Class: {AGENT.replace('/', '.')}\n")
        for name in moa.namelist():
            if name.startswith(AGENT.rpartition("/")[0]) and name.endswith(".class"):
                agent.writestr(name, moa.read(name))
    before = os.environ.get("CAPYMOA_JVM_ARGS", JAVA_OPTIONS)
    os.environ["CAPYMOA_JVM_ARGS"] = f"{before} -javaagent:{jar} {OPENED}"


def arff(columns: Mapping[str, Sequence[Any]], labels: Sequence[Any]) -> str:
    """Rows in MOA's format: strings as names, everything else as numbers; names and classes are numbered."""
    lines = ["@relation stream"]
    written: list[list[str]] = []
    for place, values in enumerate([*columns.values(), labels]):
        is_categorical = place == len(columns) or isinstance(values[0], str)
        codes = {value: f"v{code}" for code, value in enumerate(dict.fromkeys(values))} if is_categorical else {}
        lines.append(f"@attribute a{place} " + (f"{{{','.join(codes.values())}}}" if is_categorical else "numeric"))
        written.append([codes[value] if is_categorical else repr(float(value)) for value in values])
    lines.append("@data")
    lines += [",".join(row) for row in zip(*written, strict=True)]
    return "\n".join(lines) + "\n"
