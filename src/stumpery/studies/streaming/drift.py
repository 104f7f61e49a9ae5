"""How forests follow a stream that changes: windowed accuracy on the drifting generator and on electricity.

Beside our forest stands the same forest that never exchanges a tree. The generator's tree gets new classes in its
leaves half-way; electricity has changes of its own, which nobody marked.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.prequential import prequential
from stumpery.streaming import ForestClassifier
from stumpery.streams import TreeProblem
from stumpery.studies.streaming.sources import Source, source
from stumpery.studies.study import Finding, Settings, finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEVER = 1e-300  # a probability so small that no window ever differs
FOLLOWS, STAYS = "exchanges trees", "never does"
GENERATOR, ELECTRICITY = "drifting generator", "electricity"
STREAMS = (GENERATOR, ELECTRICITY)
N_POINTS = 40
Row = dict[str, Any]


def drift_rows(settings: Settings) -> list[Row]:
    """A row for each stream, forest and stretch: the accuracy in it."""
    rows = []
    for name in STREAMS:
        data = generated(settings) if name == GENERATOR else source("electricity", settings.steps, settings.seed)
        forests = {FOLLOWS: ForestClassifier(), STAYS: ForestClassifier(warning_delta=NEVER, drift_delta=NEVER)}
        every = max(1, len(data.labels) // N_POINTS)
        found = prequential(forests, data.rows, data.labels, window=every, every=every)
        for forest, ways in found.curves.items():
            for event, accuracy in zip(found.checkpoints.tolist(), ways["windowed"]["accuracy"].tolist(), strict=True):
                rows.append({"about": name, "learner": forest, "events": event, "accuracy": accuracy})
    return rows


def generated(settings: Settings) -> Source:
    """Contexts of the generator, and the class of the leaf that each is in; half-way the leaves get new classes."""
    problem = TreeProblem(n_names=2, n_actions=4, drift="abrupt", drift_every=max(1, settings.steps // 2))
    batch = next(problem.batches(seed=settings.seed, size=settings.steps))
    best = problem.best_action(batch.contexts, seed=settings.seed, event=np.arange(settings.steps))
    return Source(batch.contexts, best.tolist())


def drift_claims(rows: Sequence[Row]) -> list[Finding]:
    """That the forest is soon as good again, and better than one that stays as it is."""
    before = mean(rows, GENERATOR, FOLLOWS, 0.4, 0.5)
    lost = mean(rows, GENERATOR, FOLLOWS, 0.5, 0.55)
    after, stays = (mean(rows, GENERATOR, forest, 0.7, 1.0) for forest in (FOLLOWS, STAYS))
    real = [mean(rows, ELECTRICITY, forest, 0.1, 1.0) for forest in (FOLLOWS, STAYS)]
    return [
        finding(
            "after the generator changes the forest recovers, and the one that exchanges no trees less so",
            holds=after > before - 0.05 and after > stays,
            evidence=f"{before:.3f} before, {lost:.3f} just after, {after:.3f} later; without exchange {stays:.3f}",
        ),
        finding(
            "on electricity the forest that exchanges trees is the better one",
            holds=real[0] > real[1],
            evidence=f"{real[0]:.4f} with exchange, {real[1]:.4f} without",
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
    for forest in (FOLLOWS, STAYS):
        own = [row for row in rows if (row["about"], row["learner"]) == (about, forest)]
        panel.plot([row["events"] for row in own], [row["accuracy"] for row in own], label=forest)
    panel.set(title=about, xlabel="event", ylabel="accuracy in a window")
    if about == GENERATOR:
        panel.legend(title="forest that", loc="lower left", fontsize=8, title_fontsize=8)
