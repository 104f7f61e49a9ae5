"""The explicit tree that a policy is: plain arrays that predict without jax, in words, as a table and as a picture."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.encoding import Schema
from stumpery.encoding.open_rows import OpenRows
from stumpery.reinforcement.cells import Cells, Codes, rule_of
from stumpery.trees import tree_words
from stumpery.trees.classes import Label, as_array, coded
from stumpery.trees.tree_words import NO_PARENT, Place
from stumpery.types import Floats, Integers, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAF = NO_CHILD = -1


class Nodes(NamedTuple):
    """Nodes, every one before its children; the first is the root.

    A node that queries a column has a slot for each of the column's codes and one for a missing value.
    """

    column: Integers  # (nodes,): what is queried, LEAF where a class is reported
    report: Integers  # (nodes,): the class that is reported, by a leaf or where an answer has no branch
    weight: Floats  # (nodes,): how many of the rows that the tree was shown come here
    slots: Integers  # (nodes,): where a node's slots begin
    children: Integers  # (slots,): NO_CHILD where no branch is known


@dataclass(frozen=True, eq=False)
class PolicyTree:
    """A finite decision tree over mixed columns, in which a query has a branch for each answer.

    `DQNTree.tree`, `ActorCriticTree.tree` and `OptimalTree.tree` give one. An answer without a branch, which no row
    showed, ends at the query itself, which then reports its own best class.

    >>> import stumpery as st
    >>> model = st.OptimalTree(depth_penalty=0.01)
    >>> rows = [{"sky": sky, "day": day} for sky in ("blue", "grey") for day in ("Monday", "Sunday")]
    >>> model.learn_many(rows, ["work", "walk", "work", "read"])
    >>> print(model.tree().to_text())
    100.0% of rows, ask day
      day = Monday: 50.0% of rows, report 'work'
      day = Sunday: 50.0% of rows, ask sky
        sky = blue: 25.0% of rows, report 'walk'
        sky = grey: 25.0% of rows, report 'read'
    >>> model.tree().n_leaves, model.tree().expected_depth
    (3, 1.5)
    """

    rows: OpenRows
    cells: Cells
    classes: tuple[Label, ...]
    nodes: Nodes

    # The size of it.

    @property
    def n_leaves(self) -> int:
        """How many nodes report."""
        return int((self.nodes.column == LEAF).sum())

    @property
    def max_depth(self) -> int:
        """The most queries on the way to a leaf."""
        return int(self._depths.max())

    @property
    def expected_depth(self) -> float:
        """How many columns are looked at, on average over the rows that the tree was shown; NaN if there were none."""
        total = float(self.nodes.weight[0])
        asked = (self.nodes.column != LEAF) * self._answered
        return float(asked.sum() / total) if total else float("nan")

    @property
    def n_bytes(self) -> int:
        """The memory that the nodes hold."""
        return sum(array.nbytes for array in self.nodes)

    # What it predicts.

    def predict_one(self, x: Any) -> Label:
        """The class that is reported for a row."""
        return self.classes[int(self.nodes.report[self.reached([x])[0]])]

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803 - as river and scikit-learn name it
        """The class that is reported for each row."""
        found: NDArray[Any] = as_array(self.classes)[self.nodes.report[self.reached(X)]]
        return found

    def depths_many(self, X: Any) -> Integers:  # noqa: N803
        """How many columns are looked at for each row."""
        return self._depths[self.reached(X)]

    def reached(self, X: Any) -> Integers:  # noqa: N803
        """The node at which each row ends."""
        single = isinstance(X, list) and len(X) == 1
        floats = self.rows.one(X[0]).reshape(1, -1) if single else self.rows.many(X)
        return self._reached(self.cells.coded(floats).codes)

    # The tree in words.

    def to_text(self, max_depth: int = 5) -> str:
        """The tree as an indented list of rules."""
        return tree_words.text(self._places(max_depth))

    def draw(self, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """The tree as a picture: queries, answers, shares of rows, and what is reported."""
        return tree_words.draw(self._places(max_depth), f"{self.n_leaves} leaves", ax)

    def leaves(self) -> list[dict[str, Any]]:
        """A row for each leaf: its rule, the share of the rows that come here, and what it reports."""
        total = max(float(self.nodes.weight[0]), 1e-300)
        found = []
        for node, path in self._paths():
            share = float(self.nodes.weight[node]) / total
            found.append({"rule": " and ".join(path) or "all", "share": share, "prediction": self._said(node)})
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """The leaves as a frame."""
        rows = self.leaves()
        return frames.make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    # Equal leaves as one.

    def merged(self) -> "PolicyTree":
        """The tree in which a query whose branches all report the same class is that report itself."""
        nodes = self.nodes
        column, report = nodes.column.copy(), nodes.report.copy()
        for node in range(len(column) - 1, -1, -1):
            below = self._below(node)
            if below.size and (column[below] == LEAF).all() and (report[below] == report[below[0]]).all():
                column[node], report[node] = LEAF, report[below[0]]
        return PolicyTree(
            self.rows, self.cells, self.classes, _compact(nodes._replace(column=column, report=report), self.cells)
        )

    # Files.

    def state(self) -> State:
        """The columns, the classes and the arrays."""
        schema = self.rows.schema.state()
        options = {
            "schema": schema.options,
            "max_names": self.rows.max_names,
            "classes": list(self.classes),
            "as_they_are": self.cells.as_they_are,
        }
        arrays = {f"schema.{name}": array for name, array in schema.arrays.items()}
        arrays |= {f"cells.{name}": array for name, array in self.cells.state().items()}
        return State(options, arrays | {f"nodes.{name}": array for name, array in self.nodes._asdict().items()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        part: dict[str, dict[str, NDArray[Any]]] = {"schema": {}, "cells": {}, "nodes": {}}
        for name, array in state.arrays.items():
            owner, _, own = name.partition(".")
            part[owner][own] = array
        schema = Schema.from_state(State(state.options["schema"], part["schema"]))
        rows = OpenRows.under(schema, state.options["max_names"])
        cells = Cells.from_state(part["cells"], rows.is_name, as_they_are=bool(state.options["as_they_are"]))
        classes = tuple(state.options["classes"])
        if not classes or tuple(coded(list(classes), [])[0]) != classes:
            raise ValueError("its classes are not all different")
        nodes = Nodes(**part["nodes"])
        _check(nodes, cells, len(classes))
        return cls(rows, cells, classes, nodes)

    # How rows go down.

    def _reached(self, codes: Codes) -> Integers:
        nodes = self.nodes
        here = np.zeros(len(codes), np.int64)
        on_way = np.arange(len(codes))
        while len(on_way):
            at = here[on_way]
            column = nodes.column[at]
            answer = codes[on_way, column]
            answer = np.where(answer < 0, self.cells.n_codes[column], answer)
            child = np.full(len(at), NO_CHILD)
            asks = column != LEAF
            child[asks] = nodes.children[(nodes.slots[at] + answer)[asks]]
            on_way, child = on_way[child != NO_CHILD], child[child != NO_CHILD]
            here[on_way] = child
        return here

    def _below(self, node: int) -> Integers:
        start, end = int(self.nodes.slots[node]), int(self.nodes.slots[node] + self._n_slots[node])
        below = self.nodes.children[start:end]
        found: Integers = below[below != NO_CHILD]
        return found

    @cached_property
    def _n_slots(self) -> Integers:
        counts: Integers = np.where(self.nodes.column == LEAF, 0, self.cells.n_codes[self.nodes.column] + 1)
        return counts

    @cached_property
    def _depths(self) -> Integers:
        """How many columns were looked at on the way to each node; a missing value is no look."""
        depths = np.zeros(len(self.nodes.column), np.int64)
        for node in np.flatnonzero(self.nodes.column != LEAF).tolist():
            start, n = int(self.nodes.slots[node]), int(self._n_slots[node])
            below = self.nodes.children[start : start + n]
            is_child = below != NO_CHILD
            depths[below[is_child]] = depths[node] + (np.arange(n) < n - 1)[is_child]
        return depths

    @cached_property
    def _answered(self) -> Floats:
        """How many rows get an answer to a node's query: all but those where the column is missing."""
        missing = np.zeros(len(self.nodes.column))
        for node in np.flatnonzero(self.nodes.column != LEAF).tolist():
            child = self.nodes.children[self.nodes.slots[node] + self._n_slots[node] - 1]
            missing[node] = 0.0 if child == NO_CHILD else self.nodes.weight[child]
        return self.nodes.weight - missing

    def _said(self, node: int) -> str:
        return repr(self.classes[int(self.nodes.report[node])])

    def _branches(self, node: int) -> list[tuple[int, str]]:
        """A node's children, those that are leaves of the same class together, and the rules that lead there."""
        start, column = int(self.nodes.slots[node]), int(self.nodes.column[node])
        groups: dict[tuple[int, int], list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for code, child in enumerate(self.nodes.children[start : start + self._n_slots[node]].tolist()):
            if child == NO_CHILD:
                continue
            key = (LEAF, int(self.nodes.report[child])) if self.nodes.column[child] == LEAF else (child, 0)
            groups.setdefault(key, []).append(code)
            first.setdefault(key, child)
        return [(first[key], rule_of(self.rows.schema, self.cells, column, codes)) for key, codes in groups.items()]

    def _places(self, max_depth: int) -> list[Place]:
        total = max(float(self.nodes.weight[0]), 1e-300)
        found: list[Place] = []
        waiting = [(0, NO_PARENT, 0, "", float(self.nodes.weight[0]))]
        while waiting:
            node, parent, depth, rule, weight = waiting.pop()
            here, is_leaf = len(found), self.nodes.column[node] == LEAF
            said = f"report {self._said(node)}" if is_leaf else f"ask {self.rows.schema.names[self.nodes.column[node]]}"
            more = f", {self._leaves_below(node)} leaves below" if not is_leaf and depth == max_depth else ""
            found.append(Place(parent, depth, rule, f"{weight / total:.1%} of rows, {said}{more}"))
            if not is_leaf and depth < max_depth:
                branches = [
                    (child, here, depth + 1, words, self._weight_of(node, child))
                    for child, words in self._branches(node)
                ]
                waiting += reversed(branches)
        return found

    def _weight_of(self, node: int, child: int) -> float:
        """The rows that come to a child or, where it is a leaf, to any of its siblings that report the same."""
        below = self._below(node)
        if self.nodes.column[child] != LEAF:
            return float(self.nodes.weight[child])
        same = (self.nodes.column[below] == LEAF) & (self.nodes.report[below] == self.nodes.report[child])
        return float(self.nodes.weight[below[same]].sum())

    def _leaves_below(self, node: int) -> int:
        count, waiting = 0, [node]
        while waiting:
            at = waiting.pop()
            count += bool(self.nodes.column[at] == LEAF)
            waiting += self._below(at).tolist() if self.nodes.column[at] != LEAF else []
        return count

    def _paths(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while waiting:
            node, path = waiting.pop()
            if self.nodes.column[node] == LEAF:
                yield node, path
                continue
            start, column = int(self.nodes.slots[node]), int(self.nodes.column[node])
            slots = self.nodes.children[start : start + self._n_slots[node]].tolist()
            steps = [
                (child, (*path, rule_of(self.rows.schema, self.cells, column, [code])))
                for code, child in enumerate(slots)
                if child != NO_CHILD
            ]
            waiting += reversed(steps)


def _compact(nodes: Nodes, cells: Cells) -> Nodes:
    """The nodes that can still be reached, numbered anew in the same order."""
    n_slots = np.where(nodes.column == LEAF, 0, cells.n_codes[nodes.column] + 1)
    kept = np.zeros(len(nodes.column), bool)
    kept[0] = True
    slots, children, n = np.zeros(len(nodes.column), np.int64), [], 0
    for node in range(len(kept)):
        if kept[node]:
            below = nodes.children[nodes.slots[node] : nodes.slots[node] + n_slots[node]]
            kept[below[below != NO_CHILD]] = True
            slots[node], n = n, n + len(below)
            children.append(below)
    number = np.cumsum(kept) - 1
    flat = np.concatenate(children) if n else np.zeros(0, np.int64)
    renumbered = np.where(flat == NO_CHILD, NO_CHILD, number[flat])
    return Nodes(nodes.column[kept], nodes.report[kept], nodes.weight[kept], slots[kept], renumbered)


def _check(nodes: Nodes, cells: Cells, n_classes: int) -> None:
    """Refuse nodes that would lead a row astray."""
    n = len(nodes.column)
    whole = all(
        array.dtype == np.int64 and array.ndim == 1
        for array in (nodes.column, nodes.report, nodes.slots, nodes.children)
    )
    if not n or not whole or {len(nodes.report), len(nodes.weight), len(nodes.slots)} != {n}:
        raise ValueError("its nodes are not those of a tree")
    in_range = (
        (nodes.column >= LEAF) & (nodes.column < len(cells.n_codes)) & (nodes.report >= 0) & (nodes.report < n_classes)
    )
    if (
        not in_range.all()
        or nodes.weight.dtype != np.float64
        or nodes.weight.ndim != 1
        or not np.isfinite(nodes.weight).all()
    ):
        raise ValueError("its nodes are not those of a tree")
    n_slots = np.where(nodes.column == LEAF, 0, cells.n_codes[nodes.column] + 1)
    if (nodes.slots != np.cumsum(n_slots) - n_slots).any() or n_slots.sum() != len(nodes.children):
        raise ValueError("its branches are not those of its queries")
    parent = np.repeat(np.arange(n), n_slots)
    is_child = nodes.children != NO_CHILD
    children = nodes.children[is_child]
    if (children <= parent[is_child]).any() or not np.array_equal(np.sort(children), np.arange(1, n)):
        raise ValueError("its branches do not form a tree")
