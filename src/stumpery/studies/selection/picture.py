"""The picture of online feature selection: curves, what was looked at, accuracy against money."""

from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.studies.selection.problems import ALL, LOGISTIC, OFS, ONLINE, OURS, PERCEPTRON, THOMPSON
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    THOMPSON: "tab:blue",
    OFS: "tab:green",
    PERCEPTRON: "tab:olive",
    ALL: "tab:gray",
    OURS: "tab:red",
    ALL + LOGISTIC: "black",
    THOMPSON + LOGISTIC: "tab:purple",
}
LOOKED = (THOMPSON, OFS, PERCEPTRON, OURS)


def draw(
    rows: list[dict[str, Any]],
    kept: dict[str, Any],
    paid: list[dict[str, Any]],
    shown: dict[str, dict[str, str]],
    trials: int,
) -> "Figure":
    """A column for each dataset: rates of mistakes, features looked at, money."""
    size = (1.5 + 4.2 * len(kept), 11)
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=size, layout="constrained")
    panels = figure.subplots(3, len(kept), squeeze=False, gridspec_kw={"height_ratios": [1.5, 1, 1]})
    for (upper, middle, lower), title in zip(panels.T, kept, strict=True):
        draw_curves(upper, [row for row in rows if row["dataset"] == title], shown[title])
        draw_looks(middle, kept[title], shown[title])
        draw_money(lower, [row for row in paid if row["dataset"] == title])
        upper.set_title(title)
    panels[0, 0].set_ylabel("online rate of mistakes")
    panels[2, 0].set_ylabel("accuracy")
    panels[1, 0].set_yticks(range(len(LOOKED)), [label.replace("epsilon-greedy ", "") for label in LOOKED])
    lines, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=5)
    figure.suptitle(f"A tenth of the features, {trials} permutations: means and 95 % intervals; dashed: online")
    return figure


def draw_curves(axes: "Axes", rows: list[dict[str, Any]], shown: dict[str, str]) -> None:
    """Rates of mistakes as they fall; the y axis ends where the worst of the good ones does."""
    for label, name in shown.items():
        mine = [row for row in rows if row["method"] == name]
        x, mean, low, high = (np.array([row[key] for row in mine]) for key in ("events", "rate", "low", "high"))
        colour = COLOURS[label.removesuffix(ONLINE)]
        axes.plot(x, mean, color=colour, label=label, linestyle="--" if label.endswith(ONLINE) else "-", linewidth=1.2)
        if not np.isnan(low).any():
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    last = {row["method"]: row["rate"] for row in rows}
    good = [last[name] for label, name in shown.items() if label not in (OFS, PERCEPTRON)]
    axes.set(xlabel="events", xscale="log", ylim=(0.0 if min(good) < 0.05 else 0.5 * min(good), 1.8 * max(good)))
    axes.set_xlim(max(20, rows[-1]["events"] / 3000), None)


def draw_looks(axes: "Axes", kept: dict[str, list[float]], shown: dict[str, str]) -> None:
    """A line for each method: the darker, the more often a feature was looked at."""
    shares = np.array([kept[shown[label]] for label in LOOKED])
    axes.imshow(shares, aspect="auto", cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_yticks([])
    axes.set_xlabel("feature: the darker, the more often looked at")


def draw_money(axes: "Axes", rows: list[dict[str, Any]]) -> None:
    """Accuracy against what was spent, as a share of what all features cost."""
    for name in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == name]
        x, y, reach = (np.array([row[key] for row in mine]) for key in ("spent", "accuracy", "reach"))
        axes.errorbar(x, y, yerr=np.nan_to_num(reach), color=COLOURS[name], label=name, marker="o", markersize=4)
    axes.set(xlabel="spent on an event, of the price of everything", xscale="log")
    budgets = sorted({row["budget"] for row in rows})
    axes.set_xticks(budgets, [f"{budget:.0%}" for budget in budgets])
    axes.minorticks_off()
