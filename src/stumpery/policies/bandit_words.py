"""Bandit trees in words: rules, votes and whole trees."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stumpery.policies import bandit_forest_kernels as kernels
from stumpery.policies import bandit_growth_kernels as growth
from stumpery.policies.bandit_growth_kernels import CHILD, CHOICE, LEAF, VARIABLE, Forest
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

    def decision(self, bits: Bits, action: int, chance: float) -> Explanation:
        """The rule of the one tree, or the votes of many, behind a choice."""
        reached = np.empty(len(self.forest.trees), dtype=np.uint32)
        kernels.descend(self.forest.nodes, np.append(bits, np.uint8(0)), reached)
        said = f"{self.actions[action]!r} was chosen with chance {chance:.4g}"
        if len(reached) == 1:
            return self._by_rule(said, bits, int(reached[0]))
        return self._by_votes(said, bits, reached.tolist())

    def tree(self, root: int) -> str:
        """A whole tree as indented lines, the state of every leaf in its line."""
        lines = []
        todo = [(root, 0, "")]
        while todo:
            node, indent, answer = todo.pop()
            child, variable = self.forest.nodes[node, CHILD], self.forest.nodes[node, VARIABLE]
            if child == node:
                lines.append("  " * indent + answer + self._leaf_state(node))
            else:
                lines.append("  " * indent + answer + f"{self.names[variable]}?")
                todo += [(child + 1, indent + 1, "yes: "), (child, indent + 1, "no: ")]
        return "\n".join(lines)

    def _by_rule(self, said: str, bits: Bits, node: int) -> Explanation:
        path = [self.names[each] if bits[each] else f"not {self.names[each]}" for each in self._path(0, bits)]
        rule = f"where {' and '.join(path)}" if path else "everywhere"
        leaf = self.forest.nodes[node, LEAF]
        rows = self._rows()
        for row, arm, mean in zip(rows, self.forest.arms[leaf].tolist(), self._means(leaf).tolist(), strict=True):
            plays = arm[growth.PLAYS]
            reach = math.sqrt(math.log(2 / self.delta) / (2 * plays)) if plays else math.inf
            row["rewards here"] = int(plays)
            row["mean here"] = self.reward(mean) if plays else math.nan
            row["from"], row["to"] = self.reward(max(0.0, mean - reach)), self.reward(min(1.0, mean + reach))
            row["remains"] = arm[growth.REMAINS] != 0.0
        rows.sort(key=lambda row: (not row["remains"], -row["mean here"] if row["rewards here"] else math.inf))
        return Explanation(f"{said}: {rule}, {self._leaf_state(node)}.", tuple(rows))

    def _by_votes(self, said: str, bits: Bits, reached: list[int]) -> Explanation:
        choices = [int(self.forest.nodes[node, CHOICE]) for node in reached]
        votes = Counter(choice for choice in choices if choice >= 0)
        looked_at = Counter(variable for tree in range(len(reached)) for variable in self._path(tree, bits))
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
            arm = self.forest.arms[growth.EVERYTHING, action]
            plays = int(arm[growth.PLAYS])
            mean = self.reward(float(arm[growth.SUM]) / plays) if plays else math.nan
            found.append({"action": name, "rewards": plays, "mean": mean})
        return found

    def _means(self, leaf: int) -> Floats:
        scales = np.empty(len(self.actions))
        growth.fill_scales(self.forest, leaf, scales)
        means: Floats = self.forest.arms[leaf, :, growth.SUM] * scales
        return means

    def _path(self, tree: int, bits: Bits) -> list[int]:
        """The variables that a tree asks about these bits, from the root on."""
        path, node = [], tree
        while self.forest.nodes[node, CHILD] != node:
            variable = int(self.forest.nodes[node, VARIABLE])
            path.append(variable)
            node = int(self.forest.nodes[node, CHILD]) + int(bits[variable])
        return path

    def _leaf_state(self, node: int) -> str:
        leaf, choice = self.forest.nodes[node, LEAF], self.forest.nodes[node, CHOICE]
        arms = self.forest.arms[leaf]
        n_plays = int(arms[:, growth.PLAYS].sum())
        if choice >= 0:
            mean = self.reward(float(self._means(leaf)[choice]))
            return f"{self.actions[choice]!r} pays {mean:.4g} after {n_plays} rewards"
        if choice == growth.SELECTING_VARIABLE:
            n_left = int((self.forest.marks[self.forest.leaves[leaf, growth.SUMS]] == growth.IN).sum())
            return f"{n_left} bits to split on remain after {n_plays} rewards"
        left = [repr(name) for name, arm in zip(self.actions, arms, strict=True) if arm[growth.REMAINS]]
        return f"{', '.join(left)} remain after {n_plays} rewards"
