"""Bandit Forest, figure 1: regret of single trees and forests of 100 trees at several depths."""

from typing import TYPE_CHECKING

from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import RegretResult
from stumpery.policies import BanditForest, BanditTree, Policy
from stumpery.studies.bandit_forest.reference_forest import compare_with_reference
from stumpery.studies.comparison import draw_regrets, group
from stumpery.studies.contextual import datasets
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, verdicts
from stumpery.types import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

DEPTHS = (3, 5, 8, 12)
LONG_RUN = 500_000


def policies(actions: "Sequence[Action]") -> dict[str, Policy]:
    """A forest and a tree of each depth."""
    forests = {f"forest, depth {depth}": BanditForest(actions=actions, max_depth=depth) for depth in DEPTHS}
    trees = {f"tree, depth {depth}": BanditTree(actions=actions, max_depth=depth) for depth in DEPTHS}
    return {**forests, **trees}


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play all on the bits of Covertype, 5 % of them inverted."""
    stream = datasets.bits("covtype")
    result, table = compare_with_reference(policies(stream.actions), stream, settings, parts, progress)
    return Outcome(
        result=result,
        table=table,
        findings=verdicts(claims(result), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(result, settings.trials),
    )


def claims(result: RegretResult) -> list[Finding]:
    """The paper's claims on figure 1."""
    last = {name: float(curves[:, -1].mean()) for name, curves in result.regrets.items()}
    forests, trees = ([last[f"{kind}, depth {depth}"] for depth in DEPTHS] for kind in ("forest", "tree"))
    pairs = list(zip(DEPTHS, forests, trees, strict=True))
    spreads = max(forests) - min(forests), max(trees) - min(trees)
    return [
        finding(
            "the forest has less regret than the tree at every depth",
            holds=all(forest < tree for _, forest, tree in pairs),
            evidence="; ".join(f"depth {depth}: {forest:,.0f} and {tree:,.0f}" for depth, forest, tree in pairs),
        ),
        finding(
            "the forest is less sensitive to depth than the tree",
            holds=spreads[0] < spreads[1],
            evidence=f"the range of regret over depths is {spreads[0]:,.0f} and {spreads[1]:,.0f}",
        ),
    ]


def draw(result: RegretResult, trials: int) -> "Figure":
    """Forests on the left, trees on the right."""
    groups = {"forests of 100 trees": group(result, "forest, "), "single trees": group(result, "tree, ")}
    title = f"Covertype, 94 bits, 5 % inverted: cumulative regret against the reference forest, {trials} trials"
    return draw_regrets(groups, title, share=True)


STUDY = Study(
    name="bandit-forest-depth",
    title="Regret of Bandit Forest and Bandit Tree by maximum depth, on Covertype",
    source="Feraud et al. 2016, Figure 1",
    steps=1_000_000,
    trials=10,
    n_events=lambda settings: (2 * len(DEPTHS) + 1) * settings.steps * settings.trials,
    run=run,
)
