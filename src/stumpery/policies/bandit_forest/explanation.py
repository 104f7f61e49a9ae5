"""Bandit trees in words: rules, votes and whole trees."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.array_forest import rendering as tree_words
from stumpery.array_forest.rendering import ShownNode
from stumpery.policies.bandit_forest import arena_kernels as arena
from stumpery.policies.bandit_forest.arena_kernels import CHILD, CHOICE, LEAF, VARIABLE, Forest, Int32s
from stumpery.types import Action, Bits, Explanation, Floats

N_NAMED = 3  # variables of a forest that an explanation names


@dataclass(frozen=True)
class Words:
    """What the trees know, said with the names of bits and actions."""

    forest: Forest
    names: Sequence[str]
    actions: Sequence[Action]
    reward: Callable[[float], float]  # from the unit scale to the user's
    delta: float

    def overall(self, exploring: float) -> Explanation:
        """Every action's rewards over all contexts."""
        rows = sorted(self._rows(), key=lambda row: -row["mean"] if row["rewards"] else math.inf)
        said = f"After {sum(row['rewards'] for row in rows)} rewards {exploring:.0%} of recent decisions explore"
        for row, verb in zip(rows[:2], ("has the highest mean over all contexts,", "follows with"), strict=False):
            if row["rewards"]:
                said += f"; {row['action']!r} {verb} {row['mean']:.4g}"
        return Explanation(said + ".", tuple(rows))

    def decision(self, bits: Bits, action: int, probability: float) -> Explanation:
        """The rule of the one tree, or the votes of many, behind a choice."""
        reached = [self._path(tree, bits)[-1] for tree in range(len(self.forest.trees))]
        said = f"{self.actions[action]!r} was chosen with probability {probability:.4g}"
        if len(reached) == 1:
            return self._by_rule(said, bits, reached[0])
        return self._by_votes(said, bits, reached)

    def places(self, tree: int, max_depth: int) -> list[ShownNode]:
        """One tree down to a depth: the variable of each node, the state of each leaf."""
        return tree_words.shown_nodes(self._children, tree, max_depth, lambda _: ("no", "yes"), self._state)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree and each action: the leaf's rule and what is known of the action there."""
        return [
            {"rule": " and ".join(path) or "all", "action": action, **known}
            for node, path in tree_words.paths(self._children, tree, self._rules)
            for action, known in zip(self.actions, self._leaf(node), strict=True)
        ]

    @property
    def _children(self) -> Int32s:
        children: Int32s = self.forest.nodes[:, CHILD]
        return children

    def _rules(self, node: int) -> tuple[str, str]:
        name = self.names[self.forest.nodes[node, VARIABLE]]
        return f"not {name}", name

    def _leaf(self, node: int) -> list[dict[str, Any]]:
        """Every action's rewards in a leaf, an interval of their mean, and whether it is still in the race."""
        leaf = self.forest.nodes[node, LEAF]
        known = []
        for arm, mean in zip(self.forest.arms[leaf].tolist(), self._means(leaf).tolist(), strict=True):
            plays = arm[arena.PLAYS]
            reach = math.sqrt(math.log(2 / self.delta) / (2 * plays)) if plays else math.inf
            known.append(
                {
                    "rewards": int(plays),
                    "mean": self.reward(mean) if plays else math.nan,
                    "from": self.reward(max(0.0, mean - reach)),
                    "to": self.reward(min(1.0, mean + reach)),
                    "remains": arm[arena.REMAINS] != 0.0,
                }
            )
        return known

    def _by_rule(self, said: str, bits: Bits, node: int) -> Explanation:
        path = [self._rules(each)[int(bits[self.forest.nodes[each, VARIABLE]])] for each in self._path(0, bits)[:-1]]
        rule = f"where {' and '.join(path)}" if path else "everywhere"
        rows = self._rows()
        for row, known in zip(rows, self._leaf(node), strict=True):
            row["rewards here"], row["mean here"] = known.pop("rewards"), known.pop("mean")
            row.update(known)
        rows.sort(key=lambda row: (not row["remains"], -row["mean here"] if row["rewards here"] else math.inf))
        return Explanation(f"{said}: {rule}, {self._state(node)}.", tuple(rows))

    def _by_votes(self, said: str, bits: Bits, reached: list[int]) -> Explanation:
        choices = [int(self.forest.nodes[node, CHOICE]) for node in reached]
        votes = Counter(choice for choice in choices if choice >= 0)
        asked = (node for tree in range(len(reached)) for node in self._path(tree, bits)[:-1])
        looked_at = Counter(int(self.forest.nodes[node, VARIABLE]) for node in asked)
        rows = self._rows()
        means = np.array([self._means(self.forest.nodes[node, LEAF]) for node in reached]).mean(axis=0)
        for action, row in enumerate(rows):
            row["votes"] = votes[action]
            row["mean here"] = self.reward(float(means[action]))
        rows.sort(key=lambda row: (-row["votes"], -row["mean here"]))
        said += f"; {votes.total()} of {len(reached)} trees have finished its path"
        if votes.total():
            ranked = [f"{row['votes']} vote for {row['action']!r}" for row in rows[:2] if row["votes"]]
            margin = rows[0]["votes"] - (rows[1]["votes"] if len(rows) > 1 else 0)
            said += f", {' and '.join(ranked)} (margin {margin})"
        if looked_at:
            most = [f"{self.names[variable]} ({n} trees)" for variable, n in looked_at.most_common(N_NAMED)]
            said += f"; the bits most looked at are {', '.join(most)}"
        return Explanation(said + ".", tuple(rows))

    def _rows(self) -> list[dict[str, Any]]:
        found = []
        for action, name in enumerate(self.actions):
            arm = self.forest.arms[arena.EVERYTHING, action]
            plays = int(arm[arena.PLAYS])
            mean = self.reward(float(arm[arena.SUM]) / plays) if plays else math.nan
            found.append({"action": name, "rewards": plays, "mean": mean})
        return found

    def _means(self, leaf: int) -> Floats:
        arms = self.forest.arms[leaf]
        is_inverse = self.forest.rule[arena.WEIGHING] == arena.INVERSE
        parts = np.full(len(arms), arms[:, arena.PLAYS].sum()) if is_inverse else arms[:, arena.WEIGHT]
        means: Floats = arms[:, arena.SUM] / np.where(parts > 0.0, parts, 1.0)
        return means

    def _path(self, tree: int, bits: Bits) -> list[int]:
        """The nodes on these bits' way through a tree, from the root to the leaf."""
        path = [tree]
        while self.forest.nodes[path[-1], CHILD] != path[-1]:
            child, variable = self.forest.nodes[path[-1], [CHILD, VARIABLE]].tolist()
            path.append(child + int(bits[variable]))
        return path

    def _state(self, node: int) -> str:
        """What a node asks, or how far a leaf has come."""
        if self.forest.nodes[node, CHILD] != node:
            return f"{self.names[self.forest.nodes[node, VARIABLE]]}?"
        leaf, choice = self.forest.nodes[node, LEAF], self.forest.nodes[node, CHOICE]
        arms = self.forest.arms[leaf]
        n_plays = int(arms[:, arena.PLAYS].sum())
        if choice >= 0:
            mean = self.reward(float(self._means(leaf)[choice]))
            return f"{self.actions[choice]!r} pays {mean:.4g} after {n_plays} rewards"
        if choice == arena.SELECTING_VARIABLE:
            n_left = int((self.forest.marks[self.forest.leaves[leaf, arena.SUMS]] == arena.IN).sum())
            return f"{n_left} bits to split on remain after {n_plays} rewards"
        left = [repr(name) for name, arm in zip(self.actions, arms, strict=True) if arm[arena.REMAINS]]
        return f"{', '.join(left)} remain after {n_plays} rewards"
