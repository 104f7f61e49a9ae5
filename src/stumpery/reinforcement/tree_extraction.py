"""Extraction of a decision tree from a policy: follow all branches, or those that given rows take, level by level."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.errors import InvalidInput
from stumpery.reinforcement import inference_kernels as kernels
from stumpery.reinforcement.discretisation import Codes, Discretisation
from stumpery.reinforcement.inference_kernels import InferenceNetwork
from stumpery.reinforcement.policy_tree_nodes import LEAF, NO_CHILD, TreeNodes
from stumpery.reinforcement.training.agent_state import MAX_DEVIATION, UNSEEN, ColumnMoments, Spans, Weights
from stumpery.types import Floats, Integers


def inference_network(
    weights: Weights, spans: Spans, moments: ColumnMoments, cells: Discretisation, n_classes: int
) -> InferenceNetwork:
    """Prepare a trained network for inference without jax."""
    into, flags, first = (np.asarray(array, np.float64) for array in (weights.into, weights.flags, weights.first))
    n_columns = len(cells.n_codes)
    unseen_flags, of_numbers = flags[:n_columns], flags[n_columns:]
    rows = []
    for column, n_codes in enumerate(cells.n_codes.tolist()):
        own = np.asarray(spans.column) == column
        codes = np.arange(n_codes)[:, np.newaxis]
        is_in_span = (codes >= np.asarray(spans.low)[own]) & (codes <= np.asarray(spans.high)[own])
        numbers = np.zeros((n_codes, 1))
        if cells.is_number[column] and not cells.as_they_are:
            numbers = standardise(moments, cells.centres[column], column)[:, np.newaxis]
        rows.append(is_in_span @ into[own] + numbers * of_numbers[column] - unseen_flags[column])
    heads = np.concatenate([np.asarray(weights.queries).T, np.asarray(weights.reports).T[:n_classes]])
    bias = np.concatenate([np.asarray(weights.query_bias), np.asarray(weights.report_bias)[:n_classes]])
    return InferenceNetwork(
        starts=np.cumsum(cells.n_codes) - cells.n_codes,
        table=np.concatenate([*rows, np.zeros((1, len(first)))]),  # the last for a missing value
        numbers=of_numbers if cells.as_they_are else np.zeros_like(of_numbers),
        base=first + unseen_flags.sum(axis=0),
        across=np.asarray(weights.across, np.float64),
        second=np.asarray(weights.second, np.float64),
        actions=heads.astype(np.float64),
        bias=bias.astype(np.float64),
    )


def standardise(moments: ColumnMoments, numbers: NDArray[Any], columns: int | slice) -> Floats:
    """Standardise numbers of the given columns as `training.network.standardise` does."""
    count, mean, squares = (np.asarray(array, np.float64)[columns] for array in moments)
    variance = squares / np.maximum(count, 1.0)
    scale = np.where(variance > 0.0, 1.0 / np.sqrt(np.maximum(variance, 1e-30)), 0.0)
    standardised: Floats = np.clip((numbers - mean) * scale, -MAX_DEVIATION, MAX_DEVIATION)
    return standardised


def extract_tree(
    network: InferenceNetwork, cells: Discretisation, codes: Codes, missed: NDArray[np.bool_] | None, max_nodes: int
) -> TreeNodes:
    """The decision tree of a policy, with the rows of `codes` counted at every node.

    With `missed`, which marks the columns that were ever missing, all branches are followed; with None those that the
    rows take. Raises a ValueError for more than `max_nodes` nodes.
    """
    n_columns = len(cells.n_codes)
    firsts, closed = network.base[np.newaxis], np.zeros((1, n_columns), bool)
    at, rows = np.zeros(len(codes), np.int64), np.arange(len(codes))  # the state that each row is in
    levels: list[TreeNodes] = []
    n_nodes, n_slots = 1, 0
    while len(firsts):
        actions, reports = np.empty(len(firsts), np.int64), np.empty(len(firsts), np.int64)
        kernels.best_actions(network, firsts, closed, actions, reports)
        column = np.where(actions < n_columns, actions, LEAF)
        width = np.where(column == LEAF, 0, cells.n_codes[column] + 1)
        starts = np.cumsum(width) - width
        weight = np.bincount(at, minlength=len(firsts)).astype(np.float64)
        rows, at = rows[column[at] != LEAF], at[column[at] != LEAF]
        answers = codes[rows, column[at]].astype(np.int64)
        taken = starts[at] + np.where(answers == UNSEEN, width[at] - 1, answers)
        parent = np.repeat(np.arange(len(firsts)), width)
        answer = np.arange(len(parent)) - starts[parent]
        is_missing = answer == width[parent] - 1
        has_child = np.zeros(len(parent), bool)
        if missed is not None:
            has_child = ~is_missing | missed[column[parent]]
        has_child[taken] = True
        order = np.cumsum(has_child) - 1
        children = np.where(has_child, n_nodes + order, NO_CHILD)
        levels.append(TreeNodes(column, reports, weight, starts + n_slots, children))
        n_nodes, n_slots = n_nodes + int(has_child.sum()), n_slots + len(parent)
        if n_nodes > max_nodes:
            raise InvalidInput(
                f"the policy's tree has more than {max_nodes} nodes; give rows to extract the part that they take, "
                "a higher max_nodes, or learn with a higher depth_penalty"
            )
        firsts, closed = _next_states(
            network, firsts, closed, column, parent[has_child], answer[has_child], is_missing[has_child]
        )
        at = order[taken]
    return TreeNodes(*(np.concatenate(arrays) for arrays in zip(*levels, strict=True)))


def _next_states(
    network: InferenceNetwork,
    firsts: Floats,
    closed: NDArray[np.bool_],
    column: Integers,
    parent: Integers,
    answer: Integers,
    is_missing: NDArray[np.bool_],
) -> tuple[Floats, NDArray[np.bool_]]:
    """The successor states: an answer is added to the first layer, a missing value only marks the column as closed."""
    asked = column[parent]
    vectors = np.where(is_missing, len(network.table) - 1, network.starts[asked] + answer)
    next_closed = closed[parent]
    next_closed[np.arange(len(parent)), asked] = True
    return firsts[parent] + network.table[vectors], next_closed
