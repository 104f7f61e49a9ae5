"""Plots of deep decision trees: accuracy and losses (figures 2 to 4 of the paper), accuracy by expected depth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.studies.reinforcement.learners import CRITIC, DOUBLE, DQN, LEARNERS, PAPER
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(LEARNERS, ("tab:blue", "tab:orange", "tab:green", "0.4", "0.7"), strict=True))
MARKERS = ("o", "s", "*")


def draw(runs: dict[str, dict[str, list[dict[str, Any]]]], by_penalty: Sequence[dict[str, Any]]) -> "Figure":
    """Plot accuracies, losses and accuracy by expected depth, a column for each problem."""
    titles = list(dict.fromkeys(row["problem"] for row in by_penalty))
    n_used = (len(runs), len(runs), len(titles) + 1)
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(
        3, max(n_used), figsize=(3.4 * max(n_used), 9.5), layout="constrained", squeeze=False
    )
    for row, used in enumerate(n_used):
        for panel in panels[row, used:]:
            panel.set_visible(False)
    for column, (title, of_problem) in enumerate(runs.items()):
        accuracies(panels[0, column], title, of_problem)
        losses(panels[1, column], of_problem)
    for column, title in enumerate(titles):
        depths(panels[2, column], title, [row for row in by_penalty if row["problem"] == title])
    critics(panels[2, len(titles)], runs)
    panels[0, 0].set_ylabel("accuracy, window of 1000 rows")
    panels[0, 0].legend(fontsize=8)
    panels[1, 0].set_ylabel("mean squared error")
    panels[1, 0].legend(fontsize=7)
    figure.suptitle("Decision trees by deep reinforcement learning; dotted: final accuracy of DQN in the paper")
    return figure


def mean(trials: Sequence[dict[str, Any]], what: str) -> Any:
    """A curve, averaged over trials."""
    return np.mean([trial[what] for trial in trials], axis=0)


def accuracies(panel: "Axes", title: str, of_problem: dict[str, list[dict[str, Any]]]) -> None:
    """Figure 2: accuracy by rows."""
    for name, trials in of_problem.items():
        panel.plot(trials[0]["marks"], mean(trials, "accuracy"), label=name, color=COLOURS[name])
    panel.axhline(PAPER[title][DQN] / 100, color=COLOURS[DQN], ls=":", lw=1)
    panel.set(title=title, xlabel="rows", ylim=(0.35, 1.01))


def loss_of(trials: Sequence[dict[str, Any]], index: int) -> Any:
    """One of the two loss curves, NaN before the first update."""
    table = [[np.nan if losses[index] is None else losses[index] for losses in trial["losses"]] for trial in trials]
    return np.mean(table, axis=0)


def losses(panel: "Axes", of_problem: dict[str, list[dict[str, Any]]]) -> None:
    """Figure 3: the losses of queries and reports."""
    for name in (DQN, DOUBLE):
        for index, (kind, style) in enumerate((("queries", "-"), ("reports", "--"))):
            trials = of_problem[name]
            panel.plot(trials[0]["marks"], loss_of(trials, index), style, color=COLOURS[name], label=f"{name}, {kind}")
    panel.set(xlabel="rows", yscale="log", title="loss of DQN")


def critics(panel: "Axes", runs: dict[str, dict[str, list[dict[str, Any]]]]) -> None:
    """Figure 4: the critic's loss on every problem."""
    for title, of_problem in runs.items():
        trials = of_problem[CRITIC]
        share = np.array(trials[0]["marks"]) / trials[0]["marks"][-1]
        panel.plot(share, loss_of(trials, 1), label=title, lw=1)
    panel.set(xlabel="fraction of the stream", ylabel="mean squared error", title="loss of the critic")
    panel.legend(fontsize=6)


def depths(panel: "Axes", title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Accuracy by expected depth for several depth penalties."""
    for marker, tree in zip(MARKERS, dict.fromkeys(row["tree"] for row in rows), strict=False):
        own = sorted((row["depth"], row["accuracy"]) for row in rows if row["tree"] == tree)
        panel.plot(*zip(*own, strict=True), marker=marker, label=tree, lw=1, ms=5)
    panel.set(title=f"{title}, by depth penalty", xlabel="expected depth", ylabel="accuracy")
    panel.legend(fontsize=7)
