"""Prequential evaluation: each event tests a model just before the model learns it (Gama et al. 2013)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stumpery import frames
from stumpery.ensembles.averaging import likeliest, predicts_probabilities
from stumpery.errors import InvalidInput
from stumpery.evaluation.metrics import ESTIMATES, class_metrics, number_metrics
from stumpery.evaluation.result import Result, new_axes
from stumpery.labels.classes import checked_class
from stumpery.labels.lists import listed_labels
from stumpery.labels.numbers import checked_target
from stumpery.options import check_callable, check_number, check_one_of, check_whole, shown
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialResult(Result):
    """Metrics, run time and memory of several models over one stream, at the same checkpoints.

    Args:
        checkpoints: Numbers of events after which the curves have a point.
        curves: By model, estimate (cumulative, windowed, fading) and metric: a number per checkpoint. Metrics are
            accuracy, kappa and log loss of classes, or MAE, RMSE and R2 of numbers.
        seconds: Run time so far by model, a number per checkpoint.
        n_bytes: Memory of each model at each checkpoint; NaN for models that do not tell.

    >>> import stumpery as st
    >>> rows, labels = [{"hour": event % 24} for event in range(500)], [event % 24 > 12 for event in range(500)]
    >>> st.prequential(st.HoeffdingTreeClassifier(), rows, labels).metrics
    ('accuracy', 'kappa', 'log_loss')
    """

    checkpoints: Integers
    curves: Mapping[str, Mapping[str, Mapping[str, Floats]]]
    seconds: Mapping[str, Floats]
    n_bytes: Mapping[str, Floats]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(next(iter(self.curves.values()))["cumulative"])

    def columns(self) -> dict[str, Any]:
        """A row for each model and checkpoint."""
        table: dict[str, list[Any]] = {"model": [], "event": [], "seconds": [], "n_bytes": []}
        pairs = [(estimate, metric) for estimate in ESTIMATES for metric in self.metrics]
        table |= {f"{estimate}_{metric}": [] for estimate, metric in pairs}
        for model, curves in self.curves.items():
            table["model"] += [model] * len(self.checkpoints)
            table["event"] += self.checkpoints.tolist()
            table["seconds"] += self.seconds[model].tolist()
            table["n_bytes"] += self.n_bytes[model].tolist()
            for estimate, metric in pairs:
                table[f"{estimate}_{metric}"] += curves[estimate][metric].tolist()
        return table

    def summary(self) -> dict[str, Any]:
        """The final figures."""
        return {"final": self.final()}

    def final(self) -> list[dict[str, Any]]:
        """A row for each model: its metrics over all events, its speed and its memory."""
        return [
            {
                "model": model,
                **{metric: float(curves["cumulative"][metric][-1]) for metric in self.metrics},
                "events_per_s": float(self.checkpoints[-1] / max(self.seconds[model][-1], 1e-12)),
                "n_bytes": float(self.n_bytes[model][-1]),
            }
            for model, curves in self.curves.items()
        ]

    def plot(self, ax: "Axes | None" = None, *, metric: str | None = None, estimate: str = "windowed") -> "Axes":
        """Plot a metric by the number of events, a line for each model."""
        metric = self.metrics[0] if metric is None else metric
        check_one_of("metric", metric, self.metrics)
        check_one_of("estimate", estimate, ESTIMATES)
        ax = ax or new_axes()
        for model, curves in self.curves.items():
            ax.plot(self.checkpoints, curves[estimate][metric], label=model)
        ax.set(xlabel="events", ylabel=f"{estimate} {metric.replace('_', ' ')}")
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
    """Evaluate one model, or several by name: test on every row, then learn it.

    Models that predict probabilities are measured as classifiers, others as regressors. Our models run in one compiled
    loop between checkpoints; any other model with river's verbs is called row by row.

    Args:
        models: A model, or a dict from names to models; they learn in place, up to the error if a row is refused.
        X: Rows as a list of dicts, a frame or an array.
        y: The class or the number of each row.
        window: Number of events of the windowed estimates.
        fading: Fading factor of the fading estimates, between 0 and 1.
        every: Events between checkpoints; by default a fiftieth of the rows.
        progress: Called with a line of text at each checkpoint.

    >>> import stumpery as st
    >>> rows = [{"hour": event % 24} for event in range(2000)]
    >>> labels = ["work" if 8 < row["hour"] < 18 else "home" for row in rows]
    >>> result = prequential(st.HoeffdingTreeClassifier(), rows, labels)
    >>> result.final()[0]["accuracy"] > 0.9
    True
    """
    named = dict(models) if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise InvalidInput("models is empty; there must be at least one")
    for model in named.values():
        _check_model(model)
    check_callable("progress", progress)
    check_whole("window", window, 1)
    check_number("fading", fading, 0, 1, above=True, below=True)
    n = frames.n_rows(X, "X")
    labels = listed_labels("y", y)
    if n != len(labels) or n == 0:
        raise InvalidInput(f"there are {n} rows and {len(labels)} labels; they must be as many, and at least one")
    every = max(1, n // 50) if every is None else every
    check_whole("every", every, 1)
    window, every = min(int(window), n), min(int(every), n)
    checkpoints = np.unique(np.append(np.arange(every, n, every), n))
    kinds = {predicts_probabilities(model) for model in named.values()}
    if len(kinds) > 1:
        raise InvalidInput("some models predict classes and others numbers; they must all do the same")
    for label in labels:  # before any model learns
        checked_class(label) if kinds == {True} else checked_target(label)
    runs = {name: _run(name, model, X, labels, checkpoints, progress) for name, model in named.items()}
    measure = class_metrics if kinds == {True} else number_metrics
    curves = {name: measure(run.predictions, labels, checkpoints, window, fading) for name, run in runs.items()}
    seconds, n_bytes = (
        {name: run.seconds for name, run in runs.items()},
        {name: run.n_bytes for name, run in runs.items()},
    )
    return PrequentialResult(checkpoints, curves, seconds, n_bytes)


class _Run(NamedTuple):
    """One model's predictions for all rows, and its run time and memory at each checkpoint."""

    predictions: list[Any]
    seconds: Floats
    n_bytes: Floats


