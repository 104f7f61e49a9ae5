"""Speed of Hoeffding trees and forests, prequentially, on Covertype and electricity, against MOA and river.

MOA runs through CapyMOA, in Java.
"""

from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from stumpery.benchmarks import covertype
from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.evaluation.moa import run_moa
from stumpery.streaming import ForestClassifier, HoeffdingTreeClassifier
from stumpery.streams.datasets import load as datasets
from stumpery.system.extras import need

N_STREAM_EVENTS, N_SHORT, N_ONE_BY_ONE = 100_000, 20_000, 5_000
N_TREES = 10
N_ELECTRICITY, N_ELECTRICITY_COLUMNS = 20_000, 8


def benchmarks() -> Iterator[Benchmark]:
    """Events per second of frames and of single dicts."""
    moa: dict[str, Any] = {"needs": "capymoa", "unit": "events/s"}
    river: dict[str, Any] = {"needs": "river", "unit": "events/s"}
    tree, forest = HoeffdingTreeClassifier, ForestClassifier
    yield Benchmark(
        name="streams/tree/many-beside-moa",
        ours=learn_frame(tree, N_STREAM_EVENTS),
        peer=of_moa("HoeffdingTree", N_STREAM_EVENTS),
        peer_name="MOA HoeffdingTree, in its own Java loop",
        **moa,
    )
    yield Benchmark(
        name="streams/tree/many-beside-capymoa",
        ours=learn_frame(tree, N_SHORT),
        peer=of_moa("HoeffdingTree", N_SHORT, from_python=True),
        peer_name="CapyMOA HoeffdingTree, predict and train from Python",
        **moa,
    )
    yield Benchmark(
        name="streams/tree/many-beside-river",
        ours=learn_frame(tree, N_SHORT),
        peer=of_river("tree.HoeffdingTreeClassifier", N_ONE_BY_ONE),
        peer_name="river HoeffdingTreeClassifier, one by one",
        **river,
    )
    yield Benchmark(
        name="streams/tree/dicts",
        ours=learn_dicts(tree, N_ONE_BY_ONE),
        peer=of_river("tree.HoeffdingTreeClassifier", N_ONE_BY_ONE),
        peer_name="river HoeffdingTreeClassifier",
        **river,
    )
    yield Benchmark(
        name="streams/tree/progressive-val-score",
        ours=progressive_validation(tree),
        peer=progressive_validation(partial(new_of_river, "tree.HoeffdingTreeClassifier")),
        peer_name="river HoeffdingTreeClassifier, river's loop over electricity for both",
        **river,
    )
    yield Benchmark(
        name="streams/forest/many-beside-moa",
        ours=learn_frame(forest, N_SHORT),
        peer=of_moa("AdaptiveRandomForestClassifier", N_SHORT, ensemble_size=N_TREES),
        peer_name="MOA AdaptiveRandomForest, 10 trees",
        **moa,
    )
    yield Benchmark(
        name="streams/forest/dicts",
        ours=learn_dicts(forest, N_ONE_BY_ONE // 5),
        peer=of_river("forest.ARFClassifier", N_ONE_BY_ONE // 5),
        peer_name="river ARFClassifier, 10 trees",
        **river,
    )


@cache
def rows(n: int) -> tuple[Any, list[int]]:
    """Covertype's first rows, shuffled, and their classes."""
    batch = covertype.wide(n)
    return batch.contexts, [covertype.ACTIONS[action] for action in batch.rewards.argmax(axis=1).tolist()]


@cache
def dicts(n: int) -> list[dict[str, Any]]:
    """The same as dicts."""
    records: list[dict[str, Any]] = rows(n)[0].to_dicts()
    return records


def learn_frame(kind: Any, n: int) -> Measure:
    """Predict and learn a frame in one compiled loop."""

    def run() -> float:
        model, (frame, labels) = kind(), rows(n)
        start = perf_counter()
        model.test_then_learn(frame, labels)
        return n / (perf_counter() - start)

    return run


def learn_dicts(kind: Any, n: int) -> Measure:
    """Predict and learn dict after dict."""

    def run() -> float:
        model, labels = kind(), rows(n)[1]
        start = perf_counter()
        for row, label in zip(dicts(n), labels, strict=True):
            model.predict_one(row)
            model.learn_one(row, label)
        return n / (perf_counter() - start)

    return run


def of_river(path: str, n: int) -> Measure:
    """Predict and learn dict after dict with a class of river."""
    return learn_dicts(partial(new_of_river, path), n)


def new_of_river(path: str) -> Any:
    """A model of river by its module's and its class's name."""
    folder, _, name = path.partition(".")
    return getattr(need(f"river.{folder}", "bench"), name)()


@cache
def electricity() -> list[tuple[dict[str, Any], str]]:
    """The first rows of electricity in their order, and their classes; generated ones if the dataset is not available.

    River's loop reads the pairs as they are.
    """
    try:
        datasets.path("electricity")
    except FileNotFoundError:
        values = np.random.default_rng(0).random((N_ELECTRICITY, N_ELECTRICITY_COLUMNS))
        labels = np.where(values[:, 0] > values[:, 1], "UP", "DOWN").tolist()
        return [
            ({f"x{i}": x for i, x in enumerate(row)}, label) for row, label in zip(values.tolist(), labels, strict=True)
        ]
    frame = datasets.load("electricity")[:N_ELECTRICITY]
    return list(zip(frame.drop("class").to_dicts(), frame["class"].to_list(), strict=True))


def progressive_validation(kind: Any) -> Measure:
    """River's `evaluate.progressive_val_score`; where river is not installed, a loop that does the same."""

    def score(rows: Any, model: Any, _metric: Any) -> None:
        for row, label in rows:
            model.predict_one(row)
            model.learn_one(row, label)

    def run() -> float:
        has_river = find_spec("river") is not None
        evaluate = need("river.evaluate", "bench").progressive_val_score if has_river else score
        metric = need("river.metrics", "bench").Accuracy() if has_river else None
        model, rows = kind(), electricity()  # river is imported before our model is made, which it then takes
        start = perf_counter()
        evaluate(rows, model, metric)
        return len(rows) / (perf_counter() - start)

    return run


def of_moa(learner: str, n: int, **options: Any) -> Measure:
    """MOA's own loop over the same rows."""

    def run() -> float:
        frame, labels = rows(n)
        columns = {name: frame[name].to_list() for name in frame.columns}
        return run_moa(learner, columns, labels, **options).events_per_s

    return run
