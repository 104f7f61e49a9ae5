"""A stream's trees in words, as a table and as a picture."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest import rendering
from stumpery.array_forest.precision import rounded_row
from stumpery.array_forest.rules import rules_of
from stumpery.encoding import Schema
from stumpery.options import check_whole
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees.leaf_predictors_kernels import StreamState
from stumpery.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_EXPLAINED = 5  # trees of a forest whose rules an explanation names


@dataclass(frozen=True)
class TreeRenderer(ABC):
    """What the trees know, said with the names of columns."""

    model: StreamState
    schema: Schema
    n_trees: int

    @abstractmethod
    def said(self, totals: Floats) -> str:
        """What leaves with these statistics predict."""

    @abstractmethod
    def told(self, totals: Floats) -> dict[str, Any]:
        """The same as cells of a table."""

    @abstractmethod
    def weight(self, totals: Floats) -> float:
        """The weight of the events in these statistics."""

    @abstractmethod
    def summed(self, stats: Floats) -> Floats:
        """The statistics of several leaves together."""

    def n_leaves(self) -> int:
        """The leaves of all trees, those in the background left out."""
        return sum(len(rendering.leaves_below(self._children, root)) for root in range(self.n_trees))

    def text(self, tree: int, max_depth: int) -> str:
        """One tree as indented lines."""
        return rendering.text(self._places(tree, max_depth))

    def draw(self, tree: int, max_depth: int, ax: "Axes | None") -> "Axes":
        """One tree as a picture."""
        return rendering.draw(self._places(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree."""
        rows = []
        for node, path in rendering.paths(self._children, tree, self._rules):
            totals = self._below([node])
            rows.append({"rule": " and ".join(path) or "all", "events": self.weight(totals), **self.told(totals)})
        return rows

    def row(self, row: Floats, prediction: str) -> str:
        """The rules on a row's way down the first trees."""
        row, lines = rounded_row(row, self.model.doubles.widths), [prediction]
        for tree in range(min(self.n_trees, N_EXPLAINED)):
            node, path = tree, []
            while int(self._children[node]) != node:
                side = self._side(node, row)
                path.append(self._rules(node)[side])
                node = int(self._children[node]) + side
            rule = " and ".join(path) or "all rows"
            name = f"tree {tree}: " if self.n_trees > 1 else ""
            lines.append(f"{name}{rule}: {self.said(self._below([node]))}")
        if self.n_trees > N_EXPLAINED:
            lines.append(f"and {self.n_trees - N_EXPLAINED} more trees")
        return "\n".join(lines)

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
        return self.summed(self.model.forest.stats[numbers, leaves.ROW_ALL].astype(np.float64))

    def _places(self, tree: int, max_depth: int) -> list[rendering.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        whole = self.weight(self._below(rendering.leaves_below(self._children, tree)))

        def known(node: int) -> str:
            totals = self._below(rendering.leaves_below(self._children, node))
            share = self.weight(totals) / whole if whole else 0.0
            return f"{share:.1%} of events, {self.said(totals)}"

        return rendering.shown_nodes(self._children, tree, max_depth, self._rules, known)


@dataclass(frozen=True)
class ClassifierRenderer(TreeRenderer):
    """Trees of classes."""

    classes: Sequence[Any]

    def said(self, totals: Floats) -> str:
        """The commonest classes and their shares."""
        total = totals.sum()
        if not total:
            return "no events yet"
        order = np.argsort(-totals, kind="stable")[:3]
        return ", ".join(f"{self.classes[place]!r} {totals[place] / total:.1%}" for place in order if totals[place])

    def told(self, totals: Floats) -> dict[str, Any]:
        """The commonest class, and the share of each."""
        shares = (totals / max(totals.sum(), 1e-300)).tolist()
        best = str(self.classes[int(np.argmax(totals))])
        return {
            "prediction": best,
            **{f"share of {each!r}": share for each, share in zip(self.classes, shares, strict=True)},
        }

    def weight(self, totals: Floats) -> float:
        """The weight of all classes."""
        return float(totals.sum())

    def summed(self, stats: Floats) -> Floats:
        """Weights add up."""
        total: Floats = stats.sum(axis=0)
        return total


@dataclass(frozen=True)
class RegressorRenderer(TreeRenderer):
    """Trees of numbers."""

    def said(self, totals: Floats) -> str:
        """The mean and the deviation."""
        count, mean, squares = totals.tolist()
        return f"mean {mean:.4g}, deviation {(squares / count) ** 0.5:.4g}" if count else "no events yet"

    def told(self, totals: Floats) -> dict[str, Any]:
        """The mean and the deviation."""
        count, mean, squares = totals.tolist()
        return {"prediction": mean, "deviation": (squares / count) ** 0.5 if count else 0.0}

    def weight(self, totals: Floats) -> float:
        """The weight."""
        return float(totals[leaves.MOMENT_WEIGHT])

    def summed(self, stats: Floats) -> Floats:
        """Moments merge."""
        count = stats[:, leaves.MOMENT_WEIGHT].sum()
        if not count:
            return np.zeros(leaves.N_MOMENTS)
        mean = (stats[:, leaves.MOMENT_WEIGHT] * stats[:, leaves.MOMENT_MEAN]).sum() / count
        between = (stats[:, leaves.MOMENT_WEIGHT] * (stats[:, leaves.MOMENT_MEAN] - mean) ** 2).sum()
        return np.array([count, mean, stats[:, leaves.MOMENT_SQUARES].sum() + between])
