"""Replay (off-policy evaluation) of click models on the Open Bandit data logged at random."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.clicks import ContentSelector
from stumpery.encoding import Schema
from stumpery.evaluation.click_challenge.submissions import OURS, ClickSource, submission_models
from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import trial_seeds
from stumpery.evaluation.replay import ReplayResult, replay
from stumpery.jobs.executor import Shared
from stumpery.studies.clicks.datasets import CAMPAIGNS, IMPRESSION, ITEM, USER, items_of, uniform_lines
from stumpery.studies.study import Outcome, Part, Parts, Settings, Study, counted, run_parts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPLAYED_SUBMISSIONS = ("SimpleStumps", "UTree", OURS)
KINDS = dict.fromkeys(IMPRESSION, "categorical") | {"affinity": "numerical", "item_feature_0": "numerical"}


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Replay each submission on each campaign, in another order of the lines in every trial."""
    rows, steps = [], settings.steps
    for campaign in CAMPAIGNS:
        log = _log(campaign)
        shared = settings.where.put(log)
        for name in REPLAYED_SUBMISSIONS:
            wanted = []
            for trial in range(settings.trials):
                make = partial(counted, steps, partial(_counts, name, shared, settings, trial))
                wanted.append(Part(f"{campaign}, {name}, trial {trial}", steps, make))
            trials = run_parts(wanted, settings, parts, progress)
            rows.append({"campaign": campaign, "submission": name, **_pooled(trials, log)})
    rows += [_all_campaigns(rows, name) for name in REPLAYED_SUBMISSIONS]
    return Outcome(
        result=TableResult(rows),
        table=[_shown(row) for row in rows],
        draw=lambda: draw(rows),
    )


class LoggedClicks(NamedTuple):
    """A campaign's lines; the candidates of each are made when they are asked for."""

    items: list[dict[str, Any]]
    visitors: list[dict[str, Any]]
    affinities: list[list[float]]  # a number for each line and item
    shown: list[int]
    clicks: list[int]

    def line(self, index: int) -> tuple[list[dict[str, Any]], int, int]:
        """The candidates of a line, the index of the shown one, and its click."""
        pairs = zip(self.items, self.affinities[index], strict=True)
        candidates = [{**self.visitors[index], **item, "affinity": affinity} for item, affinity in pairs]
        return candidates, self.shown[index], self.clicks[index]


def _counts(name: str, shared: Shared[LoggedClicks], settings: Settings, trial: int) -> dict[str, float]:
    result = _replayed(name, shared.get(), settings, trial)
    return {"lines": result.n_lines, "counted": result.n_counted, "clicks": result.n_clicks}


def _replayed(name: str, log: LoggedClicks, settings: Settings, trial: int) -> ReplayResult:
    order_seed, own_seed = trial_seeds(settings.seed, trial)
    order = np.random.default_rng(order_seed).permutation(len(log.clicks))[: settings.steps]
    source = ClickSource(None, Schema.of(KINDS), 0.005)
    selector = ContentSelector(model=submission_models(source, own_seed)[name](), seed=own_seed)
    return replay(selector, (log.line(index) for index in order.tolist()))


def _log(campaign: str) -> LoggedClicks:
    items = items_of(campaign).to_dicts()
    lines = uniform_lines(campaign)
    return LoggedClicks(
        items=[
            {"campaign": campaign, "item": str(each["item_id"]), **{key: each[key] for key in ITEM}} for each in items
        ],
        visitors=lines.select("position", *USER).to_dicts(),
        affinities=lines.select([f"user-item_affinity_{item}" for item in range(len(items))]).to_numpy().tolist(),
        shown=lines["item_id"].to_list(),
        clicks=lines["click"].cast(int).to_list(),
    )


def _pooled(trials: list[dict[str, float]], log: LoggedClicks) -> dict[str, Any]:
    """The mean rate of all trials, with the interval of one trial, as all replay the same lines."""
    n = len(trials)
    counted, clicks = (sum(each[what] for each in trials) / n for what in ("counted", "clicks"))
    log_rate = sum(log.clicks) / len(log.clicks)
    one = ReplayResult(int(trials[0]["lines"]), counted, clicks, log_rate)
    return {**one.summary(), "log_rate": log_rate}


def _all_campaigns(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """All campaigns together, relative to the click rate of random picks on the matching lines."""
    selected = [row for row in rows if row["submission"] == name]
    lines, counted, clicks = (sum(row[what] for row in selected) for what in ("lines", "counted", "clicks"))
    log_rate = sum(row["log_rate"] * row["counted"] for row in selected) / max(1.0, counted)
    one = ReplayResult(lines, counted, clicks, log_rate)
    return {"campaign": "all together", "submission": name, **one.summary(), "log_rate": log_rate}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "campaign": row["campaign"],
        "submission": row["submission"],
        "matching lines": f"{row['counted']:.0f} of {row['lines']:,}",
        "clicks": f"{row['clicks']:.1f}",
        "ratio to random": f"{row['ratio_to_random']:.2f} ({row['low']:.2f} to {row['high']:.2f})",
    }


def draw(rows: list[dict[str, Any]]) -> "Figure":
    """Ratios to Random with their intervals."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    ratios = np.array([row["ratio_to_random"] for row in rows])
    reach = [ratios - [row["low"] for row in rows], [row["high"] for row in rows] - ratios]
    ax.errorbar(ratios, range(len(rows)), xerr=np.abs(reach), fmt="o")
    ax.axvline(1.0, color="grey", linestyle=":")
    ax.set_yticks(range(len(rows)), [f"{row['campaign']}: {row['submission']}" for row in rows])
    ax.set(xlabel="click rate relative to random picks, 95 % confidence interval")
    return figure


STUDY = Study(
    name="replay",
    title="Replay of click models on the Open Bandit data logged at random",
    source="Salperwyck and Urvoy 2011, section 4; Li et al. 2011",
    steps=10_000,
    trials=5,
    n_events=lambda settings: len(CAMPAIGNS) * len(REPLAYED_SUBMISSIONS) * settings.steps * settings.trials,
    run=run,
)
