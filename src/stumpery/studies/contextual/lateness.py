"""What late rewards cost the reward forest: by delay and by the order in which rewards come."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.jobs.executor import Shared
from stumpery.policies import RewardForest
from stumpery.streams import TreeProblem
from stumpery.studies.contextual import datasets
from stumpery.studies.contextual.late_rewards import ORDERS, play_late
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, finding, run_parts, verdicts
from stumpery.studies.table import TableResult, estimate
from stumpery.system.extras import need
from stumpery.types import Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = ("Poker", "Covertype", "Adult, occupation")  # of the contest
GENERATED = "TreeProblem"
DELAYS = {1_000: 0.01, 10_000: 0.03}  # in events, and how much less than immediate rewards the last tenth may earn
IMMEDIATE, IN_ORDER = "immediate", "in order"
N_CURVE_POINTS = 50
LONG_RUN = 100_000


class Lateness(NamedTuple):
    """A delay and the order of rewards."""

    delay: int
    order: str


LATENESSES = (Lateness(0, IMMEDIATE), *(Lateness(delay, order) for delay in DELAYS for order in ORDERS))


def streams() -> dict[str, Stream]:
    """A generated stream, and those whose dataset is on this machine."""
    problems = {title: datasets.CONTEST[title] for title in TITLES if title in datasets.CONTEST}
    here = {title: problem.open() for title, problem in problems.items() if datasets.is_available(problem.dataset)}
    return {GENERATED: TreeProblem(n_names=0), **here}


def n_streams() -> int:
    """The number of streams."""
    problems = [datasets.CONTEST[title] for title in TITLES if title in datasets.CONTEST]
    return 1 + sum(datasets.is_available(problem.dataset) for problem in problems)


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Play the reward forest on every stream with every setting."""
    wanted, played = [], [(title, setting) for title in streams() for setting in LATENESSES]
    shared = {title: settings.where.put(stream) for title, stream in streams().items()}
    for (title, setting), trial in product(played, range(settings.trials)):
        make = partial(play_trial, shared[title], setting, settings, trial)
        wanted.append(Part(f"{title}, {setting.delay} {setting.order}, trial {trial}", settings.steps, make))
    trials = run_parts(wanted, settings, parts, progress)
    rows = [
        row(title, setting, trials[place * settings.trials : (place + 1) * settings.trials])
        for place, (title, setting) in enumerate(played)
    ]
    return Outcome(
        result=TableResult([window for entry in rows for window in windows(entry, settings.steps)]),
        table=[line(entry, rows) for entry in rows],
        findings=verdicts(claims(rows), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(rows, settings),
    )


def play_trial(
    shared: Shared[Stream], setting: Lateness, settings: Settings, trial: int, progress: Progress
) -> dict[str, Any]:
    """The average reward by window, the last tenth's, and the number of drifts detected."""
    stream = shared.get()
    events_seed, policy_seed = trial_seeds(settings.seed, trial)
    policy = RewardForest(actions=stream.actions, seed=policy_seed)
    steps, (delay, order) = settings.steps, setting
    earned = play_late(policy, stream, steps=steps, delay=delay, order=order, seed=events_seed, progress=progress)
    return {
        "windows": [float(part.mean()) for part in np.array_split(earned, min(N_CURVE_POINTS, settings.steps))],
        "average_reward": float(earned.mean()),
        "last_tenth": float(earned[-max(settings.steps // 10, 1) :].mean()),
        "n_drifts": policy.n_drifts,
    }


def row(title: str, setting: Lateness, trials: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A setting's means over trials."""
    measured = np.array([[trial["average_reward"], trial["last_tenth"]] for trial in trials])
    mean, _, high = mean_and_interval(measured)
    return {
        "stream": title,
        "delay": setting.delay,
        "order": setting.order,
        "average_reward": float(mean[0]),
        "average_plus_minus": float(high[0] - mean[0]),
        "last_tenth": float(mean[1]),
        "last_tenth_plus_minus": float(high[1] - mean[1]),
        "n_drifts": sum(trial["n_drifts"] for trial in trials),
        "windows": np.mean([trial["windows"] for trial in trials], axis=0).tolist(),
    }


def windows(entry: dict[str, Any], steps: int) -> list[dict[str, Any]]:
    """A row for each window of a setting."""
    n = len(entry["windows"])
    named = {name: entry[name] for name in ("stream", "delay", "order")}
    return [
        {**named, "events": (window + 1) * steps // n, "average_reward": reward}
        for window, reward in enumerate(entry["windows"])
    ]


def loss(entry: dict[str, Any], rows: Sequence[dict[str, Any]]) -> float:
    """How much less the last tenth earns than with immediate rewards."""
    (immediate,) = [each for each in rows if each["stream"] == entry["stream"] and each["delay"] == 0]
    return float(immediate["last_tenth"] - entry["last_tenth"])


def line(entry: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A setting in one line."""
    return {
        **{name: entry[name] for name in ("stream", "delay", "order")},
        "average_reward": estimate(entry["average_reward"], entry["average_plus_minus"], ".4f"),
        "last_tenth": estimate(entry["last_tenth"], entry["last_tenth_plus_minus"], ".4f"),
        "loss": f"{loss(entry, rows):.4f}",
        "drifts_detected": entry["n_drifts"],
    }


def claims(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    """The claims on the last tenth, by delay and order, and on false alarms."""
    found = []
    for delay, order in LATENESSES[1:]:
        of_setting = [each for each in rows if (each["delay"], each["order"]) == (delay, order)]
        worst = max(of_setting, key=lambda each: loss(each, rows))
        n_drifts = sum(each["n_drifts"] for each in of_setting)
        found.append(
            finding(
                f"late by {delay:,}, {order}: the last tenth loses at most {DELAYS[delay]}, no drift is detected",
                holds=loss(worst, rows) <= DELAYS[delay] and n_drifts == 0,
                evidence=f"at most {loss(worst, rows):.4f} ({worst['stream']}); {n_drifts} drifts detected",
            )
        )
    return found


def draw(rows: Sequence[dict[str, Any]], settings: Settings) -> "Figure":
    """A panel for each stream: the average reward along the stream, by delay, of rewards that come in order."""
    titles = list(dict.fromkeys(entry["stream"] for entry in rows))
    shape = {"figsize": (4 * len(titles), 3.8), "layout": "constrained", "squeeze": False}
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(1, len(titles), **shape)
    for panel, title in zip(panels[0], titles, strict=True):
        for entry in rows:
            if entry["stream"] == title and entry["order"] in (IMMEDIATE, IN_ORDER):
                n = len(entry["windows"])
                events = (np.arange(n) + 1) * settings.steps / n
                panel.plot(events, entry["windows"], label=f"late by {entry['delay']:,} events")
        panel.set(xlabel="events", ylabel="average reward of a window", ylim=(0, 1), title=title)
    panels[0][0].legend()
    figure.suptitle(f"The reward forest with late rewards; {settings.trials} trials")
    return figure


STUDY = Study(
    name="lateness",
    title="Late rewards: what the reward forest loses, by delay and order",
    source="Stumpery's own",
    steps=100_000,
    trials=3,
    n_events=lambda settings: n_streams() * len(LATENESSES) * settings.steps * settings.trials,
    run=run,
)
