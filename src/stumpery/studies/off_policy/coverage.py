"""Off-policy evaluation where the truth is known: bias and error of estimators, coverage of intervals.

Logs are of the problems in `problems.py`, logged by a uniform policy, by a frozen forest with epsilon-greedy
exploration, and by a forest that learns while it logs. The target policy is a forest that learned a few events of its
own. Normal intervals "at all times" are looked at as often as the confidence sequences.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation import off_policy
from stumpery.evaluation.events import Progress
from stumpery.evaluation.off_policy.estimates import NAMES
from stumpery.evaluation.regret import trial_seeds
from stumpery.studies.off_policy.problems import EPSILON_GREEDY, PROBLEMS, REGIMES, UNIFORM, known_log
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stumpery.evaluation.off_policy.reporting.report import OffPolicyReport

UNBIASED = (
    ("IPS", "normal"),
    ("SNIPS", "normal"),
    ("DR", "normal"),
    ("SNDR", "normal"),
    ("SNIPS", "bootstrap"),
    ("DR", "bootstrap"),
)
BIASED = (("DM", "normal"), ("Switch-DR", "normal"), ("DRos", "normal"))
OF_IPS = ("likelihood", "Clopper-Pearson")
SEQUENCES = ("sequence", "betting")
AT_ALL_TIMES = ", at all times"
DIFFERENCE = "difference to the log's policy, sequence"
MIN_TRIALS = 100  # to judge coverage; 200 repetitions: --trials 200
Row = dict[str, Any]


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Repeat every problem and regime, at a tenth of the events and at all of them."""
    sizes = (max(settings.steps // 10, 1), settings.steps)
    keys, wanted = [], []
    for trial, problem, regime, n in product(range(settings.trials), PROBLEMS, REGIMES, sizes):
        make = partial(repetition, problem, regime, n, *trial_seeds(settings.seed, trial))
        keys.append((problem, regime, n))
        wanted.append(Part(f"{problem}, {regime}, {n} events, trial {trial}", n, partial(counted, n, make)))
    found = run_parts(wanted, settings, parts, progress)
    rows = []
    for key in dict.fromkeys(keys):
        rows += summarised(*key, [each for own, each in zip(keys, found, strict=True) if own == key])
    return Outcome(
        result=TableResult(rows),
        table=[row for row in rows if row["events"] == settings.steps],
        draw=lambda: draw(rows),
        findings=verdicts(claims(rows, settings.steps), enough=settings.trials >= MIN_TRIALS),
    )


def repetition(problem: str, regime: str, n: int, events_seed: int, policy_seed: int) -> Row:
    """The errors of estimates on one log, which intervals hold, and how wide they are."""
    known = known_log(problem, regime, n, events_seed, policy_seed)
    report = off_policy.evaluate(known.log, {"target": known.target}, least_probability=known.least_probability)
    wanted = [*UNBIASED, *BIASED, *(("IPS", kind) for kind in OF_IPS)]
    intervals = {f"{name}, {kind}": report.interval("target", kind, name) for name, kind in wanted}
    holds = {name: covers(interval, known.truth) for name, interval in intervals.items()}
    widths = {name: interval.width for name, interval in intervals.items()}
    for kind in SEQUENCES:
        holds[kind + AT_ALL_TIMES] = all(covers(each, known.truth) for _, each in report.sequence("target", kind))
        widths[kind + AT_ALL_TIMES] = report.interval("target", kind).width
    if known.logged_value is not None:
        gain = report.difference("target", "logged")
        holds[DIFFERENCE], widths[DIFFERENCE] = covers(gain, known.truth - known.logged_value), gain.width
    holds[f"IPS, normal{AT_ALL_TIMES}"] = normal_holds_at_all_times(known.log, report, known.target, known.truth)
    return {
        "errors": {name: report.value("target", name) - known.truth for name in NAMES},
        "holds": holds,
        "widths": widths,
    }


def normal_holds_at_all_times(log: Any, report: "OffPolicyReport", target: Any, truth: float) -> bool:
    """Whether the normal interval of IPS holds whenever the confidence sequences were noted."""
    terms: list[Floats] = []
    for chunk in log.chunks():
        own = target.probabilities_many(chunk.contexts)[np.arange(len(chunk)), chunk.actions]
        terms.append(own / chunk.probabilities * chunk.rewards)
    joined = np.concatenate(terms)
    looks = [events for events, _ in report.sequence("target")]
    return all(covers(off_policy.normal_interval(joined[:look]), truth) for look in looks)


def covers(interval: off_policy.Interval, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return bool(interval.low <= truth <= interval.high)


def summarised(problem: str, regime: str, n: int, trials: Sequence[Row]) -> list[Row]:
    """A row for each estimator, bias and root mean squared error, and for each interval, coverage and mean width."""
    rows = []
    shared = {"problem": problem, "log": regime, "events": n}
    blank = {"bias": float("nan"), "rmse": float("nan"), "coverage": float("nan"), "width": float("nan")}
    for name in NAMES:
        errors: Floats = np.array([trial["errors"][name] for trial in trials])
        figures = {"bias": float(errors.mean()), "rmse": float(np.sqrt((errors**2).mean()))}
        rows.append({**shared, "what": name, **blank, **figures})
    for name in trials[0]["holds"]:
        coverage = float(np.mean([trial["holds"][name] for trial in trials]))
        width = float(np.mean([trial["widths"].get(name, float("nan")) for trial in trials]))
        rows.append({**shared, "what": name, **blank, "coverage": coverage, "width": width})
    return rows


def claims(rows: Sequence[Row], n: int) -> list[Finding]:
    """What the guide says of coverage and of error; coverage is that over all problems and regimes that count."""
    own = [row for row in rows if row["events"] == n]

    def coverage(names: Sequence[str], regimes: Sequence[str] = REGIMES) -> dict[str, float]:
        return {
            name: float(np.mean([row["coverage"] for row in own if row["what"] == name and row["log"] in regimes]))
            for name in names
        }

    fixed = coverage([f"{name}, {kind}" for name, kind in UNBIASED], (UNIFORM, EPSILON_GREEDY))
    likelihood = coverage(["IPS, likelihood"], (UNIFORM, EPSILON_GREEDY))
    always = {
        f"{row['problem']} {row['log']} {row['what']}": row["coverage"]
        for row in own
        if row["what"] in (*(kind + AT_ALL_TIMES for kind in SEQUENCES), DIFFERENCE)
    }
    normal = coverage([f"IPS, normal{AT_ALL_TIMES}"])
    errors = [
        (row["rmse"], plain["rmse"])
        for row in own
        for plain in own
        if (row["what"], plain["what"]) == ("DR", "IPS") and all(row[key] == plain[key] for key in ("problem", "log"))
    ]
    return [
        finding(
            "intervals at a fixed number of events cover 93 to 98 % where the logging policy stays",
            holds=all(0.93 <= each <= 0.98 for each in fixed.values()),
            evidence=listed(fixed),
        ),
        finding(
            "the empirical likelihood interval of IPS covers at least 93 % there",
            holds=min(likelihood.values()) >= 0.93,
            evidence=listed(likelihood),
        ),
        finding(
            "confidence sequences hold at all times in at least 95 % of logs, also of a policy that learns",
            holds=min(always.values()) >= 0.95,
            evidence=listed(always),
        ),
        finding("normal intervals do not", holds=max(normal.values()) < 0.95, evidence=listed(normal)),
        finding(
            "doubly robust estimates have less error than inverse propensity",
            holds=all(robust < plain for robust, plain in errors),
            evidence=", ".join(f"{robust:.4f} and {plain:.4f}" for robust, plain in errors),
        ),
    ]


def listed(figures: dict[str, float]) -> str:
    """Figures with their names."""
    return ", ".join(f"{name} {figure:.3f}" for name, figure in figures.items())


def draw(rows: Sequence[Row]) -> "Figure":
    """Error of each estimator, and coverage of each interval, by regime; a row of panels for each problem."""
    pyplot = need("matplotlib.pyplot", "study")
    figure: Figure
    figure, panels = pyplot.subplots(len(PROBLEMS), 2, figsize=(13, 10), layout="constrained")
    n = max(row["events"] for row in rows)
    for (left, right), problem in zip(panels, PROBLEMS, strict=True):
        for place, regime in enumerate(REGIMES):
            own = [row for row in rows if (row["problem"], row["log"], row["events"]) == (problem, regime, n)]
            for panel, field in ((left, "rmse"), (right, "coverage")):
                names = list(dict.fromkeys(row["what"] for row in rows if row[field] == row[field]))
                shown = [row for row in own if row[field] == row[field]]
                heights = np.array([names.index(row["what"]) for row in shown]) + 0.22 * (place - 1)
                panel.plot([row[field] for row in shown], heights, "o", color=f"C{place}", label=regime)
                panel.set_yticks(range(len(names)), names)
        right.axvspan(0.93, 0.98, color="0.9", zorder=0)
        right.axvline(0.95, color="0.7", linewidth=0.8, zorder=0)
        left.set(xlabel="root mean squared error", title=f"{problem}: estimators, {n:,} events")
        right.set(xlabel="coverage", title=f"{problem}: 95 % intervals")
        for panel in (left, right):
            panel.invert_yaxis()
    panels[0][0].legend(title="logged by")
    return figure


STUDY = Study(
    name="off-policy",
    title="Off-policy evaluation: bias, error and coverage where the truth is known",
    source="Dudik et al. 2011; Karampatziakis, Mineiro and Ramdas 2021",
    steps=10_000,
    trials=10,
    n_events=lambda settings: (
        len(PROBLEMS) * len(REGIMES) * settings.trials * (settings.steps + max(settings.steps // 10, 1))
    ),
    run=run,
)
