"""Explanations of bandit trees: the rule of a leaf, the votes of a forest, trees as text."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.array_forest import rendering
from stumpery.array_forest.rendering import ShownNode
from stumpery.policies.bandit_forest import state_kernels as layout
from stumpery.policies.bandit_forest.state_kernels import (
    NODE_CHILD,
    NODE_CHOICE,
    NODE_LEAF,
    NODE_VARIABLE,
    BanditState,
    Int32s,
)
from stumpery.types import Action, Bits, Explanation, Floats

N_NAMED = 3  # variables that an explanation of votes names


@dataclass(frozen=True)
class TreeExplanation:
    """Explanations of bandit trees, with the names of bits and actions."""

    state: BanditState
    names: Sequence[str]
    actions: Sequence[Action]
    reward: Callable[[float], float]  # from the unit scale to the user's
    delta: float

    def overall(self, exploring: float) -> Explanation:
        """Every action's number and mean of rewards over all contexts."""
        rows = sorted(self._rows(), key=lambda row: -row["mean"] if row["n"] else math.inf)
        said = f"After {sum(row['n'] for row in rows)} rewards {exploring:.0%} of recent decisions explore"
        for row, verb in zip(rows[:2], ("has the highest mean over all contexts,", "follows with"), strict=False):
            if row["n"]:
                said += f"; {row['action']!r} {verb} {row['mean']:.4g}"
        return Explanation(said + ".", tuple(rows))

    def decision(self, bits: Bits, action: int, probability: float) -> Explanation:
        """The rule of the one tree, or the votes of many, behind a choice."""
        reached = [self._path(tree, bits)[-1] for tree in range(len(self.state.trees))]
        said = f"{self.actions[action]!r} was chosen with probability {probability:.4g}"
        if len(reached) == 1:
            return self._by_rule(said, bits, reached[0])
        return self._by_votes(said, bits, reached)

    def nodes(self, tree: int, max_depth: int) -> list[ShownNode]:
        """One tree down to a depth: the variable of each node, the state of each leaf."""
        return rendering.shown_nodes(self._children, tree, max_depth, lambda _: ("no", "yes"), self._state)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree and each action: the leaf's rule and the action's rewards there."""
        return [
            {"rule": " and ".join(path) or "all", "action": action, **row}
            for node, path in rendering.paths(self._children, tree, self._rules)
            for action, row in zip(self.actions, self._leaf(node), strict=True)
        ]

    @property
    def _children(self) -> Int32s:
        children: Int32s = self.state.nodes[:, NODE_CHILD]
        return children

    def _rules(self, node: int) -> tuple[str, str]:
        name = self.names[self.state.nodes[node, NODE_VARIABLE]]
        return f"not {name}", name

    def _leaf(self, node: int) -> list[dict[str, Any]]:
        """Every action's rewards in a leaf, an interval of their mean, and whether the action remains."""
        leaf = self.state.nodes[node, NODE_LEAF]
        rows = []
        for arm, mean in zip(self.state.arms[leaf].tolist(), self._means(leaf).tolist(), strict=True):
            plays = arm[layout.ARM_PLAYS]
            half_width = math.sqrt(math.log(2 / self.delta) / (2 * plays)) if plays else math.inf
            rows.append(
                {
                    "n": int(plays),
                    "mean": self.reward(mean) if plays else math.nan,
                    "from": self.reward(max(0.0, mean - half_width)),
                    "to": self.reward(min(1.0, mean + half_width)),
                    "remains": arm[layout.ARM_REMAINS] != 0.0,
                }
            )
        return rows

    def _by_rule(self, said: str, bits: Bits, node: int) -> Explanation:
        path = [
            self._rules(above)[int(bits[self.state.nodes[above, NODE_VARIABLE]])] for above in self._path(0, bits)[:-1]
        ]
        rule = f"where {' and '.join(path)}" if path else "everywhere"
        rows = self._rows()
        for row, leaf in zip(rows, self._leaf(node), strict=True):
            row["n_leaf"], row["mean_leaf"] = leaf.pop("n"), leaf.pop("mean")
            row.update(leaf)
        rows.sort(key=lambda row: (not row["remains"], -row["mean_leaf"] if row["n_leaf"] else math.inf))
        return Explanation(f"{said}: {rule}, {self._state(node)}.", tuple(rows))

    def _by_votes(self, said: str, bits: Bits, reached: list[int]) -> Explanation:
        choices = [int(self.state.nodes[node, NODE_CHOICE]) for node in reached]
        votes = Counter(choice for choice in choices if choice >= 0)
        passed = (node for tree in range(len(reached)) for node in self._path(tree, bits)[:-1])
        variables = Counter(int(self.state.nodes[node, NODE_VARIABLE]) for node in passed)
        rows = self._rows()
        means = np.array([self._means(self.state.nodes[node, NODE_LEAF]) for node in reached]).mean(axis=0)
        for action, row in enumerate(rows):
            row["votes"] = votes[action]
            row["mean_leaf"] = self.reward(float(means[action]))
        rows.sort(key=lambda row: (-row["votes"], -row["mean_leaf"]))
        said += f"; {votes.total()} of {len(reached)} trees have chosen an action for it"
        if votes.total():
            ranked = [f"{row['votes']} vote for {row['action']!r}" for row in rows[:2] if row["votes"]]
            margin = rows[0]["votes"] - (rows[1]["votes"] if len(rows) > 1 else 0)
            said += f", {' and '.join(ranked)} (margin {margin})"
        if variables:
            named = [f"{self.names[variable]} ({n} trees)" for variable, n in variables.most_common(N_NAMED)]
            said += f"; most trees split on {', '.join(named)}"
        return Explanation(said + ".", tuple(rows))

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for action, name in enumerate(self.actions):
            arm = self.state.arms[layout.ALL_EVENTS, action]
            plays = int(arm[layout.ARM_PLAYS])
            mean = self.reward(float(arm[layout.ARM_SUM]) / plays) if plays else math.nan
            rows.append({"action": name, "n": plays, "mean": mean})
        return rows

    def _means(self, leaf: int) -> Floats:
        arms = self.state.arms[leaf]
        is_inverse = self.state.options[layout.OPTION_WEIGHTING] == layout.INVERSE_PROPENSITY
        divisors = np.full(len(arms), arms[:, layout.ARM_PLAYS].sum()) if is_inverse else arms[:, layout.ARM_WEIGHT]
        means: Floats = arms[:, layout.ARM_SUM] / np.where(divisors > 0.0, divisors, 1.0)
        return means

    def _path(self, tree: int, bits: Bits) -> list[int]:
        """The nodes that a row of bits passes in a tree, from the root to the leaf."""
        path = [tree]
        while self.state.nodes[path[-1], NODE_CHILD] != path[-1]:
            child, variable = self.state.nodes[path[-1], [NODE_CHILD, NODE_VARIABLE]].tolist()
            path.append(child + int(bits[variable]))
        return path

    def _state(self, node: int) -> str:
        """The variable of a node, or the state of a leaf."""
        if self.state.nodes[node, NODE_CHILD] != node:
            return f"{self.names[self.state.nodes[node, NODE_VARIABLE]]}?"
        leaf, choice = self.state.nodes[node, NODE_LEAF], self.state.nodes[node, NODE_CHOICE]
        arms = self.state.arms[leaf]
        n_plays = int(arms[:, layout.ARM_PLAYS].sum())
        if choice >= 0:
            mean = self.reward(float(self._means(leaf)[choice]))
            return f"{self.actions[choice]!r} pays {mean:.4g} after {n_plays} rewards"
        if choice == layout.SELECTING_VARIABLE:
            n_left = int((self.state.marks[self.state.leaves[leaf, layout.LEAF_SUMS]] == layout.MARK_CANDIDATE).sum())
            return f"{n_left} bits to split on remain after {n_plays} rewards"
        remaining = [repr(name) for name, arm in zip(self.actions, arms, strict=True) if arm[layout.ARM_REMAINS]]
        return f"{', '.join(remaining)} remain after {n_plays} rewards"
