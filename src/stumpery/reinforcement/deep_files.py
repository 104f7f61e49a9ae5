"""Deep trees from files: every array is checked before it is used, and taken out of those that are left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery import files
from stumpery.allocation import reserve
from stumpery.encoding.open_rows import OpenRows
from stumpery.reinforcement.cells import Cells, Float32s
from stumpery.reinforcement.learner import MISSING_RANK, UNSEEN, Learner, filled, named, new_learner
from stumpery.reinforcement.policy_nodes import LEAF, Nodes
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.trainee import Trainee
from stumpery.trees.classes import Label, coded
from stumpery.types import Floats, Integers

Arrays = dict[str, NDArray[Any]]


def checked_classes(classes: Any) -> list[Label]:
    """Classes, all different."""
    found = coded(classes, [])[0]
    if found != classes:
        raise ValueError("its classes are not all different")
    return found


def checked_rows(rows: OpenRows, arrays: Arrays) -> OpenRows:
    """Rows that know which columns had a value."""
    return replace(rows, seen=_flags(arrays.pop("seen"), least=rows.is_name))


def checked_waiting(arrays: Arrays, n_columns: int, n_classes: int, warm_up: int) -> list[tuple[Float32s, Integers]]:
    """Rows of a warm-up that is not over."""
    if "waiting.rows" not in arrays:
        return []
    rows, labels = arrays.pop("waiting.rows"), arrays.pop("waiting.labels")
    fits = rows.dtype == np.float32 and labels.dtype == np.int64 and rows.shape == (len(labels), n_columns)
    if not fits or len(labels) > warm_up or not _within(labels, 0, n_classes) or np.isnan(rows).any():
        raise ValueError("its waiting rows are not those of a warm-up")
    return [(rows.copy(), labels.copy())]


def checked_trainee(arrays: Arrays, is_name: NDArray[np.bool_], n_classes: int, recipe: Any) -> Trainee | None:
    """What a network has learned, if the warm-up was over."""
    if "missed" not in arrays:
        return None
    missed = _flags(arrays.pop("missed"), least=np.zeros(len(is_name), bool))
    own = {name.removeprefix("cells."): arrays.pop(name) for name in list(arrays) if name.startswith("cells.")}
    cells = Cells.from_state(own, is_name, as_they_are=recipe.n_cells is None)
    own = {name.removeprefix("learner."): arrays.pop(name) for name in list(arrays) if name.startswith("learner.")}
    return Trainee(recipe.seed, cells, _checked_learner(own, cells, n_classes, recipe), missed)


def _checked_learner(arrays: Arrays, cells: Cells, n_classes: int, recipe: Any) -> Learner:
    n_spans, n_reports = len(arrays["weights.into"]), arrays["weights.reports"].shape[1]
    if (len(arrays["memory.labels"]), len(arrays["weights.first"])) != (recipe.memory, recipe.width):
        raise ValueError("its network and its memory are not of the size that its options say")
    if len(cells.spans) > n_spans or n_classes > n_reports:
        raise ValueError("its network has too little room for its cells and classes")
    n_columns, width = len(cells.n_codes), recipe.width
    n_weights = width * (n_spans + 3 * n_columns + n_reports + width + 3) + n_columns + n_reports
    reserve(16 * n_weights + recipe.memory * (8 * n_columns + 8))
    fresh = new_learner(0, n_spans, n_columns, n_reports, width, recipe.memory)
    files.restore({name: np.atleast_1d(array) for name, array in named(fresh)}, arrays)  # into views of these
    learner: Learner = filled(fresh, dict(named(fresh)))
    memory, moments = learner.memory, learner.moments
    finite = all(np.isfinite(array).all() for _, array in named(learner) if array.dtype == np.float32)
    counts = all((each >= 0).all() for each in (moments.count, moments.squares, memory.priorities, learner.adam.count))
    codes = (memory.codes >= UNSEEN) & (memory.codes < np.maximum(cells.n_codes, 1))
    ranks = ((memory.ranks >= 0) & (memory.ranks <= len(cells.n_codes))) | (memory.ranks == MISSING_RANK)
    rows = 0 <= memory.filled <= min(recipe.memory, int(memory.time)) and _within(memory.labels, 0, n_classes)
    classes = learner.n_classes == n_classes and _within(learner.errors, 0.0, 1.001)
    if not (finite and counts and codes.all() and ranks.all() and rows and classes):
        raise ValueError("its learner is not that of any stream")
    return learner


def _flags(array: NDArray[Any], least: NDArray[np.bool_]) -> NDArray[np.bool_]:
    is_plain = array.dtype == np.bool_ and array.shape == least.shape and (array.view(np.uint8) <= 1).all()
    if not is_plain or (array < least).any():
        raise ValueError("its columns are not those of its schema")
    return array.copy()


def _within(values: NDArray[Any], least: float, below: float) -> bool:
    return bool(((values >= least) & (values < below)).all())


def single_leaf(rows: OpenRows, classes: Sequence[Label], counts: Floats) -> PolicyTree:
    """The tree before the warm-up is over: it reports the commonest class."""
    none = np.zeros((0, len(rows.seen)), np.float32)
    nodes = Nodes(
        column=np.array([LEAF]),
        report=np.array([int(np.argmax(counts))]),
        weight=np.array([counts.sum()]),
        slots=np.zeros(1, np.int64),
        children=np.zeros(0, np.int64),
    )
    return PolicyTree(rows, Cells.of(rows.schema, none, 1), tuple(classes), nodes)
