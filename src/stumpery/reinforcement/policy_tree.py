"""The explicit tree that a policy is: plain arrays that predict without jax, in words, as a table and as a picture."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.array_forest import rendering as tree_words
from stumpery.encoding import Schema
from stumpery.encoding.online import OnlineEncoder
from stumpery.labels.classes import Label, class_array, encode_classes
from stumpery.reinforcement import policy_nodes
from stumpery.reinforcement.cells import Cells, Codes
from stumpery.reinforcement.policy_nodes import LEAF, NO_CHILD, Nodes
from stumpery.reinforcement.policy_words import PolicyWords
from stumpery.types import Integers, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    rows: OnlineEncoder
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
        asked = (self.nodes.column != LEAF) * policy_nodes.answered(self.nodes, self.cells.n_codes)
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
        found: NDArray[Any] = class_array(self.classes)[self.nodes.report[self.reached(X)]]
        return found

    def depths_many(self, X: Any) -> Integers:  # noqa: N803
        """How many columns are looked at for each row."""
        return self._depths[self.reached(X)]

    def reached(self, X: Any) -> Integers:  # noqa: N803
        """The node at which each row ends."""
        single = isinstance(X, list) and len(X) == 1
        floats = self.rows.one(X[0]).reshape(1, -1) if single else self.rows.many(X)[:]
        return self._reached(self.cells.coded(floats).codes)

    # The tree in words.

    def to_text(self, max_depth: int = 5) -> str:
        """The tree as an indented list of rules."""
        return tree_words.text(self._words.places(max_depth))

    def draw(self, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """The tree as a picture: queries, answers, shares of rows, and what is reported."""
        return tree_words.draw(self._words.places(max_depth), f"{self.n_leaves} leaves", ax)

    def leaves(self) -> list[dict[str, Any]]:
        """A row for each leaf: its rule, the share of the rows that come here, and what it reports."""
        return self._words.leaves()

    def to_frame(self, backend: str | None = None) -> Any:
        """The leaves as a frame."""
        rows = self.leaves()
        return frames.make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    # Equal leaves as one.

    def merged(self) -> "PolicyTree":
        """The tree in which a query whose branches all report the same class is that report itself."""
        return PolicyTree(self.rows, self.cells, self.classes, policy_nodes.merged(self.nodes, self.cells.n_codes))

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
        rows = OnlineEncoder.under(schema, state.options["max_names"])
        cells = Cells.from_state(part["cells"], rows.is_categorical, as_they_are=bool(state.options["as_they_are"]))
        classes = tuple(state.options["classes"])
        if not classes or tuple(encode_classes(list(classes), [])[0]) != classes:
            raise ValueError("its classes are not all different")
        nodes = Nodes(**part["nodes"])
        policy_nodes.check(nodes, cells.n_codes, len(classes))
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

    @cached_property
    def _depths(self) -> Integers:
        return policy_nodes.depths(self.nodes, self.cells.n_codes)

    @property
    def _words(self) -> PolicyWords:
        return PolicyWords(self.rows.schema, self.cells, self.classes, self.nodes)
