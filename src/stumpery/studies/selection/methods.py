"""Online feature selection as trials: the paper's datasets with two classes, its methods and ours."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from stumpery.evaluation.regret import trial_seeds
from stumpery.selection import FeatureSelector, choosers, classifiers
from stumpery.selection.choosers import Chooser
from stumpery.selection.classifiers import Classifier
from stumpery.streams import dataset_path, find_dataset, load_dataset
from stumpery.studies.contextual.datasets import is_available
from stumpery.types import Floats, Integers

SHARE = 0.1  # of the features, as in the paper
EPSILONS = (0.05, 0.2, 0.5)
N_CHECKPOINTS = 60


class SelectionProblem(NamedTuple):
    """A dataset and its positive class; all other classes are negative."""

    dataset: str
    positive: int


PROBLEMS: dict[str, SelectionProblem] = {
    "Covertype": SelectionProblem("covtype", 2),
    "Spambase": SelectionProblem("spambase", 1),
    "a8a": SelectionProblem("a8a", 1),
    "w8a": SelectionProblem("w8a", 1),
}


class Data(NamedTuple):
    """A problem's events: as they are, standardised beforehand, and their classes."""

    names: list[str]
    rows: Floats
    standard: Floats
    labels: Integers

    @property
    def n_chosen(self) -> int:
        """The paper's M."""
        return int(SHARE * len(self.names) + 0.5)


class Method(NamedTuple):
    """A chooser, a classifier, and whether features are standardised online."""

    chooser: Callable[[], Chooser]
    classifier: Callable[[], Classifier]
    online: bool = False


THOMPSON, ALL, OFS, PERCEPTRON, OURS = (
    "Thompson + MLP",
    "MLP, all features",
    "OFS",
    "epsilon-greedy perceptron",
    "ours",
)
LOGISTIC, ONLINE = ", logistic", ", online"


def by_epsilon(name: str, epsilon: float) -> str:
    """The name of a method with its epsilon."""
    return f"{name}, epsilon {epsilon:g}"


def logistic() -> Classifier:
    """The network with the other units that the paper may have meant."""
    return classifiers.SmallNetwork(units="logistic")


def methods() -> dict[str, Method]:
    """The paper's four methods, a logistic variant of the network, ours, and some of them standardised online."""
    network = classifiers.SmallNetwork
    methods = {
        THOMPSON: Method(choosers.thompson, network),
        ALL: Method(choosers.everything, network),
        OURS: Method(choosers.loss_reduction, classifiers.AdditiveModel),
        THOMPSON + LOGISTIC: Method(choosers.thompson, logistic),
        ALL + LOGISTIC: Method(choosers.everything, logistic),
    }
    for name in (THOMPSON, ALL, OURS):
        methods[name + ONLINE] = methods[name]._replace(online=True)
    for epsilon in EPSILONS:

        def greedy(epsilon: float = epsilon) -> Chooser:
            return choosers.epsilon_greedy(epsilon=epsilon)

        methods[by_epsilon(OFS, epsilon)] = Method(greedy, classifiers.SparsePerceptron)
        methods[by_epsilon(PERCEPTRON, epsilon)] = Method(greedy, classifiers.Perceptron)
    return methods


def load_problem(problem: SelectionProblem) -> Data:
    """Load a problem's dataset; a missing one raises an error and is not downloaded."""
    entry = find_dataset(problem.dataset)
    if not is_available(problem.dataset):
        dataset_path(problem.dataset)  # raises an error
    frame = load_dataset(entry)
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric() and name != entry.target]
    rows = np.ascontiguousarray(frame.select(numeric).to_numpy(), dtype=np.float64)
    target = frame[str(entry.target)].cast(str).to_numpy()
    return Data(numeric, rows, standardise(rows), np.where(target == str(problem.positive), 1, -1))


def standardise(rows: Floats) -> Floats:
    """Every column less its mean and over its deviation, as the paper does before the stream begins."""
    deviations = rows.std(axis=0)
    result: Floats = (rows - rows.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0)
    return result


def n_events(problem: SelectionProblem, steps: int) -> int:
    """How many events a trial has: the whole dataset, or `steps`."""
    return min(find_dataset(problem.dataset).n_rows, steps)


def checkpoints(n: int) -> Integers:
    """The steps at which error rates are reported."""
    events: Integers = np.unique(np.geomspace(min(20, n), n, N_CHECKPOINTS).astype(np.int64))
    return events


def play_trial(data: Data, method: Method, steps: int, seed: int, trial: int, **options: Any) -> dict[str, Any]:
    """Play one permutation of the events: error rates at the checkpoints, shares of features, spending and time."""
    events_seed, own_seed = trial_seeds(seed, trial)
    order = np.random.default_rng(events_seed).permutation(len(data.rows))[:steps]
    chooser = method.chooser()
    if chooser.kind != "everything" and not options:
        options = {"n_features": data.n_chosen}
    selector = FeatureSelector(
        features=len(data.names),
        chooser=chooser,
        classifier=method.classifier(),
        classes=(-1, 1),
        standardise=method.online,
        seed=own_seed,
        **options,
    )
    start = perf_counter()
    rounds = selector.play(data.rows if method.online else data.standard, data.labels, order)
    seconds = perf_counter() - start
    events = checkpoints(len(order))
    return {
        "rates": (np.cumsum(rounds.mistakes)[events - 1] / events).tolist(),
        "looks": (rounds.looks / len(order)).tolist(),
        "spent": float(rounds.spent.mean()),
        "seconds": seconds,
    }
