"""Concept drift: windowed accuracy of forests on a drifting generator and on electricity.

The baseline is the same forest without drift detection, which never replaces a tree. The leaves of the generator's tree
get new classes half-way; electricity drifts by itself, at unknown times.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.prequential import prequential
from stumpery.streaming import ForestClassifier
from stumpery.streams import TreeProblem
from stumpery.studies.streaming.datasets import Source, source
from stumpery.studies.study import Finding, Settings, finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_DETECTION = 1e-300  # significance at which the detector never fires
ADAPTIVE, STATIC = "with drift detection", "without drift detection"
GENERATOR, ELECTRICITY = "drifting generator", "electricity"
STREAMS = (GENERATOR, ELECTRICITY)
N_POINTS = 40
Row = dict[str, Any]


def drift_rows(settings: Settings) -> list[Row]:
    """A row for each stream, forest and stretch: the accuracy in it."""
    rows = []
    for name in STREAMS:
        data = generated(settings) if name == GENERATOR else source("electricity", settings.steps, settings.seed)
        forests = {
            ADAPTIVE: ForestClassifier(),
            STATIC: ForestClassifier(warning_delta=NO_DETECTION, drift_delta=NO_DETECTION),
        }
        window = max(1, len(data.labels) // N_POINTS)
        result = prequential(forests, data.rows, data.labels, window=window, every=window)
        for forest, estimates in result.curves.items():
            for event, accuracy in zip(
                result.checkpoints.tolist(), estimates["windowed"]["accuracy"].tolist(), strict=True
            ):
                rows.append({"about": name, "learner": forest, "events": event, "accuracy": accuracy})
    return rows


def generated(settings: Settings) -> Source:
    """Contexts of the generator, labelled by their leaf; half-way the leaves get new labels."""
    problem = TreeProblem(n_names=2, n_actions=4, drift="abrupt", drift_every=max(1, settings.steps // 2))
    batch = next(problem.batches(seed=settings.seed, size=settings.steps))
    best = problem.best_action(batch.contexts, seed=settings.seed, event=np.arange(settings.steps))
    return Source(batch.contexts, best.tolist())


def drift_claims(rows: Sequence[Row]) -> list[Finding]:
    """The claims that the forest recovers after a drift, better than without drift detection."""
    before = mean(rows, GENERATOR, ADAPTIVE, 0.4, 0.5)
    lost = mean(rows, GENERATOR, ADAPTIVE, 0.5, 0.55)
    after, static = (mean(rows, GENERATOR, forest, 0.7, 1.0) for forest in (ADAPTIVE, STATIC))
    real = [mean(rows, ELECTRICITY, forest, 0.1, 1.0) for forest in (ADAPTIVE, STATIC)]
    return [
        finding(
            "after the drift the forest recovers, and more so than without drift detection",
            holds=after > before - 0.05 and after > static,
            evidence=f"{before:.3f} before, {lost:.3f} just after, {after:.3f} later; {static:.3f} without detection",
        ),
        finding(
            "on electricity the forest is better with drift detection",
            holds=real[0] > real[1],
            evidence=f"{real[0]:.4f} with, {real[1]:.4f} without",
        ),
    ]


def mean(rows: Sequence[Row], about: str, forest: str, start: float, end: float) -> float:
    """The mean accuracy in a part of a stream."""
    own = [row for row in rows if (row["about"], row["learner"]) == (about, forest)]
    length = max(row["events"] for row in own)
    part = [row["accuracy"] for row in own if start * length < row["events"] <= end * length]
    return float(np.mean(part)) if part else float("nan")


def draw_drift(rows: Sequence[Row], about: str, panel: "Axes") -> None:
    """The accuracy along one stream."""
    for forest in (ADAPTIVE, STATIC):
        own = [row for row in rows if (row["about"], row["learner"]) == (about, forest)]
        panel.plot([row["events"] for row in own], [row["accuracy"] for row in own], label=forest)
    panel.set(title=about, xlabel="events", ylabel="windowed accuracy")
    if about == GENERATOR:
        panel.legend(title="forest", loc="lower left", fontsize=8, title_fontsize=8)
