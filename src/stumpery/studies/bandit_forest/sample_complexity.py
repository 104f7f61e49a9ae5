"""Sample complexity of successive elimination: measured events, and the bounds of the Bandit Forest's paper."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress
from stumpery.studies.bandit_forest.stopping_times import DELTA, Measured, Point, bounds, measure
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, finding, run_parts, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCES = {"best action": "Lemma 3", "best variable": "Lemma 1", "best stump": "Theorem 1", "best forest": "Theorem 3"}
MARKERS = {"best action": "o", "best variable": "s", "best stump": "x", "best forest": "^"}
AXES = {"M": "variables M", "K": "actions K", "gap": "gap of the variables"}
POINTS = (
    *(Point("M", n_variables=n) for n in (4, 16, 64, 256, 1024)),
    *(Point("K", n_actions=n) for n in (2, 4, 8, 16)),
    *(Point("gap", gap=gap) for gap in (0.1, 0.15, 0.2, 0.3, 0.4)),
)


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Measure the stopping times of every point in every trial, with at most `steps` events each."""
    wanted = [
        Part(f"{point}, trial {trial}", settings.steps, partial(measured, point, settings, trial))
        for point in POINTS
        for trial in range(settings.trials)
    ]
    trials, n = run_parts(wanted, settings, parts, progress), settings.trials
    rows_by_point = [rows_of(point, trials[place * n : (place + 1) * n]) for place, point in enumerate(POINTS)]
    rows = [row for of_point in rows_by_point for row in of_point]
    complete = all(row["events"] is not None for row in rows)
    return Outcome(
        result=TableResult(rows),
        table=[line(of_point) for of_point in rows_by_point],
        findings=verdicts(claims(rows, settings.trials), enough=complete),
        draw=lambda: draw(rows, settings.trials),
    )


def measured(point: Point, settings: Settings, trial: int, progress: Progress) -> Measured:
    """One point in one trial; however few events it took, `steps` of the work are done."""
    trial_result = measure(point, settings.seed, trial, settings.steps)
    progress(settings.steps)
    return trial_result


def rows_of(point: Point, trials: list[Measured]) -> list[dict[str, Any]]:
    """A row per target of a point: mean and maximum stopping time, bound, and number of correct answers."""
    rows = []
    for what, bound in bounds(point).items():
        times = [trial[what][0] for trial in trials]
        finished = None not in times
        rows.append(
            {
                "varied": point.varied,
                "n_variables": point.n_variables,
                "n_actions": point.n_actions,
                "gap": point.gap,
                "target": what,
                "events": float(np.mean(times)) if finished else None,
                "max_events": max(times) if finished else None,
                "bound": round(bound),
                "n_correct": sum(trial[what][1] for trial in trials),
            }
        )
    return rows


def line(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of a point as one row of the printed table: stopping times and bounds."""
    first = rows[0]
    shown = {"M": first["n_variables"], "K": first["n_actions"], "gap": first["gap"]}
    for row in rows:
        events = "?" if row["events"] is None else f"{row['events']:,.0f}"
        shown[f"{row['target']}, {SOURCES[row['target']]}"] = f"{events} of {row['bound']:,}"
    return shown


def claims(rows: list[dict[str, Any]], trials: int) -> list[Finding]:
    """The bounds, and how the numbers of events grow."""
    return [*(claim_on_bound(rows, what, trials) for what in SOURCES), *claims_on_growth(rows)]


def claim_on_bound(rows: list[dict[str, Any]], what: str, trials: int) -> Finding:
    """The claim that all trials are within a bound, and enough of their answers correct."""
    selected = [row for row in rows if row["target"] == what]
    shares = [(row["max_events"] or np.nan) / row["bound"] for row in selected]
    right = sum(row["n_correct"] for row in selected) / (trials * len(selected))
    return finding(
        f"the {what} is identified within the bound of {SOURCES[what]}, with probability {1 - DELTA:g}",
        holds=max(shares) <= 1 and right >= 1 - DELTA,
        evidence=f"at most {max(shares):.0%} of the bound was needed, and {right:.1%} of the answers were correct",
    )


def claims_on_growth(rows: list[dict[str, Any]]) -> list[Finding]:
    """Growth with the logarithm of M, in proportion to K, and with the inverse square of the gap."""
    (k, by_k), (gap, by_gap) = (curve(rows, "best variable", varied) for varied in ("K", "gap"))
    power_k, power_gap = (float(np.polyfit(np.log(x), np.log(y), 1)[0]) for x, y in ((k, by_k), (gap, by_gap)))
    return [
        *(claim_on_variables(rows, what) for what in ("best variable", "best forest")),
        finding(
            "the events to identify the best variable grow linearly with K, up to a logarithm",
            holds=0.9 < power_k < 1.3,
            evidence=f"they grow with K to the power {power_k:.2f}",
        ),
        finding(
            "they grow with the inverse square of the gap, up to a logarithm",
            holds=-2.4 < power_gap < -1.8,
            evidence=f"they grow with the gap to the power {power_gap:.2f}",
        ),
    ]


def claim_on_variables(rows: list[dict[str, Any]], what: str) -> Finding:
    """Whether the number of events grows with the logarithm of the number of variables."""
    m, by_m = curve(rows, what, "M")
    fit = float(np.corrcoef(np.log(m), by_m)[0, 1])
    return finding(
        f"the events to identify the {what} grow with the logarithm of M",
        holds=fit > 0.95 and by_m[-1] < 2 * by_m[0],
        evidence=f"{m[-1] / m[0]:.0f} times the variables took {by_m[-1] / by_m[0]:.2f} times the events; "
        f"they correlate by {fit:.3f} with log M",
    )


def curve(rows: list[dict[str, Any]], what: str, varied: str, column: str = "events") -> tuple[Any, Any]:
    """The varied parameter and a column of its rows, as arrays."""
    name = {"M": "n_variables", "K": "n_actions", "gap": "gap"}[varied]
    selected = [row for row in rows if row["varied"] == varied and row["target"] == what]
    numbers = [[row[name] for row in selected], [np.nan if row[column] is None else row[column] for row in selected]]
    return np.array(numbers[0], dtype=np.float64), np.array(numbers[1], dtype=np.float64)


def draw(rows: list[dict[str, Any]], trials: int) -> "Figure":
    """Measured means as lines, bounds dashed in the same colour, a panel for each number that is varied."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(12, 4.6), layout="constrained")
    panels = figure.subplots(1, len(AXES), sharey=True)
    for panel, (varied, label) in zip(panels, AXES.items(), strict=True):
        for what, source in SOURCES.items():
            look: Any = {
                "marker": MARKERS[what],
                "markersize": 9,
                "fillstyle": "none",
            }  # variable and stump may coincide
            (drawn,) = panel.plot(*curve(rows, what, varied), label=f"{what}, measured", **look)
            panel.plot(*curve(rows, what, varied, "bound"), "--", color=drawn.get_color(), label=source)
        points = curve(rows, "best action", varied)[0].tolist()
        panel.set(xlabel=label, xscale="log", yscale="log")
        panel.set_xticks(points, [f"{point:g}" for point in points])
        panel.minorticks_off()
    panels[0].set_ylabel("events until identified")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle(f"Sample complexity of elimination, measured and bound: mean of {trials} trials")
    return figure


STUDY = Study(
    name="stump-sample-complexity",
    title="Sample complexity of elimination by number of variables, actions and gap",
    source="Feraud et al. 2016, Lemmas 1 and 3, Theorems 1 and 3",
    steps=2_000_000,
    trials=20,
    n_events=lambda settings: len(POINTS) * settings.steps * settings.trials,
    run=run,
)
