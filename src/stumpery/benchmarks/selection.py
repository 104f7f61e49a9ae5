"""Speed of online feature selection on a8a, 12 of 123 features.

If a8a is not available, generated bits of the same shape are used.
"""

from collections.abc import Iterator
from functools import cache
from time import perf_counter

import numpy as np

from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.selection import FeatureSelector, choosers, classifiers
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier
from stumpery.streams.datasets import load as datasets
from stumpery.types import Floats, Integers

N_SELECTION_EVENTS, N_FEATURES, N_CHOSEN = 32_561, 123, 12
PERCEPTRONS_PER_S = 300e3


def benchmarks() -> Iterator[Benchmark]:
    """The two perceptrons against a target; the network and our method against the perceptron."""
    greedy = choosers.epsilon_greedy(epsilon=0.2)
    for name, classifier in (("ofs", classifiers.SparsePerceptron()), ("perceptron", classifiers.Perceptron())):
        yield Benchmark(
            name=f"selection/{name}/a8a",
            unit="events/s",
            ours=compiled(greedy, classifier),
            peer=PERCEPTRONS_PER_S,
            peer_name="target",
        )
    others: list[tuple[str, Chooser, Classifier]] = [
        ("thompson-network", choosers.thompson(), classifiers.SmallNetwork()),
        ("loss-reduction", choosers.loss_reduction(), classifiers.AdditiveModel()),
    ]
    for name, chooser, other in others:
        yield Benchmark(
            name=f"selection/{name}/a8a",
            unit="events/s",
            ours=compiled(chooser, other),
            peer=compiled(greedy, classifiers.Perceptron()),
            peer_name="our epsilon-greedy perceptron",
        )


@cache
def events() -> tuple[Floats, Integers, Integers]:
    """Standardised rows, their classes, and an order to take them in."""
    rng = np.random.default_rng(0)
    try:
        datasets.path("a8a")
    except FileNotFoundError:
        rows = (rng.random((N_SELECTION_EVENTS, N_FEATURES)) < 0.11).astype(np.float64)
        labels = np.where(rows[:, :3].sum(axis=1) + rng.normal(0.0, 0.3, N_SELECTION_EVENTS) > 0.5, 1, -1)
    else:
        frame = datasets.load("a8a")
        labels = frame["label"].to_numpy().astype(np.int64)
        rows = frame.select([f"f{feature + 1}" for feature in range(N_FEATURES)]).to_numpy().astype(np.float64)
    deviations = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0)
    return standard, labels, rng.permutation(len(rows))


def compiled(chooser: Chooser, classifier: Classifier) -> Measure:
    """`play` over all events, one thread."""

    def run() -> float:
        rows, labels, order = events()
        selector = FeatureSelector(
            features=N_FEATURES,
            n_features=N_CHOSEN,
            chooser=chooser,
            classifier=classifier,
            classes=(-1, 1),
            standardise=False,
        )
        start = perf_counter()
        selector.play(rows, labels, order)
        return len(order) / (perf_counter() - start)

    return run
