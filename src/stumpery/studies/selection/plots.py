"""Plots of online feature selection: error rates, selected features, accuracy by budget."""

from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.studies.selection.methods import ALL, LOGISTIC, OFS, ONLINE, OURS, PERCEPTRON, THOMPSON
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
SHOWN_METHODS = (THOMPSON, OFS, PERCEPTRON, OURS)


def draw(
    rows: list[dict[str, Any]],
    kept: dict[str, Any],
    paid: list[dict[str, Any]],
    shown: dict[str, dict[str, str]],
    trials: int,
) -> "Figure":
    """A column for each dataset: error rates, selected features, accuracy by budget."""
    size = (1.5 + 4.2 * len(kept), 11)
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=size, layout="constrained")
    panels = figure.subplots(3, len(kept), squeeze=False, gridspec_kw={"height_ratios": [1.5, 1, 1]})
    for (upper, middle, lower), title in zip(panels.T, kept, strict=True):
        draw_curves(upper, [row for row in rows if row["dataset"] == title], shown[title])
        draw_feature_shares(middle, kept[title], shown[title])
        draw_budgets(lower, [row for row in paid if row["dataset"] == title])
        upper.set_title(title)
    panels[0, 0].set_ylabel("online error rate")
    panels[2, 0].set_ylabel("accuracy")
    panels[1, 0].set_yticks(
        range(len(SHOWN_METHODS)), [label.replace("epsilon-greedy ", "") for label in SHOWN_METHODS]
    )
    lines, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=5)
    figure.suptitle(
        f"10 % of the features, {trials} permutations: mean and 95 % confidence interval; dashed: standardised online"
    )
    return figure


def draw_curves(axes: "Axes", rows: list[dict[str, Any]], shown: dict[str, str]) -> None:
    """Error rates by events; the y axis is scaled to the better methods."""
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


def draw_feature_shares(axes: "Axes", kept: dict[str, list[float]], shown: dict[str, str]) -> None:
    """A line for each method: the darker, the more often a feature was selected."""
    shares = np.array([kept[shown[label]] for label in SHOWN_METHODS])
    axes.imshow(shares, aspect="auto", cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_yticks([])
    axes.set_xlabel("feature (dark: selected often)")


def draw_budgets(axes: "Axes", rows: list[dict[str, Any]]) -> None:
    """Accuracy by cost per event, relative to the price of all features."""
    for name in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == name]
        x, y, half_width = (np.array([row[key] for row in mine]) for key in ("spent", "accuracy", "half_width"))
        axes.errorbar(x, y, yerr=np.nan_to_num(half_width), color=COLOURS[name], label=name, marker="o", markersize=4)
    axes.set(xlabel="cost per event, relative to all features", xscale="log")
    budgets = sorted({row["budget"] for row in rows})
    axes.set_xticks(budgets, [f"{budget:.0%}" for budget in budgets])
    axes.minorticks_off()
