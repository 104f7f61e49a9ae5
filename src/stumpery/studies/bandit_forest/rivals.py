"""Bandit Forest, figures 2, 4 and 5: regret of the forest, its competitors and our reward forest."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from stumpery.evaluation.events import Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import RegretResult
from stumpery.policies import BanditForest, Banditron, BanditTree, LinUCB, NeuralBandit, Policy, RewardForest
from stumpery.studies.bandit_forest.reference_forest import compare_with_reference
from stumpery.studies.contextual import datasets
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, verdicts
from stumpery.studies.table import estimate
from stumpery.system.extras import need
from stumpery.types import Action

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG_RUN = 500_000
FOREST, TREE, LINUCB = "Bandit Forest", "Bandit Tree, depth 5", "LinUCB"
BANDITRON, NEURAL, OURS = "Banditron", "NeuralBandit", "RewardForest"


class Chapter(NamedTuple):
    """A dataset, its figure, and pairs of policies of which the first has less regret in the paper."""

    name: str
    dataset: str
    title: str
    figure: int
    order: tuple[tuple[str, str], ...]


EVERYWHERE = ((FOREST, LINUCB), (FOREST, BANDITRON), (LINUCB, BANDITRON), (NEURAL, BANDITRON))
CHAPTERS = (
    Chapter("covertype", "covtype", "Covertype", 2, (*EVERYWHERE, (NEURAL, FOREST), (NEURAL, LINUCB))),
    Chapter("adult", "adult", "Adult, occupation", 4, (*EVERYWHERE, (FOREST, NEURAL), (NEURAL, LINUCB))),
    Chapter("census", "uscensus1990", "Census 1990", 5, (*EVERYWHERE, (FOREST, NEURAL), (LINUCB, NEURAL))),
)


def policies(actions: Sequence[Action]) -> dict[str, Policy]:
    """The paper's five, and ours."""
    return {
        FOREST: BanditForest(actions=actions),
        TREE: BanditTree(actions=actions, max_depth=5),
        LINUCB: LinUCB(actions=actions),
        BANDITRON: Banditron(actions=actions),
        NEURAL: NeuralBandit(actions=actions),
        OURS: RewardForest(actions=actions),
    }


def run(chapter: Chapter, settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play all on the bits of the dataset, 5 % of them inverted."""
    stream = datasets.bits(chapter.dataset)
    result, table = compare_with_reference(policies(stream.actions), stream, settings, parts, progress)
    subject = f"{chapter.title}, {stream.contexts.shape[1]} bits, 5 % inverted"
    return Outcome(
        result=result,
        table=table,
        findings=verdicts(claims(result, chapter), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(result, f"{subject}: mean and 95 % confidence interval over {settings.trials} trials"),
    )


def claims(result: RegretResult, chapter: Chapter) -> list[Finding]:
    """The paper's order, pair by pair."""
    last = {name: [float(curve[-1]) for curve in mean_and_interval(curves)] for name, curves in result.regrets.items()}
    shown = {name: estimate(mean, high - mean, ",.0f") for name, (mean, _, high) in last.items()}
    return [
        finding(
            f"{better} has less regret than {worse} on {chapter.title}",
            holds=last[better][0] < last[worse][0],
            evidence=f"{shown[better]} against {shown[worse]}",
        )
        for better, worse in chapter.order
    ]


def draw(result: RegretResult, title: str) -> "Figure":
    """Plot cumulative regret on linear axes, as in the paper, and average reward."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    result.plot(left)
    result.plot(right, per_step=True)
    left.set(xscale="linear", xlim=(0, None), title="cumulative regret against the reference forest")
    late = result.checkpoints >= min(100, result.checkpoints[-1])
    best = max((curves.mean(axis=0) / result.checkpoints)[late].max() for curves in result.rewards.values())
    right.set(title="average reward", xlim=(100, None), ylim=(0, 1.2 * best))
    right.get_legend().remove()
    figure.suptitle(title)
    return figure


STUDIES = tuple(
    Study(
        name=f"bandit-forest-{chapter.name}",
        title=f"Regret of Bandit Forest and its competitors, on {chapter.title}",
        source=f"Feraud et al. 2016, Figure {chapter.figure}",
        steps=1_000_000,
        trials=10,
        n_events=lambda settings: (len(policies([0, 1])) + 1) * settings.steps * settings.trials,
        run=partial(run, chapter),
    )
    for chapter in CHAPTERS
)
