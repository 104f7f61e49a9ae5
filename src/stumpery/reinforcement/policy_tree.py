"""Decision tree extracted from a policy: prediction without jax, rules as text, table and picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stumpery import frames
from stumpery.array_forest import rendering
from stumpery.encoding import Schema
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.labels.classes import Label, checked_classes, class_array
from stumpery.reinforcement import policy_tree_nodes
from stumpery.reinforcement.discretisation import Codes, Discretisation
from stumpery.reinforcement.policy_tree_nodes import LEAF, NO_CHILD, TreeNodes
from stumpery.reinforcement.policy_tree_rendering import PolicyTreeRendering
from stumpery.saving.saveable import Arrays, Options, Saveable, taken
from stumpery.saving.validation import check
from stumpery.types import Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PolicyTree(Saveable):
    """Decision tree over mixed columns with a branch for each answer to a query; `tree` of a model returns one.

    `DQNTree`, `ActorCriticTree` and `OptimalTree` extract their policy as such a tree. An answer without a branch,
    which occurred in no row, ends at the query itself, which then reports its own best class.

    Args:
        encoder: Encoder of rows.
        cells: Discretisation of the encoded rows.
        classes: Class labels.
        nodes: Nodes as arrays.

    >>> import stumpery as st
    >>> model = st.reinforcement.OptimalTree(depth_penalty=0.01)
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

    encoder: OnlineEncoder
    cells: Discretisation
    classes: tuple[Label, ...]
    nodes: TreeNodes

    # Size.

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.nodes.column == LEAF).sum())

    @property
    def max_depth(self) -> int:
        """The largest number of queries on a path to a leaf."""
        return int(self._depths.max())

    @property
    def expected_depth(self) -> float:
        """The mean number of queries over the rows counted in the tree; NaN without rows."""
        total = float(self.nodes.weight[0])
        queried = (self.nodes.column != LEAF) * policy_tree_nodes.answered_weights(self.nodes, self.cells.n_codes)
        return float(queried.sum() / total) if total else float("nan")

    @property
    def n_bytes(self) -> int:
        """The bytes of the nodes."""
        return sum(array.nbytes for array in self.nodes)

    # Prediction.

    def predict_one(self, x: Any) -> Label:
        """The reported class of a row."""
        return self.classes[int(self.nodes.report[self.leaf_of_many([x])[0]])]

    def predict_many(self, X: Any) -> NDArray[Any]:  # noqa: N803 - as river and scikit-learn name it
        """The reported class of each row."""
        labels: NDArray[Any] = class_array(self.classes)[self.nodes.report[self.leaf_of_many(X)]]
        return labels

    def depths_many(self, X: Any) -> Integers:  # noqa: N803
        """The depth of each row: how many columns are queried."""
        return self._depths[self.leaf_of_many(X)]

    def leaf_of_many(self, X: Any) -> Integers:  # noqa: N803
        """The node at which each row ends, usually a leaf."""
        single = isinstance(X, list) and len(X) == 1
        floats = self.encoder.encode_one(X[0]).reshape(1, -1) if single else self.encoder.encode_many(X)[:]
        return self._descend(self.cells.coded(floats).codes)

    # Rendering.

    def to_text(self, max_depth: int = 5) -> str:
        """The tree as an indented list of rules."""
        return rendering.text(self._rendering.shown_nodes(max_depth))

    def draw(self, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """Draw the tree: queries, answers, shares of rows and reported classes."""
        return rendering.draw(self._rendering.shown_nodes(max_depth), f"{self.n_leaves} leaves", ax)

    def leaves(self) -> list[dict[str, Any]]:
        """The leaves as dicts: rule, share of the rows that reach it, and reported class."""
        return self._rendering.leaves()

    def to_frame(self, backend: str | None = None) -> Any:
        """The leaves as a frame."""
        rows = self.leaves()
        return frames.make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def merged(self) -> "PolicyTree":
        """A pruned copy: queries whose branches all report the same class become leaves."""
        return PolicyTree(
            self.encoder, self.cells, self.classes, policy_tree_nodes.merge_equal_leaves(self.nodes, self.cells.n_codes)
        )

    # Files.

    def _options(self) -> Options:
        return {
            "max_categories": self.encoder.max_categories,
            "classes": list(self.classes),
            "as_they_are": self.cells.as_they_are,
        }

    def _members(self) -> Mapping[str, Any]:
        return {"schema": self.encoder.schema}

    @classmethod
    def _member_kinds(cls, options: Options) -> Mapping[str, type[Saveable]]:
        return {"schema": Schema}

    def _arrays(self) -> Arrays:
        cells = {f"cells.{name}": array for name, array in self.cells.arrays().items()}
        return cells | {f"nodes.{name}": array for name, array in self.nodes._asdict().items()}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        encoder = OnlineEncoder.from_schema(options["schema"], options["max_categories"])
        own = taken(arrays, "cells.")
        cells = Discretisation.from_arrays(own, encoder.is_categorical, as_they_are=bool(options["as_they_are"]))
        classes = tuple(checked_classes(options["classes"]))
        check(classes, "there are no classes")
        nodes = TreeNodes(**taken(arrays, "nodes."))
        policy_tree_nodes.validate(nodes, cells.n_codes, len(classes))
        return {"encoder": encoder, "cells": cells, "classes": classes, "nodes": nodes}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        """All of it was given to the constructor."""
        check(not arrays, f"unknown arrays {sorted(arrays)}")

    # Descent.

    def _descend(self, codes: Codes) -> Integers:
        nodes = self.nodes
        node = np.zeros(len(codes), np.int64)
        active = np.arange(len(codes))
        while len(active):
            current = node[active]
            column = nodes.column[current]
            answer = codes[active, column]
            answer = np.where(answer < 0, self.cells.n_codes[column], answer)
            child = np.full(len(current), NO_CHILD)
            is_query = column != LEAF
            child[is_query] = nodes.children[(nodes.slots[current] + answer)[is_query]]
            active, child = active[child != NO_CHILD], child[child != NO_CHILD]
            node[active] = child
        return node

    @cached_property
    def _depths(self) -> Integers:
        return policy_tree_nodes.depths(self.nodes, self.cells.n_codes)

    @property
    def _rendering(self) -> PolicyTreeRendering:
        return PolicyTreeRendering(self.encoder.schema, self.cells, self.classes, self.nodes)
