"""Prequential accuracy of streaming trees and forests on all datasets, with river's and MOA's if installed.

MOA's forest and river's tree are slow: they learn at most `MAX_SLOW_ROWS` rows of a stream, and so does our forest.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from math import isnan, nan
from shutil import which
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.moa import run_moa
from stumpery.evaluation.prequential import prequential
from stumpery.streaming import ForestClassifier, HoeffdingTreeClassifier
from stumpery.studies.streaming.datasets import TARGETS, Source, source
from stumpery.studies.streaming.drift import STREAMS, draw_drift, drift_claims, drift_rows
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_TREES = 10
MAX_SLOW_ROWS = 50_000
LONG_RUN = 40_000
MARGIN = 0.005  # of accuracy that may be lost on a dataset
WIDTHS = (10, 20, 40, 80)
N_WINDOWS = 8
SMALL_TREE = "tree with MOA's memory limit"
Row = dict[str, Any]


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Measure every learner on every dataset, the time per event, and the accuracy under drift."""
    rows: list[Row] = []
    for name in TARGETS:
        rows += load_or_run(parts, name, settings.steps, progress, partial(on_dataset, name, settings, progress))
    costs = load_or_run(parts, "costs", settings.steps, progress, lambda: all_costs(settings, progress))
    drifts = load_or_run(parts, "drift", settings.steps, progress, lambda: all_drifts(settings, progress))
    return Outcome(
        result=TableResult([*rows, *costs, *({**row, "events_per_s": nan, "n_bytes": nan} for row in drifts)]),
        table=[line(name, rows) for name in TARGETS],
        findings=verdicts([*claims(rows, costs), *drift_claims(drifts)], enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(rows, costs, drifts),
    )


def learners() -> dict[str, tuple[int | None, Callable[[Source], dict[str, float]]]]:
    """The learners, and on how many rows at most each is measured."""
    learners: dict[str, tuple[int | None, Callable[[Source], dict[str, float]]]] = {
        "tree": (None, lambda data: ours(HoeffdingTreeClassifier(), data)),
        "forest": (MAX_SLOW_ROWS, lambda data: ours(ForestClassifier(n_models=N_TREES), data)),
    }
    if find_spec("capymoa") and which("java"):
        learners["MOA tree"] = (None, lambda data: of_moa("HoeffdingTree", data))
        learners["MOA forest"] = (
            MAX_SLOW_ROWS,
            lambda data: of_moa("AdaptiveRandomForestClassifier", data, ensemble_size=N_TREES),
        )
    if find_spec("river"):
        learners["river tree"] = (
            MAX_SLOW_ROWS,
            lambda data: ours(need("river.tree", "bench").HoeffdingTreeClassifier(), data),
        )
    return learners


def on_dataset(name: str, settings: Settings, progress: Progress) -> list[Row]:
    """A row for each learner."""
    rows: list[Row] = []
    compile_first()
    for learner, (most, measure) in learners().items():
        data = source(name, min(settings.steps, most or settings.steps), settings.seed)
        rows.append({"about": name, "learner": learner, "events": len(data.labels), **measure(data)})
        if learner == "MOA tree" and not isnan(rows[-1]["n_bytes"]):
            small = within(data, rows[-1]["n_bytes"])
            rows.append({"about": name, "learner": SMALL_TREE, "events": len(data.labels), **small})
    progress(settings.steps)
    return rows


@cache
def compile_first() -> None:
    """Compile both kernels before anything is timed."""
    for model in (HoeffdingTreeClassifier(), ForestClassifier(n_models=N_TREES)):
        model.test_then_learn(np.zeros((2, 1)), [0, 1])


def within(data: Source, n_bytes: float) -> dict[str, float]:
    """Our tree with a memory limit, doubled until the tree can work with it."""
    while n_bytes < HoeffdingTreeClassifier.max_bytes:
        with suppress(ValueError):
            return ours(HoeffdingTreeClassifier(max_bytes=int(n_bytes)), data)
        n_bytes *= 2
    return ours(HoeffdingTreeClassifier(max_bytes=int(n_bytes)), data)


def all_drifts(settings: Settings, progress: Progress) -> list[Row]:
    """Measure forests under drift."""
    rows = drift_rows(settings)
    progress(settings.steps)
    return rows


def ours(model: Any, data: Source) -> dict[str, float]:
    """Accuracy, speed and memory of a model with river's verbs."""
    metrics = prequential({"model": model}, data.rows, data.labels).final()[0]
    return {name: float(metrics[name]) for name in ("accuracy", "events_per_s", "n_bytes")}


def of_moa(learner: str, data: Source, **options: Any) -> dict[str, float]:
    """Accuracy, speed and memory of one of MOA's."""
    columns = {name: data.rows[name].to_list() for name in data.rows.columns}
    result = run_moa(learner, columns, data.labels, **options)
    return {"accuracy": result.accuracy, "events_per_s": result.events_per_s, "n_bytes": result.n_bytes}


def all_costs(settings: Settings, progress: Progress) -> list[Row]:
    """Processor time per event by position in the stream, and by number of columns."""
    rng = np.random.default_rng(settings.seed)
    n = max(settings.steps // N_WINDOWS, 1) * N_WINDOWS
    matrix = rng.random((n, max(WIDTHS)), dtype=np.float32)
    labels = (matrix[:, 0] > 0.5).astype(int) + (matrix[:, 1] + matrix[:, 2] > 1.0)
    compile_first()
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
    """The speed of a cost measurement as a row with the columns of other rows."""
    speed = n / max(seconds, 1e-9)
    return {"about": about, "learner": str(number), "events": n, "accuracy": 0.0, "events_per_s": speed, "n_bytes": 0.0}


def of(rows: Sequence[Row], name: str, learner: str, what: str) -> float:
    """A figure of a learner; NaN if it is not installed."""
    values = [row[what] for row in rows if (row["about"], row["learner"]) == (name, learner)]
    return float(values[0]) if values else nan


def line(name: str, rows: Sequence[Row]) -> Row:
    """A dataset in one line: accuracies, and our events a second."""
    of_dataset = [row for row in rows if row["about"] == name]
    speeds = {f"{each} events/s": of(rows, name, each, "events_per_s") for each in ("tree", "forest")}
    return {"dataset": name, **{row["learner"]: round(row["accuracy"], 4) for row in of_dataset}, **speeds}


def claims(rows: Sequence[Row], costs: Sequence[Row]) -> list[Finding]:
    """Beside MOA on every dataset and on average, and that the cost is flat and linear."""
    findings = []
    for learner in ("tree", "forest"):
        if any(row["learner"] == f"MOA {learner}" for row in rows):
            gaps = {n: of(rows, n, learner, "accuracy") - of(rows, n, f"MOA {learner}", "accuracy") for n in TARGETS}
            worst = min(gaps, key=lambda name: gaps[name])
            mean = float(np.mean(list(gaps.values())))
            holds = gaps[worst] >= -MARGIN and mean > 0
            evidence = f"{mean:+.4f} on average, {gaps[worst]:+.4f} on {worst}"
            findings.append(finding(f"our {learner} is as accurate as MOA's or more", holds=holds, evidence=evidence))
    if any(row["learner"] == SMALL_TREE for row in rows):
        gaps = {n: of(rows, n, SMALL_TREE, "accuracy") - of(rows, n, "MOA tree", "accuracy") for n in TARGETS}
        sizes = {n: of(rows, n, SMALL_TREE, "n_bytes") / of(rows, n, "MOA tree", "n_bytes") for n in TARGETS}
        less = [n for n in TARGETS if gaps[n] < -MARGIN or sizes[n] > 1.0]
        evidence = f"not on {', '.join(less)}" if less else "on every dataset"
        claim = "within the memory that MOA's tree took, ours is as accurate or more"
        findings.append(finding(claim, holds=not less, evidence=evidence))
    along = [1e6 / row["events_per_s"] for row in costs if row["about"] == "events"]
    early, late = float(np.mean(along[1 : N_WINDOWS // 2])), float(np.mean(along[N_WINDOWS // 2 :]))
    evidence = f"{early:.2f} us per event before the middle, {late:.2f} us after it"
    findings.append(
        finding(
            "the time per event does not depend on the length of the stream",
            holds=late < 1.5 * early,
            evidence=evidence,
        )
    )
    wide = [1e6 / row["events_per_s"] for row in costs if row["about"] == "columns"]
    ratio = wide[-1] / wide[0] / (WIDTHS[-1] / WIDTHS[0])
    evidence = f"{wide[0]:.2f} us with {WIDTHS[0]} columns, {wide[-1]:.2f} us with {WIDTHS[-1]}"
    findings.append(finding("the cost is at most linear in the columns", holds=ratio < 1.2, evidence=evidence))
    return findings


def draw(rows: Sequence[Row], costs: Sequence[Row], drifts: Sequence[Row]) -> "Figure":
    """Plot accuracies by dataset, time per event, and windowed accuracy under drift."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(13, 8), layout="constrained")
    halves: Any = figure.subfigures(2, 1)
    wide, panels = halves[0].subplots(), halves[1].subplots(1, 4)
    draw_accuracies(rows, wide)
    for panel, about in ((panels[0], "events"), (panels[1], "columns")):
        own = [row for row in costs if row["about"] == about]
        panel.plot([int(row["learner"]) for row in own], [1e6 / row["events_per_s"] for row in own], "o-")
        panel.set(title=f"time per event by {about}", xlabel=about, ylabel="time per event (µs)", ylim=(0, None))
        panel.ticklabel_format(style="plain")
        panel.locator_params(axis="x", nbins=4)
    for panel, about in zip(panels[2:], STREAMS, strict=True):
        draw_drift(drifts, about, panel)
        panel.locator_params(axis="x", nbins=4)
    figure.suptitle("Streaming trees and forests: prequential accuracy, cost and drift")
    return figure


def draw_accuracies(rows: Sequence[Row], panel: "Axes") -> None:
    """A group of bars for each dataset."""
    names = list(dict.fromkeys(row["learner"] for row in rows))
    for index, learner in enumerate(names):
        across = np.arange(len(TARGETS)) + (index - len(names) / 2) * 0.8 / len(names)
        panel.bar(across, [of(rows, n, learner, "accuracy") for n in TARGETS], 0.8 / len(names), label=learner)
    panel.set(xticks=range(len(TARGETS)), xticklabels=TARGETS, ylim=(0.4, 1.0), ylabel="prequential accuracy")
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


STUDY = Study(
    name="streams",
    title="Prequential accuracy of streaming trees and forests, with MOA's and river's",
    source="Stumpery's own",
    steps=100_000,
    trials=1,
    n_events=lambda settings: (len(TARGETS) + 2) * settings.steps,
    run=run,
    is_timed=True,
)
