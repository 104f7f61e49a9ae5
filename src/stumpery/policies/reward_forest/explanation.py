"""The reward forest in words: decisions, trees, and what their leaves know."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest import rendering as tree_words
from stumpery.array_forest.forest_kernels import ForestState
from stumpery.array_forest.rendering import ShownNode
from stumpery.array_forest.rules import rules_of
from stumpery.encoding import Schema
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.reward_forest.policy_kernels import RewardForestState
from stumpery.policies.reward_forest.state import stored_events
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.leaf_statistics_kernels import MAX_EXACT_PLAYS, plays_of_many
from stumpery.policies.reward_forest.trees.ring_kernels import EVENT_ACTION, EVENT_REWARD, Ring
from stumpery.types import Action, Explanation, Floats

N_PERMUTED = 16  # events whose values stand in for a column's
N_SHOWN_COLUMNS = 3  # columns that an explanation names
FULL_SHRINKAGE = 1e30  # of what is borrowed: nothing else is left
N_RECENT = 200  # events for which it is asked how much a decision explores


@dataclass(frozen=True)
class RewardForestExplainer:
    """What the trees know, said with the names of columns and actions."""

    models: RewardForestState
    schema: Schema
    actions: Sequence[Action]
    reward: Callable[[float], float]  # from the unit scale to the user's
    scored: Callable[
        ..., Floats
    ]  # action statistics for a row, as if something else were borrowed or the row were unknown

    @property
    def forest(self) -> ForestState:
        """The trees."""
        return self.models.forest

    @property
    def _width(self) -> float:
        return self.reward(1.0) - self.reward(0.0)

    def overall(self) -> Explanation:
        """What the remembered events say of each action, whatever the context."""
        rows: list[dict[str, Any]] = []
        events = self._ring.floats[stored_events(self.models)]
        for index, action in enumerate(self.actions):
            paid = events[events[:, EVENT_ACTION] == index, EVENT_REWARD].astype(np.float64)
            mean = self.reward(float(paid.mean())) if len(paid) else math.nan
            rows.append({"action": action, "n": len(paid), "mean": mean})
        rows.sort(key=lambda row: -row["mean"] if row["n"] else math.inf)
        said = f"{len(events)} events are remembered; decided now, {self.exploring():.0%} of the latest would explore."
        return Explanation(said, tuple(rows))

    def decision(self, row: Floats, chosen: int, probability: float) -> Explanation:
        """Every action's score, uncertainty and probability for a row, and what moves the margin of the chosen one."""
        statistics = self.scored(row)
        order = np.argsort(-statistics[rules.ACTION_VALUE], kind="stable").tolist()
        sources, returned = self._sources(row), self._returned(row, statistics)
        shown = tuple(
            {
                "action": self.actions[index],
                "score": self.reward(float(statistics[rules.ACTION_SCORE, index])),
                "uncertainty": float(statistics[rules.ACTION_UNCERTAINTY, index]) * self._width,
                "probability": float(statistics[rules.ACTION_PROBABILITY, index]),
                **{name: self.reward(float(scores[index])) for name, scores in sources.items()},
                **{name: float(changes[index]) * self._width for name, changes in returned.items()},
            }
            for index in order
        )
        said = f"{self.actions[chosen]!r} was chosen with probability {probability:.4g}"
        rival = next((index for index in order if index != chosen), None)
        if rival is not None:
            margin = float(statistics[rules.ACTION_SCORE, chosen] - statistics[rules.ACTION_SCORE, rival])
            said += f", {margin * self._width:+.4g} against {self.actions[rival]!r}"
            mattered = self._mattered(row, chosen, rival)
            if mattered:
                names = ", ".join(f"{name} ({change * self._width:+.3g})" for name, change in mattered)
                said += f"; with values of other events it would change most for {names}"
        return Explanation(f"{said}.", shown)

    def _sources(self, row: Floats) -> dict[str, Floats]:
        """Where actions have features: the score of each by itself, and that of its features, between which it lies."""
        if self.models.shared_model.features.ndim == 1:
            return {}
        return {
            "own": self.scored(row, 0.0)[rules.ACTION_SCORE],
            "like it": self.scored(row, FULL_SHRINKAGE)[rules.ACTION_SCORE],
        }

    def _returned(self, row: Floats, statistics: Floats) -> dict[str, Floats]:
        """Where this very context came before: what that adds to the score of each action, above the least reward."""
        added: Floats = statistics[rules.ACTION_SCORE] - self.scored(row, knows=False)[rules.ACTION_SCORE]
        return {"came before": added} if added.any() else {}

    def exploring(self) -> float:
        """The probability that a decision for the latest events takes another action than the best; 1 before the first."""
        latest = stored_events(self.models)[-N_RECENT:]
        if not len(latest):
            return 1.0
        statistics_of_rows = [self.scored(row) for row in ring.event_rows(self._ring, latest)]
        best = [
            statistics[rules.ACTION_PROBABILITY, statistics[rules.ACTION_VALUE] == statistics[rules.ACTION_VALUE].max()]
            for statistics in statistics_of_rows
        ]
        return float(1.0 - np.mean([probabilities.sum() for probabilities in best]))

    @property
    def _ring(self) -> Ring:
        return self.models.ring

    def _mattered(self, row: Floats, chosen: int, rival: int) -> list[tuple[str, float]]:
        """The columns whose values, exchanged for those of other events, would change the margin most.

        All is scored as if no context had come before: else every exchange would make a known one unknown.
        """
        margin = self._margin(row, chosen, rival)
        places = stored_events(self.models)
        some = places[np.arange(N_PERMUTED) * len(places) // N_PERMUTED] if len(places) else places
        others = ring.event_rows(self._ring, some)
        changes = []
        for column, name in enumerate(self.schema.names):
            margins = []
            for other in others:
                exchanged = row.copy()
                exchanged[column] = other[column]
                margins.append(self._margin(exchanged, chosen, rival))
            changes.append((name, float(np.mean(margins)) - margin if margins else 0.0))
        largest = sorted(changes, key=lambda change: -abs(change[1]))[:N_SHOWN_COLUMNS]
        return [change for change in largest if abs(change[1]) > 1e-6]

    def _margin(self, row: Floats, chosen: int, rival: int) -> float:
        scores = self.scored(row, knows=False)[rules.ACTION_SCORE]
        return float(scores[chosen] - scores[rival])

    def places(self, tree: int, max_depth: int) -> list[ShownNode]:
        """One tree down to a depth."""
        return tree_words.shown_nodes(self._children, tree, max_depth, self._rules, self._known)

    def leaves(self, tree: int) -> list[dict[str, Any]]:
        """A row for each leaf of a tree and each action: the leaf's rule and the action's rewards there."""
        return [
            {"rule": " and ".join(path) or "all", **row}
            for node, path in tree_words.paths(self._children, tree, self._rules)
            for row in self._leaf(node)
        ]

    @property
    def _children(self) -> NDArray[np.int32]:
        return self.forest.nodes[:, trees.NODE_CHILD]

    def _leaf(self, node: int) -> list[dict[str, Any]]:
        known = self.forest.stats[self.forest.nodes[node, trees.NODE_LEAF]]
        plays, means, uncertainties = (
            plays_of_many(known[trees.STAT_UNCERTAINTY]),
            known[trees.STAT_MEAN] / trees.STAT_UNIT,
            known[trees.STAT_UNCERTAINTY] / trees.STAT_UNIT,
        )
        return [
            {
                "action": action,
                "n": int(plays[index]),
                "mean": self.reward(float(means[index])),
                "uncertainty": float(uncertainties[index]) * self._width,
            }
            for index, action in enumerate(self.actions)
        ]

    def _rules(self, node: int) -> tuple[str, str]:
        """What holds to the left and to the right of a node."""
        return rules_of(self.forest, self.schema, node)

    def _known(self, node: int) -> str:
        """How many events were seen below a node, and the best action there by their mean."""
        leaves = self.forest.nodes[tree_words.leaves_below(self._children, node), trees.NODE_LEAF]
        counts, means = (
            plays_of_many(self.forest.stats[leaves, trees.STAT_UNCERTAINTY]),
            self.forest.stats[leaves, trees.STAT_MEAN] / trees.STAT_UNIT,
        )
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
