"""Rendering of an extracted decision tree: its nodes for text and pictures, and the rules of its leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stumpery.array_forest.rendering import NO_PARENT, ShownNode
from stumpery.encoding import Schema
from stumpery.labels.classes import Label
from stumpery.reinforcement.discretisation import Discretisation, branch_rule
from stumpery.reinforcement.policy_tree_nodes import LEAF, NO_CHILD, TreeNodes, children_of, slots_of


@dataclass(frozen=True, eq=False)
class PolicyTreeRendering:
    """A tree with its columns and classes, to be rendered."""

    schema: Schema
    cells: Discretisation
    classes: Sequence[Label]
    nodes: TreeNodes

    def shown_nodes(self, max_depth: int) -> list[ShownNode]:
        """The nodes down to a depth; leaves of one query that report the same class are shown as one."""
        shown: list[ShownNode] = []
        stack = [(0, NO_PARENT, 0, "", float(self.nodes.weight[0]))]
        while stack:
            node, parent, depth, rule, weight = stack.pop()
            index, is_leaf = len(shown), self._is_leaf(node)
            action = f"report {self._label(node)}" if is_leaf else f"ask {self.schema.names[self.nodes.column[node]]}"
            more = f", {self._n_leaves(node)} leaves below" if not is_leaf and depth == max_depth else ""
            shown.append(ShownNode(parent, depth, rule, f"{weight / self._total:.1%} of rows, {action}{more}"))
            if not is_leaf and depth < max_depth:
                branches = [
                    (child, index, depth + 1, branch_rule, self._weight_of(node, child))
                    for child, branch_rule in self._branches(node)
                ]
                stack += reversed(branches)
        return shown

    def leaves(self) -> list[dict[str, str | float]]:
        """The leaves as dicts: rule, share of the rows that reach it, and reported class."""
        return [
            {
                "rule": " and ".join(path) or "all",
                "share": float(self.nodes.weight[node]) / self._total,
                "prediction": self._label(node),
            }
            for node, path in self._paths()
        ]

    @property
    def _total(self) -> float:
        return max(float(self.nodes.weight[0]), 1e-300)

    def _label(self, node: int) -> str:
        return repr(self.classes[int(self.nodes.report[node])])

    def _is_leaf(self, node: int) -> bool:
        return bool(self.nodes.column[node] == LEAF)

    def _answers(self, node: int) -> list[tuple[int, int]]:
        """The codes that have a branch, and their children."""
        slots = slots_of(self.nodes, self.cells.n_codes, node).tolist()
        return [(code, child) for code, child in enumerate(slots) if child != NO_CHILD]

    def _rule(self, node: int, codes: Sequence[int]) -> str:
        return branch_rule(self.schema, self.cells, int(self.nodes.column[node]), codes)

    def _branches(self, node: int) -> list[tuple[int, str]]:
        """The children of a node and their rules; leaves that report the same class are grouped."""
        groups: dict[tuple[int, int], list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for code, child in self._answers(node):
            key = (LEAF, int(self.nodes.report[child])) if self._is_leaf(child) else (child, 0)
            groups.setdefault(key, []).append(code)
            first.setdefault(key, child)
        return [(first[key], self._rule(node, codes)) for key, codes in groups.items()]

    def _weight_of(self, node: int, child: int) -> float:
        """The number of rows that reach a child; of a leaf, including its siblings that report the same class."""
        if not self._is_leaf(child):
            return float(self.nodes.weight[child])
        children = children_of(self.nodes, self.cells.n_codes, node)
        is_same = (self.nodes.column[children] == LEAF) & (self.nodes.report[children] == self.nodes.report[child])
        return float(self.nodes.weight[children[is_same]].sum())

    def _n_leaves(self, node: int) -> int:
        count, stack = 0, [node]
        while stack:
            descendant = stack.pop()
            count += self._is_leaf(descendant)
            stack += children_of(self.nodes, self.cells.n_codes, descendant).tolist()
        return count

    def _paths(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while stack:
            node, path = stack.pop()
            if self._is_leaf(node):
                yield node, path
            else:
                steps = [(child, (*path, self._rule(node, [code]))) for code, child in self._answers(node)]
                stack += reversed(steps)
