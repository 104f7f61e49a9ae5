"""Our trees and forests on all datasets, test then learn, with river's and MOA's beside them when installed.

MOA's forest and river's models are slow: they see at most `FEW` rows of a stream, and what is ours is measured on as
many, so that a line compares like with like.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from shutil import which
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.moa import run_moa
from stumpery.evaluation.play import Progress
from stumpery.evaluation.prequential import prequential
from stumpery.extras import need
from stumpery.studies.stream_sources import TARGETS, Source, source
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, once, weighed
from stumpery.studies.table import TableResult
from stumpery.trees import ForestClassifier, HoeffdingTreeClassifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TREES = 10
FEW = 50_000
LONG_RUN = 40_000
MARGIN = 0.005  # of accuracy that may be lost on a dataset
WIDTHS = (10, 20, 40, 80)
N_WINDOWS = 8
Row = dict[str, Any]


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Every learner on every dataset, then what an event costs along a stream and by columns."""
    rows: list[Row] = []
    for name in TARGETS:
        rows += once(parts, name, settings.steps, progress, partial(on_dataset, name, settings, progress))
    costs = once(parts, "costs", settings.steps, progress, lambda: all_costs(settings, progress))
    return Outcome(
        result=TableResult(rows + costs),
        table=[line(name, rows) for name in TARGETS],
        findings=weighed(claims(rows, costs), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(rows, costs),
    )


def learners() -> dict[str, tuple[int | None, Callable[[Source], dict[str, float]]]]:
    """Who learns, on at most how many rows."""
    found: dict[str, tuple[int | None, Callable[[Source], dict[str, float]]]] = {
        "tree": (None, lambda data: ours(HoeffdingTreeClassifier(), data)),
        "forest": (FEW, lambda data: ours(ForestClassifier(n_models=N_TREES), data)),
    }
    if find_spec("capymoa") and which("java"):
        found["MOA tree"] = (None, lambda data: of_moa("HoeffdingTree", data))
        found["MOA forest"] = (FEW, lambda data: of_moa("AdaptiveRandomForestClassifier", data, ensemble_size=N_TREES))
    if find_spec("river"):
        found["river tree"] = (FEW, lambda data: ours(need("river.tree", "bench").HoeffdingTreeClassifier(), data))
    return found


def on_dataset(name: str, settings: Settings, progress: Progress) -> list[Row]:
    """A row for each learner."""
    rows = []
    for learner, (most, measure) in learners().items():
        data = source(name, min(settings.steps, most or settings.steps), settings.seed)
        rows.append({"about": name, "learner": learner, "events": len(data.labels), **measure(data)})
    progress(settings.steps)
    return rows


def ours(model: Any, data: Source) -> dict[str, float]:
    """Accuracy, speed and memory of a model with river's verbs."""
    found = prequential({"model": model}, data.rows, data.labels).final()[0]
    return {name: float(found[name]) for name in ("accuracy", "events_per_s", "n_bytes")}


def of_moa(learner: str, data: Source, **options: Any) -> dict[str, float]:
    """Accuracy and speed of one of MOA's; it does not say how large it is."""
    columns = {name: data.rows[name].to_list() for name in data.rows.columns}
    found = run_moa(learner, columns, data.labels, **options)
    return {"accuracy": found.accuracy, "events_per_s": found.events_per_s, "n_bytes": float("nan")}


def all_costs(settings: Settings, progress: Progress) -> list[Row]:
    """Processor time of an event along a stream, and by the number of columns."""
    rng = np.random.default_rng(settings.seed)
    n = max(settings.steps // N_WINDOWS, 1) * N_WINDOWS
    matrix = rng.random((n, max(WIDTHS)), dtype=np.float32)
    labels = (matrix[:, 0] > 0.5).astype(int) + (matrix[:, 1] + matrix[:, 2] > 1.0)
    HoeffdingTreeClassifier().learn_many(matrix[:50], labels[:50])  # compiles
    rows, model = [], HoeffdingTreeClassifier(max_bytes=16_000_000)
    for window in range(N_WINDOWS):
        part = slice(window * n // N_WINDOWS, (window + 1) * n // N_WINDOWS)
        start = process_time()
        model.learn_many(matrix[part, : WIDTHS[0]], labels[part])
        spent = process_time() - start
        rows.append(cost_row("events", part.stop, spent, part.stop - part.start))
    for width in WIDTHS:
        start = process_time()
        HoeffdingTreeClassifier(max_bytes=16_000_000).learn_many(matrix[: n // 4 or 1, :width], labels[: n // 4 or 1])
        rows.append(cost_row("columns", width, process_time() - start, n // 4 or 1))
    progress(settings.steps)
    return rows


def cost_row(about: str, number: int, seconds: float, n: int) -> Row:
    """What an event costs, in the columns of the other rows; its speed is there, nothing else is."""
    speed = n / max(seconds, 1e-9)
    return {"about": about, "learner": str(number), "events": n, "accuracy": 0.0, "events_per_s": speed, "n_bytes": 0.0}


def of(rows: Sequence[Row], name: str, learner: str, what: str) -> float:
    """One figure; NaN where a learner is not installed."""
    found = [row[what] for row in rows if (row["about"], row["learner"]) == (name, learner)]
    return float(found[0]) if found else float("nan")


def line(name: str, rows: Sequence[Row]) -> Row:
    """A dataset in one line: accuracies, and our events a second."""
    own = [row for row in rows if row["about"] == name]
    speeds = {f"{each} events/s": of(rows, name, each, "events_per_s") for each in ("tree", "forest")}
    return {"dataset": name, **{row["learner"]: round(row["accuracy"], 4) for row in own}, **speeds}


def claims(rows: Sequence[Row], costs: Sequence[Row]) -> list[Finding]:
    """Beside MOA on every dataset and on average, and that the cost is flat and linear."""
    found = []
    for learner in ("tree", "forest"):
        if any(row["learner"] == f"MOA {learner}" for row in rows):
            gaps = {n: of(rows, n, learner, "accuracy") - of(rows, n, f"MOA {learner}", "accuracy") for n in TARGETS}
            worst = min(gaps, key=lambda name: gaps[name])
            mean = float(np.mean(list(gaps.values())))
            holds = gaps[worst] >= -MARGIN and mean > 0
            evidence = f"{mean:+.4f} on average, {gaps[worst]:+.4f} on {worst}"
            found.append(finding(f"our {learner} is as accurate as MOA's or more", holds=holds, evidence=evidence))
    along = [1e6 / row["events_per_s"] for row in costs if row["about"] == "events"]
    early, late = float(np.mean(along[1 : N_WINDOWS // 2])), float(np.mean(along[N_WINDOWS // 2 :]))
    evidence = f"{early:.2f} us an event before the middle, {late:.2f} us after it"
    found.append(
        finding("an event costs the same however long the stream", holds=late < 1.5 * early, evidence=evidence)
    )
    wide = [1e6 / row["events_per_s"] for row in costs if row["about"] == "columns"]
    ratio = wide[-1] / wide[0] / (WIDTHS[-1] / WIDTHS[0])
    evidence = f"{wide[0]:.2f} us with {WIDTHS[0]} columns, {wide[-1]:.2f} us with {WIDTHS[-1]}"
    found.append(finding("the cost is at most linear in the columns", holds=ratio < 1.2, evidence=evidence))
    return found


def draw(rows: Sequence[Row], costs: Sequence[Row]) -> "Figure":
    """Accuracies by dataset, and costs."""
    figure: Figure
    plots = need("matplotlib.pyplot", "study")
    figure, panels = plots.subplots(1, 3, figsize=(14, 4.2), layout="constrained", width_ratios=(3, 1, 1))
    names = list(dict.fromkeys(row["learner"] for row in rows))
    for place, learner in enumerate(names):
        across = np.arange(len(TARGETS)) + (place - len(names) / 2) * 0.8 / len(names)
        panels[0].bar(across, [of(rows, n, learner, "accuracy") for n in TARGETS], 0.8 / len(names), label=learner)
    panels[0].set(xticks=range(len(TARGETS)), xticklabels=TARGETS, ylim=(0.4, 1.0), ylabel="accuracy, test then learn")
    panels[0].legend()
    for panel, about in ((panels[1], "events"), (panels[2], "columns")):
        own = [row for row in costs if row["about"] == about]
        panel.plot([int(row["learner"]) for row in own], [1e6 / row["events_per_s"] for row in own], "o-")
        panel.set(xlabel=about, ylabel="microseconds an event", ylim=(0, None))
    figure.suptitle("Trees and forests on streams")
    return figure


STUDY = Study(
    name="streams",
    title="Our trees and forests on all datasets, beside MOA's and river's",
    source="Stumpery's own",
    steps=100_000,
    trials=1,
    n_events=lambda settings: (len(TARGETS) + 1) * settings.steps,
    run=run,
)
