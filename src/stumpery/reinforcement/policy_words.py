"""An explicit tree in words: its places for text and pictures, and the rules that lead to its leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stumpery.array_forest.rendering import NO_PARENT, ShownNode
from stumpery.encoding import Schema
from stumpery.labels.classes import Label
from stumpery.reinforcement.cells import Cells, rule_of
from stumpery.reinforcement.policy_nodes import LEAF, NO_CHILD, Nodes, below, slots_of


@dataclass(frozen=True, eq=False)
class PolicyWords:
    """What is needed to speak of a tree."""

    schema: Schema
    cells: Cells
    classes: Sequence[Label]
    nodes: Nodes

    def places(self, max_depth: int) -> list[ShownNode]:
        """The nodes down to a depth, leaves of one query that report the same as one place."""
        found: list[ShownNode] = []
        waiting = [(0, NO_PARENT, 0, "", float(self.nodes.weight[0]))]
        while waiting:
            node, parent, depth, rule, weight = waiting.pop()
            here, is_leaf = len(found), self._is_leaf(node)
            said = f"report {self._said(node)}" if is_leaf else f"ask {self.schema.names[self.nodes.column[node]]}"
            more = f", {self._n_leaves(node)} leaves below" if not is_leaf and depth == max_depth else ""
            found.append(ShownNode(parent, depth, rule, f"{weight / self._total:.1%} of rows, {said}{more}"))
            if not is_leaf and depth < max_depth:
                branches = [
                    (child, here, depth + 1, words, self._weight_of(node, child))
                    for child, words in self._branches(node)
                ]
                waiting += reversed(branches)
        return found

    def leaves(self) -> list[dict[str, str | float]]:
        """A row for each leaf: its rule, the share of the rows that come here, and what it reports."""
        return [
            {
                "rule": " and ".join(path) or "all",
                "share": float(self.nodes.weight[node]) / self._total,
                "prediction": self._said(node),
            }
            for node, path in self._paths()
        ]

    @property
    def _total(self) -> float:
        return max(float(self.nodes.weight[0]), 1e-300)

    def _said(self, node: int) -> str:
        return repr(self.classes[int(self.nodes.report[node])])

    def _is_leaf(self, node: int) -> bool:
        return bool(self.nodes.column[node] == LEAF)

    def _answers(self, node: int) -> list[tuple[int, int]]:
        """The codes that lead to a child, and that child."""
        slots = slots_of(self.nodes, self.cells.n_codes, node).tolist()
        return [(code, child) for code, child in enumerate(slots) if child != NO_CHILD]

    def _rule(self, node: int, codes: Sequence[int]) -> str:
        return rule_of(self.schema, self.cells, int(self.nodes.column[node]), codes)

    def _branches(self, node: int) -> list[tuple[int, str]]:
        """A node's children, those that are leaves of the same class together, and the rules that lead there."""
        groups: dict[tuple[int, int], list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for code, child in self._answers(node):
            key = (LEAF, int(self.nodes.report[child])) if self._is_leaf(child) else (child, 0)
            groups.setdefault(key, []).append(code)
            first.setdefault(key, child)
        return [(first[key], self._rule(node, codes)) for key, codes in groups.items()]

    def _weight_of(self, node: int, child: int) -> float:
        """The rows that come to a child or, where it is a leaf, to any of its siblings that report the same."""
        if not self._is_leaf(child):
            return float(self.nodes.weight[child])
        under = below(self.nodes, self.cells.n_codes, node)
        same = (self.nodes.column[under] == LEAF) & (self.nodes.report[under] == self.nodes.report[child])
        return float(self.nodes.weight[under[same]].sum())

    def _n_leaves(self, node: int) -> int:
        count, waiting = 0, [node]
        while waiting:
            at = waiting.pop()
            count += self._is_leaf(at)
            waiting += below(self.nodes, self.cells.n_codes, at).tolist()
        return count

    def _paths(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while waiting:
            node, path = waiting.pop()
            if self._is_leaf(node):
                yield node, path
            else:
                steps = [(child, (*path, self._rule(node, [code]))) for code, child in self._answers(node)]
                waiting += reversed(steps)
