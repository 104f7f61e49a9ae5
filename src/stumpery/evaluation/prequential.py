"""Test, then learn: how right a model is about each event just before it learns it.

Figures come three ways: over all events so far, over the last window, and fading (each event counts a little less than
the next). Kappa is how much better than a guess by the classes' shares; log loss is of the probabilities given.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery import frames
from stumpery.ensembles.averaging import likeliest, predicts_probabilities
from stumpery.evaluation.result import Result
from stumpery.labels.classes import checked_class
from stumpery.labels.lists import listed_labels
from stumpery.options import check_number, check_one_of, check_whole, shown
from stumpery.system.extras import need
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAYS = ("accumulated", "windowed", "fading")
CLASS_METRICS = ("accuracy", "kappa", "log_loss")
NUMBER_METRICS = ("mae", "rmse", "r2")
MIN_PROBABILITY = 1e-15
Report = Callable[[str], None]


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialResult(Result):
    """Curves of several models over one stream, at the same checkpoints."""

    checkpoints: Integers
    curves: Mapping[str, Mapping[str, Mapping[str, Floats]]]  # model, way, metric
    seconds: Mapping[str, Floats]
    n_bytes: Mapping[str, Floats]  # NaN where a model does not say

    @property
    def metrics(self) -> tuple[str, ...]:
        """What was measured."""
        return tuple(next(iter(self.curves.values()))["accumulated"])

    def columns(self) -> dict[str, Any]:
        """A row for each model and checkpoint."""
        table: dict[str, list[Any]] = {"model": [], "event": [], "seconds": [], "n_bytes": []}
        names = [f"{way}_{metric}" for way in WAYS for metric in self.metrics]
        table |= {name: [] for name in names}
        for model, ways in self.curves.items():
            table["model"] += [model] * len(self.checkpoints)
            table["event"] += self.checkpoints.tolist()
            table["seconds"] += self.seconds[model].tolist()
            table["n_bytes"] += self.n_bytes[model].tolist()
            for way in WAYS:
                for metric in self.metrics:
                    table[f"{way}_{metric}"] += ways[way][metric].tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each model: its figures over all events, its speed and its memory."""
        return [
            {
                "model": model,
                **{metric: float(ways["accumulated"][metric][-1]) for metric in self.metrics},
                "events_per_s": float(self.checkpoints[-1] / max(self.seconds[model][-1], 1e-12)),
                "n_bytes": float(self.n_bytes[model][-1]),
            }
            for model, ways in self.curves.items()
        ]

    def plot(self, ax: "Axes | None" = None, *, metric: str | None = None, way: str = "windowed") -> "Axes":
        """A metric against the events, a line for each model."""
        metric = self.metrics[0] if metric is None else metric
        check_one_of("metric", metric, self.metrics)
        check_one_of("way", way, WAYS)
        ax = ax or need("matplotlib.pyplot", "study").subplots()[1]
        for model, ways in self.curves.items():
            ax.plot(self.checkpoints, ways[way][metric], label=model)
        ax.set(xlabel="events", ylabel=f"{way} {metric.replace('_', ' ')}")
        ax.legend()
        return ax


