"""Claims of lecture notes on ensembles: variance of averages, out-of-bag accuracy, boosting and stacking.

The problem: points in the unit square with three columns of noise, three classes divided by two slanted lines, 10 % of
the labels replaced at random.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.ensembles import OnlineBagging, OnlineBoosting, OnlineStacking
from stumpery.evaluation.events import Progress
from stumpery.streaming import HoeffdingTreeClassifier, HoeffdingTreeRegressor
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, finding, run_parts, verdicts
from stumpery.studies.table import TableResult
from stumpery.system.extras import need
from stumpery.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (1, 2, 4, 8, 16)
N_REPEATS = 20
LONG_RUN = 2000
LABEL_NOISE = 0.1
OUT_OF_BAG = "bagged trees, out of bag"
Row = dict[str, Any]


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Measure variances and accuracies in every trial."""
    wanted = [
        Part(f"{measure.__name__} {trial}", settings.steps, partial(measure, settings, trial))
        for trial in range(settings.trials)
        for measure in (variances, accuracies)
    ]
    rows: list[Row] = [row for found in run_parts(wanted, settings, parts, progress) for row in found]
    table = trial_means(rows)
    return Outcome(
        result=TableResult(rows),
        table=table,
        findings=verdicts(claims(table), enough=settings.steps >= LONG_RUN),
        draw=lambda: draw(table),
    )


def accuracies(settings: Settings, trial: int, progress: Progress) -> list[Row]:
    """The prequential accuracy of every model on one stream."""
    rows: list[Row] = []
    rng = np.random.default_rng([settings.seed, trial, 1])
    matrix, labels = problem(rng, settings.steps)
    dicts = [dict(zip("abcde", row, strict=True)) for row in matrix.tolist()]
    stump, tree = HoeffdingTreeClassifier(max_depth=1, leaf_prediction="mc"), HoeffdingTreeClassifier()
    models: dict[str, Any] = {
        "stump": stump,
        "tree": tree,
        "bagged trees": OnlineBagging(models=tree, n_models=10, seed=trial),
        "boosted stumps": OnlineBoosting(models=stump, n_models=10, seed=trial),
        "stacked": OnlineStacking(models=[stump, tree, HoeffdingTreeClassifier(leaf_prediction="nb")]),
    }
    for name, model in models.items():
        right = 0
        for row, label in zip(dicts, labels, strict=True):
            right += model.predict_one(row) == label
            model.learn_one(row, label)
        rows.append(figure(name, right / len(labels), trial))
    rows.append(figure(OUT_OF_BAG, models["bagged trees"].out_of_bag, trial))
    progress(settings.steps)
    return rows


def figure(name: str, value: float, trial: int) -> Row:
    """One number of a trial."""
    return {"figure": name, "trial": trial, "value": float(value)}


def variances(settings: Settings, trial: int, progress: Progress) -> list[Row]:
    """The variance of the mean prediction of k trees that learned independent samples."""
    rng = np.random.default_rng([settings.seed, trial, 0])
    n = min(settings.steps, 300)
    asked = rng.random((20, 2))
    rows: list[Row] = []
    single = np.array([own_tree(rng, n, asked) for _ in range(N_REPEATS * SIZES[-1])])
    for k in SIZES:
        groups = single.reshape(-1, k, len(asked)).mean(axis=1)  # no tree is in two groups
        rows.append(figure(f"variance of {k}", groups.var(axis=0).mean(), trial))
    progress(settings.steps)
    return rows


def own_tree(rng: np.random.Generator, n: int, asked: Floats) -> Floats:
    """The predictions of a tree that learned n independent events."""
    rows = rng.random((n, 2))
    model = HoeffdingTreeRegressor(leaf_prediction="mc")
    model.learn_many(rows, rows.sum(axis=1) + rng.normal(size=n))
    return model.predict_many(asked)


def problem(rng: np.random.Generator, n: int) -> tuple[Floats, list[str]]:
    """Rows and labels."""
    matrix = rng.random((n, 5))
    true = (matrix[:, 0] + matrix[:, 1] > 1.0).astype(int) + (matrix[:, 0] - matrix[:, 1] > 0.3)
    given = np.where(rng.random(n) < LABEL_NOISE, rng.integers(0, 3, n), true)
    return matrix, [f"class {label}" for label in given.tolist()]


def trial_means(rows: list[Row]) -> list[Row]:
    """The mean of each figure over the trials."""
    names = dict.fromkeys(row["figure"] for row in rows)
    return [{"figure": n, "mean": float(np.mean([r["value"] for r in rows if r["figure"] == n]))} for n in names]


def claims(table: list[Row]) -> list[Finding]:
    """The claims of the lecture notes."""
    mean = {row["figure"]: row["mean"] for row in table}
    fall = mean["variance of 1"] / mean[f"variance of {SIZES[-1]}"]
    gap = mean[OUT_OF_BAG] - mean["bagged trees"]
    best = max(mean["stump"], mean["tree"])
    return [
        finding(
            "the variance of the mean of k independent predictions is 1/k of one's",
            holds=0.7 * SIZES[-1] < fall < 1.4 * SIZES[-1],
            evidence=f"with {SIZES[-1]} trees it is {fall:.1f} times smaller",
        ),
        finding(
            "the online out-of-bag estimate agrees with prequential accuracy",
            holds=abs(gap) < 0.02,
            evidence=f"{mean[OUT_OF_BAG]:.4f} out of bag, {mean['bagged trees']:.4f} prequential",
        ),
        finding(
            "boosting beats the model that it boosts",
            holds=mean["boosted stumps"] > mean["stump"],
            evidence=f"{mean['boosted stumps']:.4f} boosted, {mean['stump']:.4f} a stump alone",
        ),
        finding(
            "stacking is at least as good as the best of its models, within a hundredth",
            holds=mean["stacked"] > best - 0.01,
            evidence=f"{mean['stacked']:.4f} stacked, {best:.4f} the best alone",
        ),
    ]


def draw(table: list[Row]) -> "Figure":
    """The variance by the number of models, and accuracies."""
    figure: Figure
    figure, (left, right) = need("matplotlib.pyplot", "study").subplots(1, 2, figsize=(11, 4), layout="constrained")
    mean = {row["figure"]: row["mean"] for row in table}
    variances = [mean[f"variance of {k}"] for k in SIZES]
    left.loglog(SIZES, variances, "o-", label="measured")
    left.loglog(SIZES, [variances[0] / k for k in SIZES], "--", label="1/k")
    left.set_xticks(SIZES, labels=[str(k) for k in SIZES])
    left.minorticks_off()
    left.set_yticks(variances, labels=[f"{variance:.3f}" for variance in variances])
    left.set(title="variance of averaged predictions", xlabel="number of models", ylabel="variance")
    left.legend()
    names = [
        name for name in ("stacked", "boosted stumps", OUT_OF_BAG, "bagged trees", "tree", "stump") if name in mean
    ]
    bars = right.barh(names, [mean[name] for name in names], color=["C1" if n == OUT_OF_BAG else "C0" for n in names])
    right.bar_label(bars, fmt="%.3f", padding=3)
    right.set(title="three classes, 10 % label noise", xlabel="prequential accuracy", xlim=(0.3, 1.0))
    return figure


STUDY = Study(
    name="ensembles",
    title="Claims on averaging, bagging, boosting and stacking",
    source="Lecture notes on ensembles",
    steps=5_000,
    trials=5,
    n_events=lambda settings: 2 * settings.steps * settings.trials,
    run=run,
)
