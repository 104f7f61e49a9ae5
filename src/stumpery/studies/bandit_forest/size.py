"""Bandit Forest, figure 3: regret by the number of trees."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import RegretResult
from stumpery.policies import BanditForest, Policy
from stumpery.studies.bandit_forest.reference_forest import compare_with_reference
from stumpery.studies.comparison import draw_regrets, group
from stumpery.studies.contextual import datasets
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, verdicts
from stumpery.types import Action

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (1, 10, 30, 100)
LONG_RUN = 500_000
OTHERS = {"covtype": "Covertype", "adult": "Adult"}


def titles() -> dict[str, str]:
    """The titles of the datasets: the paper's census if it is available, else the paper's other two."""
    return {datasets.CENSUS: "Census 1990"} if datasets.is_available(datasets.CENSUS) else OTHERS


def policies(actions: Sequence[Action], title: str) -> dict[str, Policy]:
    """Forests of each size, under names that no other dataset has."""
    return {name_of(title, size): BanditForest(actions=actions, n_trees=size) for size in SIZES}


def name_of(title: str, size: int) -> str:
    """A forest's name."""
    return f"{title}, {size} tree{'s' if size > 1 else ''}"


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play forests of all sizes on each dataset."""
    results: dict[str, RegretResult] = {}
    table: list[dict[str, Any]] = []
    for dataset, title in titles().items():
        stream = datasets.bits(dataset)
        results[title], rows = compare_with_reference(
            policies(stream.actions, title), stream, settings, parts, progress
        )
        table += rows
    result = merged(list(results.values()))
    long_run = settings.steps >= LONG_RUN
    findings = [entry for title in results for entry in claims(result, title)]
    return Outcome(
        result=result,
        table=table,
        findings=(*verdicts(findings, enough=long_run), *stand_in(results)),
        draw=lambda: draw(result, list(results), settings.trials),
    )


def merged(results: list[RegretResult]) -> RegretResult:
    """Merge results of the same length."""
    parts = ([result.rewards, result.regrets, result.seconds] for result in results)
    joined = [{name: curve for each in kind for name, curve in each.items()} for kind in zip(*parts, strict=True)]
    return RegretResult(results[0].checkpoints, *joined)


def claims(result: RegretResult, title: str) -> list[Finding]:
    """The paper's claims on figure 3."""
    names = [name_of(title, size) for size in SIZES]
    regrets = [float(result.regrets[name][:, -1].mean()) for name in names]
    seconds = [float(np.median(result.seconds[name])) for name in names]
    sized = ", ".join(f"{size}: {value:,.0f}" for size, value in zip(SIZES, regrets, strict=True))
    timed = ", ".join(f"{size}: {value:.3g}" for size, value in zip(SIZES, seconds, strict=True))
    return [
        finding(
            f"the more trees, the less regret, on {title}",
            holds=regrets == sorted(regrets, reverse=True),
            evidence=f"regret by trees: {sized}",
        ),
        finding(
            f"the more trees, the higher the cost, on {title}",
            holds=seconds == sorted(seconds),
            evidence=f"seconds by trees: {timed}",
        ),
    ]


def stand_in(results: dict[str, RegretResult]) -> list[Finding]:
    """A finding that says so if other datasets stand in for that of figure 3."""
    if list(results) != list(OTHERS.values()):
        return []
    said = f"{datasets.CENSUS} is not on this machine: {' and '.join(results)} stand in for it"
    return [Finding("not testable", "Figure 3 itself, which is on Census 1990", said)]


def draw(result: RegretResult, titles: list[str], trials: int) -> "Figure":
    """A panel for each dataset."""
    groups = {f"{title}, noisy bits": group(result, f"{title}, ") for title in titles}
    return draw_regrets(groups, f"Bandit Forest by number of trees: cumulative regret, {trials} trials")


STUDY = Study(
    name="bandit-forest-size",
    title="Regret of Bandit Forest by number of trees, on Census 1990 or else Covertype and Adult",
    source="Feraud et al. 2016, Figure 3",
    steps=1_000_000,
    trials=10,
    n_events=lambda settings: len(titles()) * (len(SIZES) + 1) * settings.steps * settings.trials,
    run=run,
)
