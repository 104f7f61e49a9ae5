"""Discretisation for click prediction: cut points learned online from picked rows, and offline from all rows."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.click_challenge.submissions import N_CANDIDATES, ClickSource, generated_clicks, selector
from stumpery.evaluation.events import Progress
from stumpery.evaluation.regret import trial_seeds
from stumpery.studies.study import Outcome, Part, Parts, Settings, Study, counted, finding, run_parts, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAGES = (0.02, 0.1, 0.5, 1.0)  # of all batches
N_COLUMNS = 5  # the most informative ones
LONG_RUN = 50_000
M, PRIOR = 100.0, 0.0025


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Compare the stumps of SimpleStumps at several stages with stumps of every row that passed."""
    source = generated_clicks()
    wanted = []
    for place in range(2 * settings.trials):  # two streams per trial
        make = partial(_stages, source, settings.steps, *trial_seeds(settings.seed, place))
        wanted.append(Part(f"stream {place}", settings.steps, partial(counted, settings.steps, make)))
    by_stream = run_parts(wanted, settings, parts, progress)
    rows = [{"stream": place, **row} for place, stages in enumerate(by_stream) for row in stages]
    table = [_summary(rows, stage) for stage in STAGES]
    first, last = table[0]["rank difference"], table[-1]["rank difference"]
    higher = table[-1]["online rate"] > table[-1]["offline rate"]
    claims = [
        finding(
            "the online cut points converge to the offline ones",
            holds=last < first and last < 0.1,
            evidence=f"{first:.3f} of all rows lie between the two at first, {last:.3f} in the end",
        ),
        finding(
            "the click rate of picked rows is higher than that of all rows",
            holds=higher,
            evidence=f"{table[-1]['online rate']:.4f} and {table[-1]['offline rate']:.4f}",
        ),
    ]
    return Outcome(
        result=TableResult(rows),
        table=[{key: f"{value:.4f}" for key, value in row.items()} for row in table],
        findings=verdicts(claims, enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(rows),
    )


def _stages(source: ClickSource, n_batches: int, rows_seed: int, own_seed: int) -> list[dict[str, Any]]:
    """Play SimpleStumps and compare its stumps at each stage with offline ones, for the most informative columns."""
    player = selector("SimpleStumps", source, own_seed)
    bank: Any = player.model._bank
    n_numbers = source.stream.n_numbers
    stages = [max(1, round(stage * n_batches)) for stage in STAGES]
    snapshots: dict[int, Any] = {}
    values, labels = [], []
    n_picked_clicks = done = 0
    size = min(1000, n_batches)
    for block in source.stream.blocks(seed=rows_seed, size=N_CANDIDATES * size):
        rows, clicks = block.matrix.reshape(size, N_CANDIDATES, -1), block.clicks.reshape(size, N_CANDIDATES)
        values.append(block.matrix[:, :n_numbers].astype(np.float32))
        labels.append(block.clicks)
        for batch in range(min(size, n_batches - done)):
            row = player.pick_row(rows[batch])
            player.learn_row(rows[batch, row], int(clicks[batch, row]))
            n_picked_clicks += int(clicks[batch, row])
            done += 1
            if done in stages:
                partitions = bank.univariate.partitions
                snapshots[done] = (partitions.cuts[:n_numbers, 0].copy(), n_picked_clicks / done)
        if done >= n_batches:
            break
    all_values, clicked = np.concatenate(values), np.concatenate(labels)
    offline = [offline_stump(all_values[:, column], clicked) for column in range(n_numbers)]
    informative = np.argsort([-gain for _, gain in offline])[:N_COLUMNS]
    records = []
    for stage, when in zip(STAGES, stages, strict=True):
        cuts, rate = snapshots[when]
        for column in informative.tolist():
            known = np.sort(all_values[:, column][~np.isnan(all_values[:, column])])
            ranks = [
                float(np.searchsorted(known, cut, side="right")) / len(known)
                for cut in (cuts[column], offline[column][0])
            ]
            records.append(
                {
                    "stage": stage,
                    "column": f"x{column}",
                    "online_rank": ranks[0],
                    "offline_rank": ranks[1],
                    "online_rate": rate,
                    "offline_rate": float(clicked.mean()),
                }
            )
    return records


def offline_stump(values: Floats, clicks: Integers) -> tuple[float, float]:
    """The threshold of lowest weighted Gini impurity over all values, and its gain per row.

    >>> offline_stump(np.array([1.0, 2.0, 3.0, 4.0] * 500), np.array([0, 0, 1, 1] * 500))[0]
    2.0
    """
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    ordered, clicked = values[known][order], np.cumsum(clicks[known][order])
    ends = np.flatnonzero(np.diff(ordered) > 0)
    if not len(ends):
        return float("nan"), 0.0
    left, total = ends + 1.0, float(len(ordered))

    def impurity(clicked: Any, count: Any) -> Any:
        p = (clicked + M * PRIOR) / (count + M)
        return count * p * (1.0 - p)

    sides = impurity(clicked[ends], left) + impurity(clicked[-1] - clicked[ends], total - left)
    best = int(sides.argmin())
    return float(ordered[ends[best]]), float(impurity(clicked[-1], total) - sides[best]) / total


def _summary(rows: list[dict[str, Any]], stage: float) -> dict[str, Any]:
    selected = [row for row in rows if row["stage"] == stage]
    differences = [abs(row["online_rank"] - row["offline_rank"]) for row in selected]
    return {
        "fraction of batches": stage,
        "rank difference": float(np.median(differences)),
        "online rate": float(np.mean([row["online_rate"] for row in selected])),
        "offline rate": float(np.mean([row["offline_rate"] for row in selected])),
    }


def draw(rows: list[dict[str, Any]]) -> "Figure":
    """Plot the rank difference of online and offline cut, column by column."""
    figure: Figure = need("matplotlib.pyplot", "study").figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    for stream, column in sorted({(row["stream"], row["column"]) for row in rows}):
        selected = [row for row in rows if (row["stream"], row["column"]) == (stream, column)]
        differences = [abs(row["online_rank"] - row["offline_rank"]) for row in selected]
        ax.plot([row["stage"] for row in selected], differences, color="tab:blue", alpha=0.3)
    medians = [_summary(rows, stage)["rank difference"] for stage in STAGES]
    ax.plot(STAGES, medians, color="black", linewidth=2, label="median")
    ax.set(xlabel="fraction of batches", ylabel="rank difference of online and offline cut", xscale="log", ylim=(0, 1))
    ax.legend()
    return figure


STUDY = Study(
    name="click-discretisation",
    title="Convergence of online cut points to the offline ones",
    source="Salperwyck and Urvoy 2011, Figure 5",
    steps=100_000,
    trials=2,
    n_events=lambda settings: 2 * settings.steps * settings.trials,
    run=run,
)
