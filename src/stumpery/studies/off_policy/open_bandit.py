"""Open Bandit's logs: the uniform log estimates Thompson sampling's value and the reverse, beside the logged truth.

The logs have the probability of the item that was shown, not of all. Thompson sampling, which ignores the visitor, is
taken as its mean over the log: how often it showed each item at each position.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.off_policy import (
    LikelihoodSums,
    cressie_read,
    cressie_read_interval,
    ips,
    normal_interval,
    snips,
)
from stumpery.streams.datasets.load import load, path
from stumpery.studies.study import Outcome, Part, Parts, Settings, Study, counted, run_parts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAMPAIGNS = ("all", "men", "women")
DIRECTIONS = (("random", "bts"), ("bts", "random"))


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Estimate each campaign's two policies from the log of the other."""
    wanted = [
        Part(f"{campaign}, {log} to {target}", 1, partial(counted, 1, partial(estimated, campaign, log, target)))
        for campaign in CAMPAIGNS
        for log, target in DIRECTIONS
    ]
    rows = [row for found in run_parts(wanted, settings, parts, progress) for row in found]
    return Outcome(result=TableResult(rows), table=rows, draw=lambda: draw(rows))


def estimated(campaign: str, log: str, target: str) -> list[dict[str, Any]]:
    """A row for each estimator: the estimate with its interval, and the click rate that was logged."""
    path(f"obd_{campaign}")  # a study downloads nothing by itself: where it is not here, this says how
    frame = load(f"obd_{campaign}")
    policy = frame["behavior_policy"].to_numpy()
    item, position = frame["item_id"].to_numpy(), frame["position"].to_numpy()
    click, logged = frame["click"].to_numpy().astype(np.float64), frame["propensity_score"].to_numpy()
    items, positions = np.unique(item), np.unique(position)
    cell = np.searchsorted(items, item) * len(positions) + np.searchsorted(positions, position)
    shown = np.bincount(cell[policy == "bts"], minlength=len(items) * len(positions)).reshape(len(items), -1)
    shares = {"bts": (shown / shown.sum(axis=0)).ravel(), "random": np.full(shown.size, 1.0 / len(items))}
    own = policy == log
    weights, truth = shares[target][cell[own]] / logged[own], float(click[policy == target].mean())
    return _figures(f"{campaign}: {log} log, {target}", weights, click[own], truth)


def _figures(name: str, weights: Floats, rewards: Floats, truth: float) -> list[dict[str, Any]]:
    shared = {"log": name, "events": len(weights)}
    sums = LikelihoodSums.of(weights, rewards)
    interval = cressie_read_interval(sums)
    plain = normal_interval(weights * rewards)
    nan = float("nan")
    found = [("logged click rate", truth, None), ("IPS", ips(weights, rewards), plain)]
    found += [("SNIPS", snips(weights, rewards), None), ("Cressie-Read", cressie_read(sums), interval)]
    rows = []
    for what, value, ends in found:
        error = abs(value - truth) if what != "logged click rate" else nan
        covers = float(ends.low <= truth <= ends.high) if ends else nan
        figures = {"value": value, "error": error, "coverage": covers, "width": ends.width if ends else nan}
        rows.append({**shared, "what": what, **figures})
    return rows


def draw(rows: Sequence[dict[str, Any]]) -> "Figure":
    """The estimates beside the logged click rates."""
    pyplot = need("matplotlib.pyplot", "study")
    figure: Figure
    figure, ax = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    logs = list(dict.fromkeys(row["log"] for row in rows))
    for place, what in enumerate(dict.fromkeys(row["what"] for row in rows)):
        own = [row["value"] for row in rows if row["what"] == what]
        ax.plot(own, np.arange(len(logs)) + 0.15 * place, "o", color=f"C{place}", label=what)
    ax.set_yticks(range(len(logs)), logs)
    ax.invert_yaxis()
    ax.set(xlabel="clicks per impression", title="estimated from the other policy's log")
    ax.legend()
    return figure


STUDY = Study(
    name="off-policy-open-bandit",
    title="Off-policy evaluation of Open Bandit's policies, each from the log of the other",
    source="Saito et al. 2021, Open Bandit Dataset",
    steps=10_000,
    trials=1,
    n_events=lambda settings: len(CAMPAIGNS) * len(DIRECTIONS),
    run=run,
)
