"""Deep trees from files: every array is checked before it is used, and taken out of those that are left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import CorruptFile
from stumpery.labels.classes import Label
from stumpery.reinforcement.cells import Cells
from stumpery.reinforcement.policy_nodes import LEAF, Nodes
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.training.agent import Agent
from stumpery.reinforcement.training.learner import MISSING_RANK, UNSEEN, AgentState, filled, named, new_learner
from stumpery.saveable import Arrays, restore
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers
from stumpery.validation import check, check_within


def checked_rows(rows: OnlineEncoder, arrays: Arrays) -> OnlineEncoder:
    """Rows that know which columns had a value."""
    return replace(rows, seen=_flags(arrays.pop("seen"), least=rows.is_categorical))


def checked_waiting(arrays: Arrays, n_columns: int, n_classes: int, warm_up: int) -> list[tuple[Floats, Integers]]:
    """Rows of a warm-up that is not over."""
    if "waiting.rows" not in arrays:
        return []
    rows, labels = arrays.pop("waiting.rows"), arrays.pop("waiting.labels")
    rows = rows.astype(np.float64) if rows.dtype == np.float32 else rows  # as they were saved before
    fits = rows.dtype == np.float64 and labels.dtype == np.int64 and rows.shape == (len(labels), n_columns)
    check(fits, "the waiting rows have another type or shape than the columns say")
    check(len(labels) <= warm_up, f"{len(labels)} rows wait, more than the warm-up of {warm_up}")
    check_within(labels, 0, n_classes - 1, "the class of a waiting row")
    check(not np.isnan(rows).any(), "the value of a waiting row is NaN")
    return [(rows.copy(), labels.copy())]


def checked_trainee(arrays: Arrays, is_categorical: NDArray[np.bool_], n_classes: int, recipe: Any) -> Agent | None:
    """What a network has learned, if the warm-up was over."""
    if "missed" not in arrays:
        return None
    missed = _flags(arrays.pop("missed"), least=np.zeros(len(is_categorical), bool))
    own = {name.removeprefix("cells."): arrays.pop(name) for name in list(arrays) if name.startswith("cells.")}
    cells = Cells.from_arrays(own, is_categorical, as_they_are=recipe.n_cells is None)
    own = {name.removeprefix("learner."): arrays.pop(name) for name in list(arrays) if name.startswith("learner.")}
    return Agent(recipe.seed, cells, _checked_learner(own, cells, n_classes, recipe), missed)


def _checked_learner(arrays: Arrays, cells: Cells, n_classes: int, recipe: Any) -> AgentState:
    n_spans, n_reports = len(arrays["weights.into"]), arrays["weights.reports"].shape[1]
    if (len(arrays["memory.labels"]), len(arrays["weights.first"])) != (recipe.memory, recipe.width):
        raise CorruptFile("its network and its memory are not of the size that its options say")
    if len(cells.spans) > n_spans or n_classes > n_reports:
        raise CorruptFile("its network has too little room for its cells and classes")
    n_columns, width = len(cells.n_codes), recipe.width
    n_weights = width * (n_spans + 3 * n_columns + n_reports + width + 3) + n_columns + n_reports
    reserve(16 * n_weights + recipe.memory * (8 * n_columns + 8))
    fresh = new_learner(0, n_spans, n_columns, n_reports, width, recipe.memory)
    restore({name: np.atleast_1d(array) for name, array in named(fresh)}, arrays)  # into views of these
    learner: AgentState = filled(fresh, dict(named(fresh)))
    _validate(learner, cells, n_classes, recipe.memory)
    return learner


def _validate(learner: AgentState, cells: Cells, n_classes: int, n_rows: int) -> None:
    """A ValueError says what is inconsistent in a learner."""
    memory, moments, n_columns = learner.memory, learner.moments, len(cells.n_codes)
    for name, array in named(learner):
        check(
            array.dtype != np.float32 or np.isfinite(array).all(), f"its array {name!r} has a number that is not finite"
        )
    positive = {"count": moments.count, "sum of squares": moments.squares, "priority": memory.priorities}
    for what, array in (positive | {"number of steps": learner.adam.count}).items():
        check((array >= 0).all(), f"a {what} is negative")
    check((memory.codes >= UNSEEN).all(), "the code of a remembered row does not exist")
    check((memory.codes < np.maximum(cells.n_codes, 1)).all(), "the code of a remembered row is beyond its column's")
    ranks = memory.ranks[memory.ranks != MISSING_RANK]
    check_within(ranks, 0, n_columns, "the rank of a remembered column")
    check_within(np.array(memory.filled), 0, min(n_rows, int(memory.time)), "the number of remembered rows")
    check_within(memory.labels, 0, n_classes - 1, "the class of a remembered row")
    check(learner.n_classes == n_classes, "its network is for another number of classes")
    check_within(learner.errors, 0.0, 1.001, "the share of errors")


def _flags(array: NDArray[Any], least: NDArray[np.bool_]) -> NDArray[np.bool_]:
    is_plain = array.dtype == np.bool_ and array.shape == least.shape and (array.view(np.uint8) <= 1).all()
    check(is_plain and (array >= least).all(), "its columns are not those of its schema")
    return array.copy()


def single_leaf(rows: OnlineEncoder, classes: Sequence[Label], counts: Floats) -> PolicyTree:
    """The tree before the warm-up is over: it reports the commonest class."""
    none = np.zeros((0, len(rows.seen)))
    nodes = Nodes(
        column=np.array([LEAF]),
        report=np.array([int(np.argmax(counts))]),
        weight=np.array([counts.sum()]),
        slots=np.zeros(1, np.int64),
        children=np.zeros(0, np.int64),
    )
    return PolicyTree(rows, Cells.of(rows.schema, none, 1), tuple(classes), nodes)
