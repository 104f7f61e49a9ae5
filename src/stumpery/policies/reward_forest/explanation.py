"""Explanations of the reward forest: decisions, trees and leaf statistics, with the names of columns and actions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest import rendering
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.array_forest.rendering import ShownNode, rules_of
from stumpery.encoding import Schema
from stumpery.policies.exploration.rule_kernels import (
    ACTION_PROBABILITY,
    ACTION_SCORE,
    ACTION_UNCERTAINTY,
    ACTION_VALUE,
)
from stumpery.policies.reward_forest.policy_kernels import RewardForestState
from stumpery.policies.reward_forest.state import stored_events
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.criterion_kernels import MAX_EXACT_PLAYS, plays_of_many
from stumpery.policies.reward_forest.trees.ring_kernels import EVENT_ACTION, EVENT_REWARD
from stumpery.types import Action, Explanation, Floats

N_PERMUTED = 16  # events whose values take the place of a column's
N_SHOWN_COLUMNS = 3
FULL_SHRINKAGE = 1e30  # nothing but the shared model is left
N_RECENT = 200  # events over which exploration is averaged


@dataclass(frozen=True)
class RewardForestExplainer:
    """A reward forest's state with the names of its columns and actions.

    Args:
        state: what the forest has learned.
        schema: its columns.
        actions: its actions.
        reward: from the scale 0..1 to that of the user.
        statistics_of: new action statistics of a row, also as if with another shrinkage or without context memory.
    """

    state: RewardForestState
    schema: Schema
    actions: Sequence[Action]
    reward: Callable[[float], float]
    statistics_of: Callable[..., Floats]

    @property
    def forest(self) -> ForestState:
        """The trees."""
        return self.state.forest

    @property
    def _reward_width(self) -> float:
        return self.reward(1.0) - self.reward(0.0)

    def overall(self) -> Explanation:
        """Every action's rewards among the stored events, whatever the context."""
        rows: list[dict[str, Any]] = []
        events = self.state.ring.floats[stored_events(self.state)]
        for index, action in enumerate(self.actions):
            rewards = events[events[:, EVENT_ACTION] == index, EVENT_REWARD].astype(np.float64)
            mean = self.reward(float(rewards.mean())) if len(rewards) else math.nan
            rows.append({"action": action, "n": len(rewards), "mean": mean})
        rows.sort(key=lambda row: -row["mean"] if row["n"] else math.inf)
        text = f"{len(events)} events are stored; decided now, {self.exploring():.0%} of the latest would explore."
        return Explanation(text, tuple(rows))

    def decision(self, row: Floats, chosen: int, probability: float) -> Explanation:
        """Every action's score, uncertainty and probability for a row, and the columns behind the margin."""
        statistics = self.statistics_of(row)
        order = np.argsort(-statistics[ACTION_VALUE], kind="stable").tolist()
        sources, residuals = self._sources(row), self._residuals(row, statistics)
        rows = tuple(
            {
                "action": self.actions[index],
                "score": self.reward(float(statistics[ACTION_SCORE, index])),
                "uncertainty": float(statistics[ACTION_UNCERTAINTY, index]) * self._reward_width,
                "probability": float(statistics[ACTION_PROBABILITY, index]),
                **{name: self.reward(float(scores[index])) for name, scores in sources.items()},
                **{name: float(changes[index]) * self._reward_width for name, changes in residuals.items()},
            }
            for index in order
        )
        text = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}"
        rival = next((index for index in order if index != chosen), None)
        if rival is not None:
            margin = float(statistics[ACTION_SCORE, chosen] - statistics[ACTION_SCORE, rival])
            text += f", {margin * self._reward_width:+.4g} against {self.actions[rival]!r}"
            changes = self._largest_changes(row, chosen, rival)
            if changes:
                names = ", ".join(f"{name} ({change * self._reward_width:+.3g})" for name, change in changes)
                text += f"; with values of other events it would change most for {names}"
        return Explanation(f"{text}.", rows)

    def _sources(self, row: Floats) -> dict[str, Floats]:
        """Where actions have features: each score without shrinkage, and that of the shared model."""
        if self.state.shared_model.features.ndim == 1:
            return {}
        return {
            "own": self.statistics_of(row, shrinkage=0.0)[ACTION_SCORE],
            "similar actions": self.statistics_of(row, shrinkage=FULL_SHRINKAGE)[ACTION_SCORE],
        }

    def _residuals(self, row: Floats, statistics: Floats) -> dict[str, Floats]:
        """The residuals that the context memory adds to the scores, if it has entries of this context."""
        added: Floats = statistics[ACTION_SCORE] - self.statistics_of(row, has_memory=False)[ACTION_SCORE]
        return {"context memory": added} if added.any() else {}

    def exploring(self) -> float:
        """The probability that a decision for the latest events takes another action than the best; 1 before any."""
        latest = stored_events(self.state)[-N_RECENT:]
        if not len(latest):
            return 1.0
        greedy = []
        for row in ring.event_rows(self.state.ring, latest):
            statistics = self.statistics_of(row)
            greedy.append(
                statistics[ACTION_PROBABILITY, statistics[ACTION_VALUE] == statistics[ACTION_VALUE].max()].sum()
            )
        return float(1.0 - np.mean(greedy))

    def _largest_changes(self, row: Floats, chosen: int, rival: int) -> list[tuple[str, float]]:
        """The columns whose values, replaced by those of other events, would change the margin most.

        Scores are those without context memory: else every replacement would make a known context an unknown one.
        """
        margin = self._margin(row, chosen, rival)
        stored = stored_events(self.state)
        sample = stored[np.arange(N_PERMUTED) * len(stored) // N_PERMUTED] if len(stored) else stored
        others = ring.event_rows(self.state.ring, sample)
        changes = []
        for column, name in enumerate(self.schema.names):
            margins = []
            for other in others:
                replaced = row.copy()
                replaced[column] = other[column]
                margins.append(self._margin(replaced, chosen, rival))
            changes.append((name, float(np.mean(margins)) - margin if margins else 0.0))
        largest = sorted(changes, key=lambda change: -abs(change[1]))[:N_SHOWN_COLUMNS]
        return [change for change in largest if abs(change[1]) > 1e-6]

    def _margin(self, row: Floats, chosen: int, rival: int) -> float:
        scores = self.statistics_of(row, has_memory=False)[ACTION_SCORE]
        return float(scores[chosen] - scores[rival])

    def shown_nodes(self, tree: int, max_depth: int) -> list[ShownNode]:
        """The nodes of one tree down to a depth."""
        return rendering.shown_nodes(self._children, tree, max_depth, self._rules, self._summary)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree and each action: the leaf's rule and the action's statistics there."""
        return [
            {"rule": " and ".join(path) or "all", **row}
            for node, path in rendering.paths(self._children, tree, self._rules)
            for row in self._leaf(node)
        ]

    @property
    def _children(self) -> NDArray[np.int32]:
        return self.forest.nodes[:, trees.NODE_CHILD]

    def _leaf(self, node: int) -> list[dict[str, Any]]:
        stats = self.forest.stats[self.forest.nodes[node, trees.NODE_LEAF]]
        plays = plays_of_many(stats[trees.STAT_UNCERTAINTY])
        means, uncertainties = stats[trees.STAT_MEAN] / trees.STAT_UNIT, stats[trees.STAT_UNCERTAINTY] / trees.STAT_UNIT
        return [
            {
                "action": action,
                "n": int(plays[index]),
                "mean": self.reward(float(means[index])),
                "uncertainty": float(uncertainties[index]) * self._reward_width,
            }
            for index, action in enumerate(self.actions)
        ]

    def _rules(self, node: int) -> tuple[str, str]:
        """The rules of a node's left and right child."""
        return rules_of(self.forest, self.schema, node)

    def _summary(self, node: int) -> str:
        """The number of events below a node, and the action with the highest mean there."""
        leaves = self.forest.nodes[rendering.leaves_below(self._children, node), trees.NODE_LEAF]
        counts = plays_of_many(self.forest.stats[leaves, trees.STAT_UNCERTAINTY])
        means = self.forest.stats[leaves, trees.STAT_MEAN] / trees.STAT_UNIT
        totals = counts.sum(axis=0)
        if not totals.any():
            return "no events yet"
        average = (counts * means).sum(axis=0) / np.maximum(totals, 1.0)
        best = int(np.argmax(np.where(totals > 0, average, -np.inf)))
        plays = _counted(counts[:, best])
        earned = f"{self.actions[best]!r} earns {self.reward(float(average[best])):.3g} ({plays} plays)"
        return f"{_counted(counts)} events, {earned}"


def _counted(counts: Floats) -> str:
    """The sum of some counts of leaves, and whether it is an estimate."""
    return f"{'about ' if (counts >= MAX_EXACT_PLAYS).any() else ''}{int(counts.sum()):,}"