def _run(name: str, model: Any, rows: Any, labels: list[Any], checkpoints: Integers, progress: Report | None) -> _Run:
    predictions: list[Any] = []
    seconds, n_bytes, elapsed, start, total_score = [], [], 0.0, 0, 0.0
    for end in checkpoints.tolist():
        chunk, chunk_labels = frames.rows_at(rows, np.arange(start, end)), labels[start:end]
        if not hasattr(model, "test_then_learn"):
            chunk = [_as_dict(row) for row in frames.rows(chunk)]
        begin = perf_counter()
        outputs = _test_then_learn(model, chunk, chunk_labels)
        elapsed += perf_counter() - begin
        latest = _named_outputs(model, outputs) if isinstance(outputs, np.ndarray) else outputs
        predictions += latest
        seconds.append(elapsed)
        n_bytes.append(float(getattr(model, "n_bytes", math.nan)))
        start = end
        if progress is not None:
            total_score += sum(map(_score, latest, chunk_labels))
            metric = (
                f"accuracy: {total_score / end:.2%}"
                if isinstance(latest[-1], dict)
                else f"mae: {total_score / end:.4g}"
            )
            progress(_line(name, metric, end, elapsed, n_bytes[-1]))
    return _Run(predictions, np.array(seconds), np.array(n_bytes))


def _check_model(model: Any) -> None:
    """Refuse what does not have river's verbs."""
    verbs = ("learn_one", "predict_proba_one" if predicts_probabilities(model) else "predict_one")
    if isinstance(model, type) or not all(callable(getattr(model, verb, None)) for verb in verbs):
        raise InvalidInput(f"a model is {shown(model)}; it must have learn_one and predict_one")


def _as_dict(row: Any) -> dict[Any, Any]:
    """A row as others' models take it; the values of an array are called 0, 1, ..."""
    row = frames.as_row(row)
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return dict(enumerate(row.tolist()))
    if not isinstance(row, Mapping):
        raise InvalidInput(f"a row is {shown(row)}; it must be a dict, a pandas Series or a 1-D array")
    return dict(row)


def _test_then_learn(model: Any, rows: Any, labels: list[Any]) -> Any:
    """Probabilities or numbers for rows that are learned on the way: an array from our models, a list from others."""
    if hasattr(model, "test_then_learn"):
        return model.test_then_learn(rows, labels)
    predict = model.predict_proba_one if predicts_probabilities(model) else model.predict_one
    outputs = []
    for row, label in zip(rows, labels, strict=True):
        outputs.append(predict(row))
        model.learn_one(row, label)
    return outputs


def _named_outputs(model: Any, outputs: Floats) -> list[Any]:
    """Probabilities by class, without the classes not seen so far; numbers as they are."""
    if outputs.ndim == 1:
        numbers: list[Any] = outputs.tolist()
        return numbers
    named = (zip(model.classes, probabilities, strict=True) for probabilities in outputs.tolist())
    return [{label: probability for label, probability in pairs if probability > 0.0} for pairs in named]


def _score(output: Any, label: Any) -> float:
    """Whether a class was right, or the absolute error of a number."""
    return float(likeliest(output) == label) if isinstance(output, dict) else abs(output - label)


def _line(name: str, metric: str, end: int, elapsed: float, n_bytes: float) -> str:
    """A line of progress in river's format."""
    memory = "" if math.isnan(n_bytes) else f" - {n_bytes / 1024:,.0f} KiB"
    return f"{name} [{end:,}] {metric} - {elapsed:.1f} s{memory}"
