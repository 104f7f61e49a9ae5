"""From a policy to its tree: follow every branch, or those that given rows take, level by level."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.reinforcement import policy_kernels as kernels
from stumpery.reinforcement.cells import Cells, Codes
from stumpery.reinforcement.policy_kernels import TreePolicy
from stumpery.reinforcement.policy_nodes import LEAF, NO_CHILD, Nodes
from stumpery.reinforcement.training.learner import FARTHEST, UNSEEN, Moments, Spans, Weights
from stumpery.types import Floats, Integers


def prepared(weights: Weights, spans: Spans, moments: Moments, cells: Cells, n_classes: int) -> TreePolicy:
    """A network as a policy that kernels can ask."""
    into, flags, first = (np.asarray(each, np.float64) for each in (weights.into, weights.flags, weights.first))
    n_columns = len(cells.n_codes)
    unseen, of_numbers = flags[:n_columns], flags[n_columns:]
    rows = []
    for place, n_codes in enumerate(cells.n_codes.tolist()):
        own = np.asarray(spans.column) == place
        codes = np.arange(n_codes)[:, np.newaxis]
        holds = (codes >= np.asarray(spans.low)[own]) & (codes <= np.asarray(spans.high)[own])
        numbers = np.zeros((n_codes, 1))
        if cells.is_number[place] and not cells.as_they_are:
            numbers = standardised(moments, cells.centres[place], place)[:, np.newaxis]
        rows.append(holds @ into[own] + numbers * of_numbers[place] - unseen[place])
    heads = np.concatenate([np.asarray(weights.queries).T, np.asarray(weights.reports).T[:n_classes]])
    bias = np.concatenate([np.asarray(weights.query_bias), np.asarray(weights.report_bias)[:n_classes]])
    return TreePolicy(
        starts=np.cumsum(cells.n_codes) - cells.n_codes,
        table=np.concatenate([*rows, np.zeros((1, len(first)))]),  # the last for what is missing
        numbers=of_numbers if cells.as_they_are else np.zeros_like(of_numbers),
        base=first + unseen.sum(axis=0),
        across=np.asarray(weights.across, np.float64),
        second=np.asarray(weights.second, np.float64),
        actions=heads.astype(np.float64),
        bias=bias.astype(np.float64),
    )


def standardised(moments: Moments, numbers: NDArray[Any], place: int | slice) -> Floats:
    """Numbers of a column, or of all, as the network sees them."""
    count, mean, squares = (np.asarray(each, np.float64)[place] for each in moments)
    variance = squares / np.maximum(count, 1.0)
    scale = np.where(variance > 0.0, 1.0 / np.sqrt(np.maximum(variance, 1e-30)), 0.0)
    found: Floats = np.clip((numbers - mean) * scale, -FARTHEST, FARTHEST)
    return found


def extracted(
    policy: TreePolicy, cells: Cells, codes: Codes, missed: NDArray[np.bool_] | None, max_nodes: int
) -> Nodes:
    """The policy's tree, with the rows of `codes` counted at every node.

    With `missed`, which says of each column whether it was ever missing, all branches are followed; without it those
    that the rows take. A ValueError says that there are too many.
    """
    n_columns = len(cells.n_codes)
    firsts, closed = policy.base[np.newaxis], np.zeros((1, n_columns), bool)
    at, rows = np.zeros(len(codes), np.int64), np.arange(len(codes))  # the state of this level that a row is in
    levels: list[Nodes] = []
    n_nodes, n_slots = 1, 0
    while len(firsts):
        actions, reports = np.empty(len(firsts), np.int64), np.empty(len(firsts), np.int64)
        kernels.act(policy, firsts, closed, actions, reports)
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
        levels.append(Nodes(column, reports, weight, starts + n_slots, children))
        n_nodes, n_slots = n_nodes + int(has_child.sum()), n_slots + len(parent)
        if n_nodes > max_nodes:
            raise ValueError(
                f"the policy's tree has more than {max_nodes} nodes; give rows to extract the part that they take, "
                "a higher max_nodes, or learn with a higher depth_penalty"
            )
        firsts, closed = _followed(
            policy, firsts, closed, column, parent[has_child], answer[has_child], is_missing[has_child]
        )
        at = order[taken]
    return Nodes(*(np.concatenate(arrays) for arrays in zip(*levels, strict=True)))


def _followed(
    policy: TreePolicy,
    firsts: Floats,
    closed: NDArray[np.bool_],
    column: Integers,
    parent: Integers,
    answer: Integers,
    is_missing: NDArray[np.bool_],
) -> tuple[Floats, NDArray[np.bool_]]:
    """The states that follow: an answer is added to the first layer, a missing value only closes the column."""
    asked = column[parent]
    vectors = np.where(is_missing, len(policy.table) - 1, policy.starts[asked] + answer)
    following = closed[parent]
    following[np.arange(len(parent)), asked] = True
    return firsts[parent] + policy.table[vectors], following
