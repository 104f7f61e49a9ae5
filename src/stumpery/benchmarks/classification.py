"""Speed of Hoeffding trees and forests on Covertype, prequentially, against MOA (through CapyMOA) and river."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import Any

from stumpery.benchmarks import covertype
from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.evaluation.moa import run_moa
from stumpery.streaming import ForestClassifier, HoeffdingTreeClassifier
from stumpery.system.extras import need

N_STREAM_EVENTS, N_SHORT, N_ONE_BY_ONE = 100_000, 20_000, 5_000
N_TREES = 10


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

    def run() -> float:
        folder, _, name = path.partition(".")
        return learn_dicts(getattr(need(f"river.{folder}", "bench"), name), n)()

    return run


def of_moa(learner: str, n: int, **options: Any) -> Measure:
    """MOA's own loop over the same rows."""

    def run() -> float:
        frame, labels = rows(n)
        columns = {name: frame[name].to_list() for name in frame.columns}
        return run_moa(learner, columns, labels, **options).events_per_s

    return run
