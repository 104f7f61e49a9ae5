"""Time per event of the reward forest, by length of the stream, number of trees and number of actions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress, first_events
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.policies import RewardForest
from stumpery.streams import TreeProblem
from stumpery.studies.study import Finding, Outcome, Parts, Settings, Study, finding, load_or_run, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TREES = (10, 20, 40, 80)
N_ACTIONS = (2, 4, 8, 16, 32, 64)
DEFAULT_TREES, DEFAULT_ACTIONS = 40, 4
N_WINDOWS = 20
BATCH_EVENTS = 1000
LONG_RUN = 50_000
MAX_GROWTH = 1.5  # of the cost from the second quarter of the stream to the last
MAX_POWER = 1.15  # exponent of the number of trees; above 1, as larger forests miss the processor's caches


@dataclass(frozen=True)
class Setting:
    """A varied parameter and its value."""

    varied: str
    n_trees: int = DEFAULT_TREES
    n_actions: int = DEFAULT_ACTIONS


SETTINGS = (
    Setting("time"),
    *(Setting("trees", n_trees=n) for n in N_TREES),
    *(Setting("actions", n_actions=n) for n in N_ACTIONS),
)


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Measure every setting, one after the other so that each has the whole machine."""
    rows = []
    for setting in SETTINGS:
        trials = []
        for trial in range(settings.trials):
            make = partial(measure_costs, setting, settings, trial, progress)
            trials.append(load_or_run(parts, f"{setting}, trial {trial}", settings.steps, progress, make))
        rows += windows(setting, np.array(trials), settings.steps)
    return Outcome(
        result=TableResult(rows),
        table=[line(setting, rows) for setting in SETTINGS],
        findings=verdicts(claims(rows), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(rows),
    )


def measure_costs(setting: Setting, settings: Settings, trial: int, progress: Progress) -> list[float]:
    """Microseconds of processor time per event, by window."""
    events_seed, policy_seed = trial_seeds(settings.seed, trial)
    stream = TreeProblem(n_names=0, n_columns=12, depth=8, n_actions=setting.n_actions)
    policy = RewardForest(actions=stream.actions, n_trees=setting.n_trees, seed=policy_seed)
    first = next(stream.batches(seed=events_seed, size=10))
    RewardForest(actions=stream.actions, n_trees=setting.n_trees).play(first.contexts, first.rewards)  # compiles
    seconds, events = np.zeros(n_windows(settings.steps)), np.zeros(n_windows(settings.steps))
    done = 0
    for batch in first_events(stream.batches(seed=events_seed, size=BATCH_EVENTS), settings.steps):
        window = done * len(seconds) // settings.steps
        start = process_time()
        policy.play(batch.contexts, batch.rewards)
        seconds[window] += process_time() - start
        events[window] += len(batch.rewards)
        done += len(batch.rewards)
        progress(len(batch.rewards))
    return [float(cost) for cost in 1e6 * seconds / events]


def n_windows(steps: int) -> int:
    """The number of windows: at most one per batch."""
    return min(N_WINDOWS, math.ceil(steps / BATCH_EVENTS))


def windows(setting: Setting, trials: Any, steps: int) -> list[dict[str, Any]]:
    """A row for each window of a setting."""
    mean, _, high = mean_and_interval(trials)
    return [
        {
            "varied": setting.varied,
            "n_trees": setting.n_trees,
            "n_actions": setting.n_actions,
            "events": (window + 1) * steps // len(mean),
            "us_per_event": float(mean[window]),
            "us_plus_minus": float(high[window] - mean[window]),
        }
        for window in range(len(mean))
    ]


def of_setting(setting: Setting, rows: Sequence[dict[str, Any]]) -> list[float]:
    """The costs of a setting, window by window."""
    wanted = (setting.varied, setting.n_trees, setting.n_actions)
    return [row["us_per_event"] for row in rows if (row["varied"], row["n_trees"], row["n_actions"]) == wanted]


def line(setting: Setting, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A setting in one line."""
    window_costs = of_setting(setting, rows)
    return {
        "varied": setting.varied,
        "trees": setting.n_trees,
        "actions": setting.n_actions,
        "us_per_event": round(float(np.mean(window_costs)), 1),
        "events_per_s": 1e6 / float(np.mean(window_costs)),
    }


def power(varied: str, numbers: Sequence[int], rows: Sequence[dict[str, Any]]) -> float:
    """The exponent with which the cost grows with a parameter, between its extremes."""
    settings = [setting for setting in SETTINGS if setting.varied == varied]
    ends = [float(np.mean(of_setting(setting, rows))) for setting in (settings[0], settings[-1])]
    return math.log(ends[1] / ends[0]) / math.log(numbers[-1] / numbers[0])


def claims(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    """The claims on the cost."""
    along = of_setting(SETTINGS[0], rows)
    quarter = max(len(along) // 4, 1)
    early, late = float(np.mean(along[quarter : 2 * quarter] or along)), float(np.mean(along[-quarter:]))
    trees, actions = power("trees", N_TREES, rows), power("actions", N_ACTIONS, rows)
    return [
        finding(
            "the time per event does not depend on the length of the stream",
            holds=late <= MAX_GROWTH * early,
            evidence=f"{early:.1f} us in the second quarter, {late:.1f} us in the last one",
        ),
        finding(
            "the cost is linear in the trees",
            holds=trees <= MAX_POWER,
            evidence=f"from {N_TREES[0]} to {N_TREES[-1]} trees it grows with their number to the power {trees:.2f}",
        ),
        finding(
            "the cost is less than linear in the actions",
            holds=actions < 1.0,
            evidence=f"from {N_ACTIONS[0]} to {N_ACTIONS[-1]} actions it grows with their number to the power "
            f"{actions:.2f}",
        ),
    ]


def draw(rows: Sequence[dict[str, Any]]) -> "Figure":
    """Three panels: along the stream, by trees, by actions."""
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    along = [row for row in rows if row["varied"] == "time"]
    events, means, reaches = ([row[name] for row in along] for name in ("events", "us_per_event", "us_plus_minus"))
    panels[0].errorbar(events, means, reaches)
    panels[0].set(xlabel="events so far", ylabel="time per event (µs)", ylim=(0, None), title="by events so far")
    for panel, varied, numbers in ((panels[1], "trees", N_TREES), (panels[2], "actions", N_ACTIONS)):
        settings = [setting for setting in SETTINGS if setting.varied == varied]
        panel.plot(numbers, [np.mean(of_setting(setting, rows)) for setting in settings], "o-")
        panel.set(xlabel=f"number of {varied}", ylim=(0, None), title=f"by number of {varied}")
    figure.suptitle(
        f"Time per event of the reward forest; {DEFAULT_TREES} trees and {DEFAULT_ACTIONS} actions unless varied"
    )
    return figure


STUDY = Study(
    name="forest-cost",
    title="Time per event of the reward forest, by stream length, trees and actions",
    source="Stumpery's own",
    steps=200_000,
    trials=3,
    n_events=lambda settings: len(SETTINGS) * settings.steps * settings.trials,
    run=run,
    is_timed=True,
)
