"""Ablation of our changes to DQN, and accuracy by depth penalty."""

from typing import Any

import numpy as np

from stumpery.reinforcement import DQNTree, OptimalTree
from stumpery.studies.reinforcement.learners import load_problem, train
from stumpery.studies.streaming.datasets import Source

OURS = "ours"
ONE_REPORT = "one random report"
PRINTED = "as printed in the paper"
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    PRINTED: {"reports": "one", "targets": "all", "n_updates": None, "n_cells": None},
    "as printed, but our targets": {"reports": "one", "n_updates": None, "n_cells": None},
    "as printed, but our number of updates": {"reports": "one", "targets": "all", "n_cells": None},
    ONE_REPORT: {"reports": "one"},
    "an update for each column": {"n_updates": None},
    "prioritised replay": {"priority": 0.6},
}
DRIFT_VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "prioritised replay": {"priority": 0.6},
    "drift reset": {"drift": True},
    "both": {"priority": 0.6, "drift": True},
}
VARIANT_PROBLEMS = ("Nursery", "Mushroom")
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1)
N_PASSES, N_UPDATES = 3, 3  # shallow trees need longer training
MERGED = "DQN, equal leaves merged"
Row = dict[str, Any]


def run_variant(title: str, name: str, steps: int, seed: int) -> Row:
    """Train one variant of DQN on one problem: final accuracy, depth, time."""
    data, schema = load_problem(title, steps, seed)
    model = DQNTree(seed=seed, schema=schema, warm_up=warm_up(len(data.labels)), **VARIANTS[name])
    return {"problem": title, "setting": name, **final_metrics(train(model, data))}


def after_drift(name: str, steps: int, seed: int) -> Row:
    """Train one variant under drift: in the middle of Nursery the classes are rotated."""
    data, schema = load_problem("Nursery", steps, seed)
    classes = list(dict.fromkeys(data.labels))
    following = dict(zip(classes, classes[1:] + classes[:1], strict=True))
    middle = len(data.labels) // 2
    labels = data.labels[:middle] + [following[label] for label in data.labels[middle:]]
    model = DQNTree(seed=seed, schema=schema, warm_up=warm_up(middle), **DRIFT_VARIANTS[name])
    result = train(model, Source(data.rows, labels))
    after = [
        a for checkpoint, a in zip(result["marks"], result["accuracy"], strict=True) if checkpoint >= middle + 1000
    ]
    mean = float(np.mean(after)) if after else result["accuracy"][-1]
    return {"problem": "Nursery, changed in the middle", "setting": name, **final_metrics(result), "accuracy": mean}


def final_metrics(result: Row) -> Row:
    """The final figures of a run."""
    return {"accuracy": result["accuracy"][-1], "depth": result["depth"][-1], "seconds": result["seconds"]}


def by_penalty(title: str, penalty: float, steps: int, seed: int) -> list[Row]:
    """Accuracy and expected depth of the extracted tree and of the optimal tree, on the rows learned."""
    data, schema = load_problem(title, steps, seed)
    options: dict[str, Any] = {"n_updates": N_UPDATES, "warm_up": warm_up(len(data.labels)), "schema": schema}
    model = DQNTree(depth_penalty=penalty, seed=seed, **options)
    for _ in range(N_PASSES):
        model.learn_many(data.rows, data.labels)
    trees = {"DQN": model.tree(data.rows, merge=False), MERGED: model.tree(data.rows)}
    if title == "Nursery":
        best = OptimalTree(depth_penalty=penalty)
        best.learn_many(data.rows, data.labels)
        trees["optimal tree"] = best.tree()
    return [of_tree(title, penalty, name, tree, data) for name, tree in trees.items()]


def of_tree(title: str, penalty: float, name: str, tree: Any, data: Source) -> Row:
    """Accuracy, depth and leaves of a tree."""
    right = float(np.mean(tree.predict_many(data.rows) == np.array(data.labels)))
    figures = {"accuracy": right, "depth": tree.expected_depth, "leaves": tree.n_leaves}
    return {"problem": title, "penalty": penalty, "tree": name, **figures}


def warm_up(n: int) -> int:
    """The warm-up: 200 rows as by default, or a tenth of a short stream."""
    return max(1, min(200, n // 10))
