"""Loading of deep trees: each array is validated and removed from `arrays`; unknown arrays are an error."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.labels.classes import Label
from stumpery.reinforcement.discretisation import Discretisation
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.policy_tree_nodes import LEAF, TreeNodes
from stumpery.reinforcement.training.agent import Agent
from stumpery.reinforcement.training.agent_state import (
    NOT_QUERIED,
    UNSEEN,
    AgentState,
    from_named_arrays,
    named_arrays,
    new_agent_state,
)
from stumpery.saving.saveable import Arrays, restore
from stumpery.saving.validation import check, check_within, corrupt
from stumpery.system.allocation import reserve
from stumpery.types import Floats, Integers

if TYPE_CHECKING:
    from stumpery.reinforcement.deep_tree import DeepTree


def checked_rows(rows: OnlineEncoder, arrays: Arrays) -> OnlineEncoder:
    """The encoder with the saved flags of columns that had a value."""
    return replace(rows, seen=_flags(arrays.pop("seen"), required=rows.is_categorical))


def checked_warm_up(arrays: Arrays, n_columns: int, n_classes: int, warm_up: int) -> list[tuple[Floats, Integers]]:
    """The rows and labels of an unfinished warm-up."""
    if "waiting.rows" not in arrays:
        return []
    rows, labels = arrays.pop("waiting.rows"), arrays.pop("waiting.labels")
    rows = rows.astype(np.float64) if rows.dtype == np.float32 else rows  # an older format
    is_valid = rows.dtype == np.float64 and labels.dtype == np.int64 and rows.shape == (len(labels), n_columns)
    check(is_valid, "the rows of the warm-up have a wrong type or shape")
    check(len(labels) <= warm_up, f"{len(labels)} rows of the warm-up exceed warm_up={warm_up}")
    check_within(labels, 0, n_classes - 1, "the class of a row of the warm-up")
    check(not np.isnan(rows).any(), "a value of a row of the warm-up is NaN")
    return [(rows.copy(), labels.copy())]


def checked_agent(
    arrays: Arrays, is_categorical: NDArray[np.bool_], n_classes: int, options: "DeepTree"
) -> Agent | None:
    """The agent, or None if the warm-up was unfinished."""
    if "missed" not in arrays:
        return None
    missed = _flags(arrays.pop("missed"), required=np.zeros(len(is_categorical), bool))
    own = {name.removeprefix("cells."): arrays.pop(name) for name in list(arrays) if name.startswith("cells.")}
    cells = Discretisation.from_arrays(own, is_categorical, as_they_are=options.n_cells is None)
    own = {name.removeprefix("learner."): arrays.pop(name) for name in list(arrays) if name.startswith("learner.")}
    return Agent(options.seed, cells, _checked_learner(own, cells, n_classes, options), missed)


def _checked_learner(arrays: Arrays, cells: Discretisation, n_classes: int, options: "DeepTree") -> AgentState:
    n_spans, n_reports = len(arrays["weights.into"]), arrays["weights.reports"].shape[1]
    if (len(arrays["memory.labels"]), len(arrays["weights.first"])) != (options.memory, options.width):
        raise corrupt("the network or the replay memory has another size than width and memory")
    if len(cells.spans) > n_spans or n_classes > n_reports:
        raise corrupt("the network is too small for its cells and classes")
    n_columns, width = len(cells.n_codes), options.width
    n_weights = width * (n_spans + 3 * n_columns + n_reports + width + 3) + n_columns + n_reports
    reserve(16 * n_weights + options.memory * (8 * n_columns + 8))
    template = new_agent_state(0, n_spans, n_columns, n_reports, width, options.memory)
    restore(
        {name: np.atleast_1d(array) for name, array in named_arrays(template)}, arrays
    )  # into views of the template's arrays
    state: AgentState = from_named_arrays(template, dict(named_arrays(template)))
    _validate(state, cells, n_classes, options.memory)
    return state


def _validate(state: AgentState, cells: Discretisation, n_classes: int, n_rows: int) -> None:
    """Validate an agent state; a ValueError describes the inconsistency."""
    memory, moments, n_columns = state.memory, state.moments, len(cells.n_codes)
    for name, array in named_arrays(state):
        check(
            array.dtype != np.float32 or np.isfinite(array).all(), f"the array {name!r} has a number that is not finite"
        )
    counts = {"count": moments.count, "sum of squares": moments.squares, "priority": memory.priorities}
    for what, array in (counts | {"number of steps": state.adam.count}).items():
        check((array >= 0).all(), f"a {what} is negative")
    check((memory.codes >= UNSEEN).all(), "a code in the replay memory is negative")
    check(
        (memory.codes < np.maximum(cells.n_codes, 1)).all(), "a code in the replay memory exceeds those of its column"
    )
    ranks = memory.ranks[memory.ranks != NOT_QUERIED]
    check_within(ranks, 0, n_columns, "a rank in the replay memory")
    check_within(np.array(memory.filled), 0, min(n_rows, int(memory.time)), "the number of rows in the replay memory")
    check_within(memory.labels, 0, n_classes - 1, "a class in the replay memory")
    check(state.n_classes == n_classes, "the network has another number of classes")
    check_within(state.errors, 0.0, 1.001, "an error rate")


def _flags(array: NDArray[Any], required: NDArray[np.bool_]) -> NDArray[np.bool_]:
    is_valid = array.dtype == np.bool_ and array.shape == required.shape and (array.view(np.uint8) <= 1).all()
    check(is_valid and (array >= required).all(), "the flags of the columns do not match the schema")
    return array.copy()


def single_leaf(rows: OnlineEncoder, classes: Sequence[Label], counts: Floats) -> PolicyTree:
    """The tree before the end of the warm-up: one leaf that reports the most frequent class."""
    no_rows = np.zeros((0, len(rows.seen)))
    nodes = TreeNodes(
        column=np.array([LEAF]),
        report=np.array([int(np.argmax(counts))]),
        weight=np.array([counts.sum()]),
        slots=np.zeros(1, np.int64),
        children=np.zeros(0, np.int64),
    )
    return PolicyTree(rows, Discretisation.of(rows.schema, no_rows, 1), tuple(classes), nodes)