def prequential(
    models: Any,
    X: Any,  # noqa: N803 - as river and scikit-learn name it
    y: Any,
    *,
    window: int = 1000,
    fading: float = 0.999,
    every: int | None = None,
    progress: Report | None = None,
) -> PrequentialResult:
    """Let one model, or several by name, predict and then learn every row.

    Models of ours go along each stretch in one compiled loop; any other with river's verbs is called one by one. Models
    that predict probabilities are measured as classifiers, others by their numbers. `progress` gets a line
    a checkpoint.

    >>> import stumpery as st
    >>> rows = [{"hour": event % 24} for event in range(2000)]
    >>> labels = ["work" if 8 < row["hour"] < 18 else "home" for row in rows]
    >>> result = prequential(st.HoeffdingTreeClassifier(), rows, labels)
    >>> result.final()[0]["accuracy"] > 0.9
    True
    """
    named = dict(models) if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty; there must be at least one")
    check_whole("window", window, 1)
    check_number("fading", fading, 0, 1, above=True, below=True)
    n = frames.n_rows(X, "X")
    labels = listed_labels("y", y)
    if n != len(labels) or n == 0:
        raise ValueError(f"there are {n} rows and {len(labels)} labels; they must be as many, and at least one")
    every = max(1, n // 50) if every is None else every
    check_whole("every", every, 1)
    ends = np.unique(np.append(np.arange(every, n, every), n))
    kinds = {predicts_probabilities(model) for model in named.values()}
    if len(kinds) > 1:
        raise ValueError("some models predict classes and others numbers; they must all do the same")
    runs = {name: _run(name, model, X, labels, ends, progress) for name, model in named.items()}
    measured = _classes_measured if kinds == {True} else _numbers_measured
    curves = {name: measured(run[0], labels, ends, window, fading) for name, run in runs.items()}
    seconds, sizes = {name: run[1] for name, run in runs.items()}, {name: run[2] for name, run in runs.items()}
    return PrequentialResult(ends, curves, seconds, sizes)


def _run(
    name: str, model: Any, rows: Any, labels: list[Any], ends: Integers, progress: Report | None
) -> tuple[list[Any], Floats, Floats]:
    """What was predicted for every row, and time and memory at each checkpoint."""
    if not hasattr(model, "learn_one") or isinstance(model, type):
        raise ValueError(f"a model is {shown(model)}; it must have learn_one and predict_one")
    predicted: list[Any] = []
    seconds, sizes, spent, start, total = [], [], 0.0, 0, 0.0
    for end in ends.tolist():
        part, own = frames.rows_at(rows, np.arange(start, end)), labels[start:end]
        if not hasattr(model, "test_then_learn"):
            part = [
                dict(row) if isinstance(row, Mapping) else dict(enumerate(row.tolist()))
                for row in map(frames.as_row, frames.rows(part))
            ]
        begin = perf_counter()
        found = _stretch(model, part, own)
        spent += perf_counter() - begin
        latest = _as_dicts(model, found) if isinstance(found, np.ndarray) else found
        predicted += latest
        seconds.append(spent)
        sizes.append(_size(model))
        start = end
        if progress is not None:
            total += sum(map(_scored, latest, own))
            figure = f"accuracy: {total / end:.2%}" if isinstance(latest[-1], dict) else f"mae: {total / end:.4g}"
            progress(_line(name, figure, end, spent, sizes[-1]))
    return predicted, np.array(seconds), np.array(sizes)


def _stretch(model: Any, rows: Any, labels: list[Any]) -> Any:
    """Chances or numbers for a stretch of rows that is learned on the way: an array of ours, a list of others'."""
    if hasattr(model, "test_then_learn"):
        return model.test_then_learn(rows, labels)
    predicts = model.predict_proba_one if predicts_probabilities(model) else model.predict_one
    predicted = []
    for row, label in zip(rows, labels, strict=True):
        predicted.append(predicts(row))
        model.learn_one(row, label)
    return predicted


def _as_dicts(model: Any, found: Floats) -> list[Any]:
    """Chances by class, those of classes that had not come left out; numbers as they are."""
    if found.ndim == 1:
        numbers: list[Any] = found.tolist()
        return numbers
    named = (zip(model.classes, probabilities, strict=True) for probabilities in found.tolist())
    return [{label: probability for label, probability in pairs if probability > 0.0} for pairs in named]


def _size(model: Any) -> float:
    return float(getattr(model, "n_bytes", math.nan))


def _scored(found: Any, label: Any) -> float:
    """Whether a class was right, or how far off a number was."""
    return float(likeliest(found) == label) if isinstance(found, dict) else abs(found - label)


def _line(name: str, figure: str, end: int, spent: float, size: float) -> str:
    """As river writes it."""
    memory = "" if math.isnan(size) else f" - {size / 1024:,.0f} KiB"
    return f"{name} [{end:,}] {figure} - {spent:.1f} s{memory}"


def _classes_measured(
    predicted: list[Any], labels: list[Any], ends: Integers, window: int, fading: float
) -> dict[str, dict[str, Floats]]:
    names = list(dict.fromkeys([*map(checked_class, labels), *(label for found in predicted for label in found)]))
    places = {label: place for place, label in enumerate(names)}
    true = np.array([places[checked_class(label)] for label in labels])
    guessed = np.array([places.get(likeliest(found), len(names)) for found in predicted])
    lost = -np.log(
        [max(found.get(label, 0.0), MIN_PROBABILITY) for found, label in zip(predicted, labels, strict=True)]
    )
    found = {}
    for way in WAYS:
        right = _mean((guessed == true).astype(float), way, ends, window, fading)
        by_chance = _by_chance([true, guessed], len(names) + 1, way, ends, window, fading)
        kappa = np.where(by_chance < 1.0, (right - by_chance) / np.maximum(1.0 - by_chance, 1e-12), 0.0)
        found[way] = {"accuracy": right, "kappa": kappa, "log_loss": _mean(lost, way, ends, window, fading)}
    return found


def _numbers_measured(
    predicted: list[Any], labels: list[Any], ends: Integers, window: int, fading: float
) -> dict[str, dict[str, Floats]]:
    true, found = np.array(labels, dtype=float), np.array(predicted, dtype=float)
    table = {"off": np.abs(found - true), "squares": (found - true) ** 2, "true": true, "true_squares": true**2}

    def figures(means: Mapping[str, Floats]) -> dict[str, Floats]:
        variance = np.maximum(means["true_squares"] - means["true"] ** 2, 1e-300)
        return {"mae": means["off"], "rmse": np.sqrt(means["squares"]), "r2": 1.0 - means["squares"] / variance}

    return {way: figures({key: _mean(part, way, ends, window, fading) for key, part in table.items()}) for way in WAYS}


def _by_chance(codes: list[Integers], n: int, way: str, ends: Integers, window: int, fading: float) -> Floats:
    """How often guesses by the shares of classes alone would be right, at each checkpoint."""
    found, totals, weight, start = [], np.zeros((2, n)), 0.0, 0
    for end in ends.tolist():
        kept = {"accumulated": 1.0, "windowed": 0.0, "fading": fading ** (end - start)}[way]
        start = max(end - window, 0) if way == "windowed" else start
        each = fading ** np.arange(end - start - 1, -1, -1.0) if way == "fading" else np.ones(end - start)
        totals = kept * totals + [np.bincount(part[start:end], each, n) for part in codes]
        weight = kept * weight + each.sum()
        found.append(float(totals[0] @ totals[1]) / weight**2)
        start = end
    return np.array(found)


def _mean(values: Floats, way: str, ends: Integers, window: int, fading: float) -> Floats:
    """The mean at each checkpoint: of all values so far, of the last `window`, or fading."""
    if way != "fading":
        sums = np.concatenate([[0.0], np.cumsum(values)])
        starts = np.zeros_like(ends) if way == "accumulated" else np.maximum(ends - window, 0)
        means: Floats = (sums[ends] - sums[starts]) / (ends - starts)
        return means
    found, total, weight, start = [], 0.0, 0.0, 0
    for end in ends.tolist():
        faded = fading ** np.arange(end - start - 1, -1, -1.0)
        total = total * fading ** (end - start) + float(faded @ values[start:end])
        weight = weight * fading ** (end - start) + faded.sum()
        found.append(total / weight)
        start = end
    return np.array(found)
