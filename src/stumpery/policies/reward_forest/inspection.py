"""Inspection of a reward forest: its state in numbers, rules, pictures and explanations."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest import rendering
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import InvalidInput
from stumpery.options import check_whole
from stumpery.policies.filling import RewardPredictor
from stumpery.policies.reward_forest.capacity import default_n_trees
from stumpery.policies.reward_forest.explanation import RewardForestExplainer
from stumpery.policies.reward_forest.growth import RewardForestArena
from stumpery.policies.reward_forest.importances import column_gains
from stumpery.policies.reward_forest.scorers.context_memory_kernels import SHRINKAGE_FACTOR
from stumpery.types import Decision, Explanation, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCORERS = (
    "forest",
    "linear",
    "quadratic",
    "fast linear",
    "residual",
    "ridge",
    "crossed",
)  # the last where actions have features


@dataclass(kw_only=True, eq=False)
class RewardForestInspection(RewardPredictor[OnlineEncoder]):
    """A reward forest seen from outside: nothing here changes it."""

    n_trees: int | None = None

    def __post_init__(self) -> None:
        self._arena: RewardForestArena | None = None  # from the first context on
        super().__post_init__()

    @abstractmethod
    def _statistics_of(self, row: Floats) -> Floats:
        """Action statistics of a row."""

    @abstractmethod
    def _initial_weights(self) -> tuple[float, ...]:
        """The stacking weights before any reward."""

    @property
    def weights(self) -> dict[str, float]:
        """The stacking weight of each scorer."""
        weights = self._initial_weights() if self._arena is None else self._arena.state.weights.tolist()
        return dict(zip(SCORERS[: len(weights)], weights, strict=True))

    @property
    def context_shrinkage(self) -> float:
        """The factor, from 0 to 1, by which residuals of the context memory are added to scores."""
        return 0.0 if self._arena is None else float(self._arena.state.context_memory.shrinkage[SHRINKAGE_FACTOR])

    @property
    def n_drifts(self) -> int:
        """The number of drifts detected so far."""
        return 0 if self._arena is None else self._arena.n_drifts

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        if self._arena is None:
            return self.n_trees or default_n_trees(0)
        forest = self._arena.state.forest
        return int((forest.leaves[: forest.counters[trees.COUNTER_LEAVES], trees.LEAF_NODE] != trees.NO_INDEX).sum())

    @property
    def exploring(self) -> float:
        """The probability that decisions for the latest 200 events take another action than the best; 1 before any."""
        return 1.0 if self._arena is None else self._explainer().exploring()

    def feature_importances(self) -> dict[str, float]:
        """Each column's share of the decrease in impurity by all present splits; all 0 before the first split.

        The decrease of a split is n1 n0 / (n1 + n0) (mean1 - mean0)^2, with the plays and means of an action on its two
        sides, summed over the actions.
        """
        if self._arena is None or self.schema is None:
            return {}
        gains = column_gains(self._arena.state.forest, self._arena.n_trees)
        return dict(zip(self.schema.names, (gains / max(float(gains.sum()), 1e-300)).tolist(), strict=True))

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's score, uncertainty and probability for a decision's context, and the columns that mattered.

        Without a decision: every action's rewards among the stored events, and the share of exploration.
        """
        if self._arena is None:
            rows = tuple({"action": action, "n": 0, "mean": math.nan} for action in self.actions)
            return Explanation("No context has come yet: every decision explores.", rows)
        if decision is None:
            return self._explainer().overall()
        chosen, probability, context = self._checked_decision(decision)
        row = self._known_encoder.encode_one(context)  # no new category is learned
        return self._explainer().decision(row, chosen, probability)

    def to_text(self, tree: int = 0, max_depth: int = 4) -> str:
        """One tree as an indented list of rules, with the statistics below each.

        Of more than 600 plays of an action a leaf has an estimate, as `leaves` says: "about 1,234".
        """
        return rendering.text(self._shown_nodes(tree, max_depth))

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """One tree as a picture."""
        return rendering.draw(self._shown_nodes(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int = 0) -> list[dict[str, Any]]:
        """The leaf statistics of one tree: a row for each leaf and action, with rule, rewards, mean and uncertainty.

        More than 600 rewards of an action are an estimate, off by 3 in a hundred at 5,000 and 10 at 500,000; it ends at
        about a million.
        """
        return self._explainer(tree).leaves(tree)

    def _shown_nodes(self, tree: int, max_depth: int) -> list[rendering.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        return self._explainer(tree).shown_nodes(tree, max_depth)

    def _explainer(self, tree: int = 0) -> RewardForestExplainer:
        n_trees = self.n_trees or default_n_trees(0) if self._arena is None else self._arena.n_trees
        check_whole("tree", tree, 0, n_trees - 1)
        if self._arena is None or self.schema is None:
            raise InvalidInput("this forest has had no context yet: there is no tree to show")
        state = self._arena.state
        return RewardForestExplainer(state, self.schema, self.actions, self._reward, self._statistics_of)
