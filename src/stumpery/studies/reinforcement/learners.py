"""Datasets and learners of the study of trees by reinforcement learning."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from stumpery.encoding import Schema
from stumpery.reinforcement import ActorCriticTree, DQNTree
from stumpery.streaming import HoeffdingTreeClassifier
from stumpery.studies.streaming.datasets import Source, source

WINDOW = 1000
N_CHECKPOINTS = 40
N_VALUES = 256  # per column whose numbers are categories
GREEDY = "Hoeffding tree"
VFDT = "Hoeffding tree, VFDT's options"
DQN, DOUBLE, CRITIC = "DQN", "Double DQN", "actor-critic"


class TreeStudyProblem(NamedTuple):
    """A dataset, and whether its numbers are categories."""

    name: str
    as_names: bool = False


PROBLEMS = {
    "Adult": TreeStudyProblem("adult"),
    "Nursery": TreeStudyProblem("nursery"),
    "Mushroom": TreeStudyProblem("mushroom"),
    "Skin": TreeStudyProblem("skin"),
    "Skin, categorical": TreeStudyProblem("skin", as_names=True),
    "Poker": TreeStudyProblem("poker", as_names=True),
}
# Table 1 of the paper: accuracy of the final model, %.
PAPER = {
    "Adult": {DQN: 84.4, DOUBLE: 83.7, CRITIC: 78.1, GREEDY: 82.7},
    "Nursery": {DQN: 95.7, DOUBLE: 92.1, CRITIC: 84.4, GREEDY: 79.1},
    "Mushroom": {DQN: 98.6, DOUBLE: 98.6, CRITIC: 98.6, GREEDY: 98.2},
    "Skin": {DQN: 97.7, DOUBLE: 98.2, CRITIC: 99.9, GREEDY: 99.5},
    "Skin, categorical": {DQN: 96.4, DOUBLE: 96.3, CRITIC: 98.7, GREEDY: 99.5},
    "Poker": {DQN: 86.7, DOUBLE: 94.4, CRITIC: 41.8, GREEDY: 51.0},
}
LEARNERS: dict[str, Callable[[int, Schema | None], Any]] = {
    DQN: lambda seed, schema: DQNTree(seed=seed, schema=schema),
    DOUBLE: lambda seed, schema: DQNTree(double=True, seed=seed, schema=schema),
    CRITIC: lambda seed, schema: ActorCriticTree(seed=seed, schema=schema),
    GREEDY: lambda seed, schema: HoeffdingTreeClassifier(),
    # The cautious tree of Domingos and Hulten, which the paper most likely ran: majority classes, a leaf per category.
    VFDT: lambda seed, schema: HoeffdingTreeClassifier(
        grace_period=200, delta=1e-7, tau=0.05, leaf_prediction="mc", binary_split=False
    ),
}


def load_problem(title: str, steps: int, seed: int) -> tuple[Source, Schema | None]:
    """The first rows of a problem's stream, shuffled, and a schema if its numbers are categories."""
    problem = PROBLEMS[title]
    data = source(problem.name, steps, seed)
    columns: dict[str, Any] = dict.fromkeys(data.rows.columns, "categorical number")
    return data, Schema.of(columns, max_categories=N_VALUES) if problem.as_names else None


def train(model: Any, data: Source) -> dict[str, Any]:
    """Train a model prequentially: windowed accuracy, number of queries and losses at the checkpoints."""
    start = perf_counter()
    if hasattr(model, "learn_logged"):
        probabilities, n_queries, losses = model.learn_logged(data.rows, data.labels)
    else:
        probabilities = model.test_then_learn(data.rows, data.labels)
        n_queries, losses = np.zeros(len(probabilities)), np.full((len(probabilities), 2), np.nan)
    seconds = perf_counter() - start
    code_of = {label: code for code, label in enumerate(model.classes)}
    is_correct = probabilities.argmax(axis=1) == [code_of[label] for label in data.labels]
    checkpoints = np.unique(np.linspace(0, len(is_correct), N_CHECKPOINTS + 1).astype(int))[1:]
    spans = [slice(max(0, checkpoint - WINDOW), checkpoint) for checkpoint in checkpoints.tolist()]
    return {
        "marks": checkpoints.tolist(),
        "accuracy": [float(is_correct[span].mean()) for span in spans],
        "depth": [float(n_queries[span].mean()) for span in spans],
        "losses": [_means(losses[span]) for span in spans],
        "seconds": seconds,
    }


def _means(losses: Any) -> list[float | None]:
    """The mean of each loss, ignoring NaN."""
    return [float(np.nanmean(column)) if np.isfinite(column).any() else None for column in losses.T]
