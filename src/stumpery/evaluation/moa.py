"""MOA's learners, through CapyMOA, on the same rows: test, then learn, in MOA's own loop."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from stumpery.extras import need

WINDOW = 1000


class MoaRun(NamedTuple):
    """What MOA's loop gave."""

    accuracy: float
    events_per_s: float


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
    return MoaRun(measured, len(labels) / seconds)


def one_by_one(stream: Any, model: Any, n: int) -> MoaRun:
    """Predict and train, called from Python for every event."""
    right, start = 0, perf_counter()
    while stream.has_more_instances():
        event = stream.next_instance()
        right += model.predict(event) == event.y_index
        model.train(event)
    return MoaRun(right / n, n / (perf_counter() - start))


def arff(columns: Mapping[str, Sequence[Any]], labels: Sequence[Any]) -> str:
    """Rows in MOA's format: strings as names, everything else as numbers; names and classes are numbered."""
    lines = ["@relation stream"]
    written: list[list[str]] = []
    for place, values in enumerate([*columns.values(), labels]):
        is_name = place == len(columns) or isinstance(values[0], str)
        codes = {value: f"v{code}" for code, value in enumerate(dict.fromkeys(values))} if is_name else {}
        lines.append(f"@attribute a{place} " + (f"{{{','.join(codes.values())}}}" if is_name else "numeric"))
        written.append([codes[value] if is_name else repr(float(value)) for value in values])
    lines.append("@data")
    lines += [",".join(row) for row in zip(*written, strict=True)]
    return "\n".join(lines) + "\n"
