"""Hoeffding trees as text, as tables and as pictures, and explanations of predictions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest import rendering
from stumpery.array_forest.precision import rounded_row
from stumpery.array_forest.rendering import rules_of
from stumpery.encoding import Schema
from stumpery.options import check_whole
from stumpery.streaming.trees.state_kernels import (
    MOMENT_MEAN,
    MOMENT_SQUARES,
    MOMENT_WEIGHT,
    N_MOMENTS,
    ROW_ALL,
    StreamState,
)
from stumpery.types import Explanation, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_EXPLAINED = 5  # trees of a forest whose rules an explanation has


@dataclass(frozen=True)
class TreeRenderer(ABC):
    """Renders trees with the names of columns."""

    model: StreamState
    schema: Schema
    n_trees: int

    @abstractmethod
    def summary(self, totals: Floats) -> str:
        """The prediction by these statistics as text."""

    @abstractmethod
    def cells(self, totals: Floats) -> dict[str, Any]:
        """The prediction by these statistics as cells of a table."""

    @abstractmethod
    def weight(self, totals: Floats) -> float:
        """The weight of the events in these statistics."""

    @abstractmethod
    def merged(self, stats: Floats) -> Floats:
        """The statistics of several leaves, merged."""

    def n_leaves(self) -> int:
        """The number of leaves of all trees but the background trees."""
        return sum(len(rendering.leaves_below(self._children, root)) for root in range(self.n_trees))

    def text(self, tree: int, max_depth: int) -> str:
        """A tree as indented lines."""
        return rendering.text(self._shown_nodes(tree, max_depth))

    def draw(self, tree: int, max_depth: int, ax: "Axes | None") -> "Axes":
        """A tree as a picture."""
        return rendering.draw(self._shown_nodes(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree."""
        rows = []
        for node, path in rendering.paths(self._children, tree, self._rules):
            totals = self._below([node])
            rows.append({"rule": " and ".join(path) or "all", "events": self.weight(totals), **self.cells(totals)})
        return rows

    def explanation(self, row: Floats, prediction: str) -> Explanation:
        """The rules on a row's path down the first trees, and the prediction of the leaf that it reaches."""
        row, paths = rounded_row(row, self.model.doubles.widths), []
        for tree in range(min(self.n_trees, N_EXPLAINED)):
            node, path = tree, []
            while int(self._children[node]) != node:
                side = self._side(node, row)
                path.append(self._rules(node)[side])
                node = int(self._children[node]) + side
            rule = " and ".join(path) or "all rows"
            paths.append({"tree": tree, "rule": rule, "leaf": self.summary(self._below([node]))})
        n_more = self.n_trees - len(paths)
        more = f" (the first {len(paths)} of {self.n_trees} trees)" if n_more else ""
        return Explanation(f"{prediction}{more}", tuple(paths))

    @property
    def _children(self) -> NDArray[np.int32]:
        return self.model.forest.nodes[:, forests.NODE_CHILD]

    def _side(self, node: int, row: Floats) -> int:
        forest = self.model.forest
        column = int(forest.nodes[node, forests.NODE_COLUMN])
        if column >= 0:
            return int(row[column] > forest.thresholds[2 * node + forests.NODE_PAYLOAD])
        return 1 - (int(forest.masks[2 * node + forests.NODE_PAYLOAD]) >> int(row[~column]) & 1)

    def _rules(self, node: int) -> tuple[str, str]:
        return rules_of(self.model.forest, self.schema, node)

    def _below(self, nodes: Sequence[int]) -> Floats:
        numbers = self.model.forest.nodes[list(nodes), forests.NODE_LEAF]
        return self.merged(self.model.forest.stats[numbers, ROW_ALL].astype(np.float64))

    def _shown_nodes(self, tree: int, max_depth: int) -> list[rendering.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        total = self.weight(self._below(rendering.leaves_below(self._children, tree)))

        def node_text(node: int) -> str:
            totals = self._below(rendering.leaves_below(self._children, node))
            share = self.weight(totals) / total if total else 0.0
            return f"{share:.1%} of events, {self.summary(totals)}"

        return rendering.shown_nodes(self._children, tree, max_depth, self._rules, node_text)


@dataclass(frozen=True)
class ClassifierRenderer(TreeRenderer):
    """Renders trees of classes."""

    classes: Sequence[Any]

    def summary(self, totals: Floats) -> str:
        """The most frequent classes and their shares."""
        total = totals.sum()
        if not total:
            return "no events yet"
        order = np.argsort(-totals, kind="stable")[:3]
        return ", ".join(f"{self.classes[code]!r} {totals[code] / total:.1%}" for code in order if totals[code])

    def cells(self, totals: Floats) -> dict[str, Any]:
        """The most frequent class, and the share of each."""
        shares = (totals / max(totals.sum(), 1e-300)).tolist()
        best = str(self.classes[int(np.argmax(totals))])
        return {
            "prediction": best,
            **{f"share of {label!r}": share for label, share in zip(self.classes, shares, strict=True)},
        }

    def weight(self, totals: Floats) -> float:
        """The weight of all classes."""
        return float(totals.sum())

    def merged(self, stats: Floats) -> Floats:
        """The sum of the weights."""
        total: Floats = stats.sum(axis=0)
        return total


@dataclass(frozen=True)
class RegressorRenderer(TreeRenderer):
    """Renders trees of numbers."""

    def summary(self, totals: Floats) -> str:
        """The mean and the standard deviation."""
        count, mean, squares = totals.tolist()
        return f"mean {mean:.4g}, deviation {(squares / count) ** 0.5:.4g}" if count else "no events yet"

    def cells(self, totals: Floats) -> dict[str, Any]:
        """The mean and the standard deviation."""
        count, mean, squares = totals.tolist()
        return {"prediction": mean, "deviation": (squares / count) ** 0.5 if count else 0.0}

    def weight(self, totals: Floats) -> float:
        """The weight of all numbers."""
        return float(totals[MOMENT_WEIGHT])

    def merged(self, stats: Floats) -> Floats:
        """The merged moments."""
        count = stats[:, MOMENT_WEIGHT].sum()
        if not count:
            return np.zeros(N_MOMENTS)
        mean = (stats[:, MOMENT_WEIGHT] * stats[:, MOMENT_MEAN]).sum() / count
        between = (stats[:, MOMENT_WEIGHT] * (stats[:, MOMENT_MEAN] - mean) ** 2).sum()
        return np.array([count, mean, stats[:, MOMENT_SQUARES].sum() + between])
