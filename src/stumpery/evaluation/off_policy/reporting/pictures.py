"""Pictures of an off-policy evaluation: estimates with intervals, values over time, weights."""

from typing import TYPE_CHECKING

import numpy as np

from stumpery.evaluation.off_policy import sums as term
from stumpery.evaluation.off_policy.tallies import BIN_EDGES
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stumpery.evaluation.off_policy.ledger import Ledger
    from stumpery.evaluation.off_policy.reporting.report import OffPolicyReport


def draw(report: "OffPolicyReport", ledger: "Ledger") -> "Axes":
    """A figure of three panels; returns the axes of the first."""
    pyplot = need("matplotlib.pyplot", "study")
    _, panels = pyplot.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    first: Axes = panels[0]
    draw_estimates(report, first)
    draw_time(report, ledger, panels[1])
    draw_weights(ledger, panels[2])
    return first


def draw_estimates(report: "OffPolicyReport", ax: "Axes") -> "Axes":
    """Every policy's estimate with normal interval (thick) and confidence sequence (thin)."""
    for place, policy in enumerate(report.policies):
        color, estimate = f"C{place}", report.value(policy)
        for kind, width in (("sequence", 1.2), ("normal", 4.0)):
            low, high = report.interval(policy, kind)
            ax.plot([low, high], [place, place], color=color, linewidth=width, solid_capstyle="butt")
        ax.plot([estimate], [place], "o", color=color, markersize=7, markeredgecolor="white")
    ax.axvline(report.value(report.policies[0]), color="0.7", linewidth=0.8, zorder=0)
    names = [f"{policy} (!)" if report.warnings(policy) else policy for policy in report.policies]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    percent = f"{100.0 * report.level:g} %"
    ax.set(xlabel="reward per event", title=f"estimates, {percent}: normal (thick), at any time (thin)")
    ax.title.set_fontsize(10)
    return ax


def draw_time(report: "OffPolicyReport", ledger: "Ledger", ax: "Axes") -> "Axes":
    """Every policy's estimate so far and its confidence sequence, by the number of events."""
    low, high = ledger.reward_range
    seen = []
    for place, policy in enumerate(ledger.names):
        found = ledger.policies[policy]
        if not found.checkpoints:
            continue
        events = [each.n for each in found.checkpoints]
        ends = low + (high - low) * np.array([each.sequence for each in found.checkpoints])
        ax.fill_between(events, ends[:, 0], ends[:, 1], color=f"C{place}", alpha=0.15, linewidth=0)
        sums = np.cumsum(found.sums.blocks, axis=0)
        means = (sums[:, term.V] + sums[:, term.WD]) / np.maximum(sums[:, term.N], 1e-300)
        ends_of_blocks = np.minimum(np.arange(1, len(means) + 1) * found.sums.block_rows, found.sums.n_rows)
        shown = ends_of_blocks >= max(events[-1] // 50, 1)
        ax.plot(ends_of_blocks[shown], means[shown], color=f"C{place}", label=policy)
        seen += means[shown].tolist() + ends[len(ends) // 4 :].ravel().tolist()
    if seen:
        margin = 0.05 * (max(seen) - min(seen) + 1e-9)
        ax.set_ylim(min(seen) - margin, max(seen) + margin)
    ax.set(xlabel="events", ylabel="reward per event so far", title="over time, with confidence sequences")
    ax.title.set_fontsize(10)
    ax.legend(fontsize=8)
    return ax


def draw_weights(ledger: "Ledger", ax: "Axes") -> "Axes":
    """Histogram of importance weights above 0 of each policy."""
    for place, policy in enumerate(ledger.names):
        tally = ledger.policies[policy].tally
        if tally.histogram.sum():
            shares = tally.histogram / (tally.histogram.sum() + tally.n_zero)
            used = np.flatnonzero(shares)
            first, last = max(used[0], 1), used[-1] + 1
            label = f"{policy}: {100.0 * tally.n_zero / (tally.histogram.sum() + tally.n_zero):.0f} % are 0"
            ax.stairs(shares[first:last], BIN_EDGES[first : last + 1], color=f"C{place}", label=label)
    ax.axvline(1.0, color="0.7", linewidth=0.8, zorder=0)
    ax.set(xscale="log", xlabel="importance weight", ylabel="share of events", title="weights above 0")
    ax.title.set_fontsize(10)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8)
    return ax
