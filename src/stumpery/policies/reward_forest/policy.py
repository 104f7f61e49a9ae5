"""RewardForest: an incremental forest for contextual bandits."""

import logging
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.encoding import Schema
from stumpery.encoding.chunks import chunks
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import CorruptFile, InvalidInput, capacity_errors
from stumpery.options import check_number, check_whole
from stumpery.policies.arguments import checked_actions
from stumpery.policies.contextual import NO_REWARDS
from stumpery.policies.exploration import explorers
from stumpery.policies.exploration.explorer_kernels import fill_probabilities
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.exploration.rule_kernels import ACTION_SCORE, new_action_statistics
from stumpery.policies.records import ChosenActions
from stumpery.policies.reward_forest import policy_kernels as kernels
from stumpery.policies.reward_forest.action_features import ActionFeatures, checked_new
from stumpery.policies.reward_forest.capacity import default_n_trees, slots_within
from stumpery.policies.reward_forest.growth import RewardForestArena, initial_state
from stumpery.policies.reward_forest.inspection import RewardForestInspection
from stumpery.policies.reward_forest.saving import (
    add_missing,
    arrays_of,
    check_arrays,
    state_for,
    with_crossed,
    with_ridge,
)
from stumpery.policies.reward_forest.scorers.crossed import crossed_with_actions, new_crossed
from stumpery.policies.reward_forest.scorers.crossed_kernels import CrossedScorer
from stumpery.policies.reward_forest.scorers.ridge import narrowed
from stumpery.policies.reward_forest.scorers.shared_model_kernels import SharedModel
from stumpery.policies.reward_forest.state import folded, new_shared_model, with_actions
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE
from stumpery.policies.reward_forest.validation import validate
from stumpery.saving.saveable import Arrays, Options, restore
from stumpery.system.allocation import provisional
from stumpery.types import Action, Context, Floats

logger = logging.getLogger(__name__)

RewardForestMemory = trees.ForestMemory[kernels.RewardForestState, kernels.RewardForestWorkspace]
MAX_SHRINKAGE = 1e9
MAX_CATEGORIES = trees.MAX_CODES - 2  # with missing and other, the codes of a column are the bits of one word


@dataclass(kw_only=True, eq=False)
class RewardForest(RewardForestInspection):
    """An incremental forest for contextual bandits, stacked online with linear scorers.

    Every leaf holds the numbers of stored events and splits when a split of its own events separates the actions'
    rewards; a split that does not hold is pruned. Beside the forest's mean stand three linear scorers (columns, pairs
    of columns, and columns with a fast learning rate), a residual scorer, the forest's mean plus learned corrections,
    and a ridge scorer, which is best at the start; online stacking weighs the six. A context memory adds the residuals
    of repeated contexts. When rewards fall short of their scores, a drift detector makes the forest forget its events.
    Uncertainties and the `explorer` choose the action. Missing values and new categories are ordinary, also thousands
    of categories in a column.

    Args:
        actions: the actions to choose from: strings, numbers or booleans, all different.
        seed: seed of all random draws, 0 or more; the same seed and events give the same bits.
        reward_range: the lowest and the highest reward, by which rewards are scaled to 0..1.
        schema: the columns of contexts; by default those of the first context, new categories are added as they come.
        n_trees: the number of trees, 1 to 10,000; by default 26 and one more for every two columns, at most 72, since
            each split considers half of the columns.
        explorer: how scores and uncertainties become probabilities, from `stumpery.explorers`; the default, inverse-gap
            weighting of scores plus one uncertainty, did best on the streams of the documentation.
        max_bytes: the most memory, in bytes, that what is learned may take, 1 to 2^50; what does not fit is forgotten,
            oldest first.
        features: what actions are like, a dict of numbers and categories for each action; by default nothing is known.
        shrinkage: strength of the shrinkage towards actions with the same features, 0 to 1e9: an action is scored as if
            it had so many more plays that earned what theirs did. A few, the default, help new actions most.

    The criterion, the scorers and what they earn are described in the documentation ("How the forests work").

    >>> policy = RewardForest(actions=["news", "sport"], seed=7)
    >>> for hour in range(200):
    ...     decision = policy.decide({"hour": hour % 24, "device": "phone", "age": None})
    ...     best = "news" if hour % 24 < 12 else "sport"
    ...     policy.learn(decision, reward=1.0 if decision.action == best else 0.0)
    >>> policy.decide({"hour": 8, "device": "phone", "age": 31}).action
    'news'
    """

    explorer: Explorer = field(default_factory=lambda: explorers.inverse_gap(scale=300.0, bonus=1.0, many=100))
    max_bytes: int = 512_000_000
    features: Mapping[Any, Mapping[str, Any]] | None = None
    shrinkage: float = 4.0

    needs_sample: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_trees is not None:
            check_whole("n_trees", self.n_trees, 1, 10_000)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        if not isinstance(self.explorer, Explorer):
            raise InvalidInput(
                f"explorer is {self.explorer!r}; it must come from stumpery.policies.exploration.explorers"
            )
        check_number("shrinkage", self.shrinkage, 0.0, MAX_SHRINKAGE)
        self.shrinkage = float(self.shrinkage)  # an int would compile another kernel
        self._rule = self.explorer.rule()
        self._action_features = ActionFeatures.of(self.features, self.actions)
        self.features = deepcopy(self._action_features.described)
        super().__post_init__()
        self._kernel_seed = np.uint64(self.seed)
        self._statistics = new_action_statistics(len(self.actions))

    # Contexts: numbers with -inf for missing, categories as codes with 0 for missing; new categories get a code.

    def _new_encoder(self, schema: Schema) -> OnlineEncoder:
        return OnlineEncoder.from_schema(schema, MAX_CATEGORIES, hashes_others=True)

    def _rows(self, contexts: Any) -> Any:
        contexts = self._table(contexts)
        encoder = self._encoder or OnlineEncoder.from_rows(contexts, MAX_CATEGORIES, hashes_others=True)
        encoder, rows = encoder.extend(contexts)
        self._extend(encoder)
        return rows

    def _row(self, context: Context) -> Floats:
        if self._encoder is None or context is None:
            first: Floats = self._rows(context if context is None else [context])[0]
            return first
        encoder, row = self._known_encoder.extend_one(context)
        self._extend(encoder)
        one: Floats = row
        return one

    def _extend(self, encoder: OnlineEncoder) -> None:
        """Take an encoder with new categories; a column that has only been missing may become categorical."""
        if encoder is self._encoder:
            return
        if self._arena is None:
            self._begin(encoder.schema)
        else:
            newly = encoder.is_categorical & ~self._known_encoder.is_categorical
            self._arena.state.forest.kinds[newly] = trees.CATEGORICAL
            for index in np.flatnonzero(newly).tolist():
                ring.column(self._arena.state.ring, index)[:] = 0
        self._encoder = encoder
        self._set_option("schema", encoder.schema)

    # Events.

    def _allocate(self, width: int) -> None:
        n_trees, widths = self.n_trees or default_n_trees(width), np.full(width, BYTE, np.uint8)
        is_categorical, n_actions = self._known_encoder.is_categorical, len(self.actions)
        models = self._new_models()
        state = initial_state(n_trees, n_actions, is_categorical, widths, *models, self.max_bytes)
        self._arena = RewardForestArena(state, n_trees, self.max_bytes)
        self._arena.plan()

    def _new_models(self) -> tuple[SharedModel, CrossedScorer]:
        """The models of actions' features; empty where these are to be ignored."""
        width, features = self._known_encoder.width, self._used_features(self._action_features)
        shared_model = new_shared_model(width, features.vectors(), self.shrinkage)
        return shared_model, new_crossed(features, width, self.max_bytes)

    def _initial_weights(self) -> tuple[float, ...]:
        has_features = self._used_features(self._action_features).terms
        return kernels.INITIAL_WEIGHTS_WITH_FEATURES if has_features else kernels.INITIAL_WEIGHTS

    def _used_features(self, features: ActionFeatures) -> ActionFeatures:
        return features if self.shrinkage > 0.0 else ActionFeatures.of(None, features.actions)

    def _run(self, rows: Any, rewards: Floats, chosen: ChosenActions, available: NDArray[np.bool_], mode: int) -> None:
        if len(rows) == 1:
            self._run_chunk(rows, rewards, chosen, available, mode)
            return
        for part, chunk in chunks(rows):
            chosen_part = ChosenActions(chosen.actions[part], chosen.probabilities[part])
            self._run_chunk(chunk, rewards[part], chosen_part, available, mode)

    def _run_chunk(
        self, rows: Floats, rewards: Floats, chosen: ChosenActions, available: NDArray[np.bool_], mode: int
    ) -> None:
        assert self._arena is not None  # noqa: S101 - there are rows
        arena, (actions, probabilities) = self._arena, chosen

        def process(memory: RewardForestMemory, start: int) -> int:
            rest = (rows, rewards, actions, probabilities)
            if start:
                rest = (rows[start:], rewards[start:], actions[start:], probabilities[start:])
            n: int = kernels.run(
                memory,
                self._kernel_seed,
                self._rng,
                self._rule,
                self._statistics,
                *rest,
                available,
                mode | (kernels.MAY_GROW if arena.may_grow else 0),
            )
            return n

        arena.renumber()
        n_drifts = arena.n_drifts
        arena.run(rows, process)
        if arena.n_drifts != n_drifts:
            logger.info("drift %d detected: rewards fell short of their scores", arena.n_drifts)

    def _statistics_of(
        self,
        row: Floats,
        available: NDArray[np.bool_] | None = None,
        *,
        shrinkage: float | None = None,
        has_memory: bool = True,
    ) -> Floats:
        """New action statistics for one row, as if with another `shrinkage`, or without context memory."""
        assert self._arena is not None  # noqa: S101 - there is a row
        state = changed = self._arena.state
        if shrinkage is not None:
            changed = changed._replace(shared_model=changed.shared_model._replace(strength=shrinkage))
        if not has_memory:
            memory = changed.context_memory
            changed = changed._replace(context_memory=memory._replace(shrinkage=np.zeros_like(memory.shrinkage)))
        try:
            if changed is not state:
                self._arena.state = changed
            self._run(row[None], NO_REWARDS, ChosenActions.empty(1), self._all, 0)
        finally:
            if changed is not state:
                self._arena.state = state
        statistics = self._statistics.copy()
        time = float(state.clock[kernels.CLOCK_EVENTS] + 1.0)
        fill_probabilities(self._rule, statistics, self._all if available is None else available, time)
        return statistics

    def _unchanged_rows(self, contexts: Any) -> tuple[Self, Any]:
        if self._encoder is None:
            return super()._unchanged_rows(contexts)
        rows: Any
        if type(contexts) is list and len(contexts) == 1:
            encoder, row = self._encoder.extend_one(contexts[0])
            rows = row[None]
        else:
            encoder, rows = self._encoder.extend(self._table(contexts))  # not taken over: new categories stay unknown
        if not (encoder.is_categorical & ~self._encoder.is_categorical).any():
            return self, rows
        copy = self._copied()
        copy._extend(encoder)
        return copy, rows

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        scores: Floats = self._statistics[ACTION_SCORE]
        return scores

    # Actions that come and go.

    def add_action(self, action: Action, *, features: Mapping[str, Any] | None = None) -> None:
        """Add an action; its features determine which others are similar."""
        (name,) = checked_actions([action])
        self.add_actions([name], features=None if features is None else {name: features})

    def add_actions(
        self, actions: Sequence[Action], *, features: Mapping[Any, Mapping[str, Any]] | None = None
    ) -> None:
        """Add many actions at once, or none if one is invalid, with features of those that have any.

        Adding a thousand together takes about as long as adding a few one after the other.
        """
        described = self._action_features.described
        self._set_option("features", {**described, **checked_new(features, actions)})
        try:
            super().add_actions(actions)
        finally:
            self._set_option("features", deepcopy(self._action_features.described))

    def _grow(self, n: int) -> None:
        self._change_actions([*range(len(self.actions) - n), *[None] * n])

    def _shrink(self, keep: Sequence[int]) -> None:
        described, left = self._action_features.described, set(self.actions)
        self._set_option("features", {name: each for name, each in described.items() if name in left})
        self._change_actions(keep)

    def _change_actions(self, keep: Sequence[int | None]) -> None:
        features = ActionFeatures.of(self.features, self.actions)
        if self._arena is not None:
            state = self._arena.state
            n_slots = slots_within(self.max_bytes, len(self.actions), len(state.quadratic))
            ridge = narrowed(state.ridge, self.max_bytes, len(self.actions))
            state = state._replace(quadratic=folded(state.quadratic, n_slots), ridge=ridge)
            before, after = self._used_features(self._action_features), self._used_features(features)
            linear = before.transferred(state.shared_model.linear, after)
            shared_model = SharedModel(after.vectors(), linear, self.shrinkage)
            with capacity_errors():
                width = self._known_encoder.width
                crossed = crossed_with_actions(state.crossed, before, after, keep, width, self.max_bytes)
                self._arena.replace(with_actions(state, keep, shared_model, crossed))
        self._action_features = features
        self._set_option("features", deepcopy(features.described))
        self._statistics = new_action_statistics(len(self.actions))

    # Files.

    def _arrays(self) -> Arrays:
        if self._arena is None:
            return {"rng": self._rng}
        return {"rng": self._rng, "seen": self._known_encoder.seen, **arrays_of(self._arena.state)}

    def _options(self) -> Options:
        described = self._action_features.described
        features = [described.get(action) for action in self.actions] if described else None
        return {**super()._options(), "explorer": self.explorer.options(), "features": features}

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        explorer, features, actions = options["explorer"], options["features"], options["actions"]
        if features is not None and len(features) != len(actions):
            raise CorruptFile(f"it has features for {len(features)} of {len(actions)} actions")
        return {
            **options,
            "explorer": Explorer(**explorer) if isinstance(explorer, Mapping) else explorer,
            "features": dict(zip(actions, features, strict=True)) if features else None,
        }

    @classmethod
    def _new(cls, arguments: Options) -> Self:
        with provisional():  # arrays of other sizes take the place of these
            return super()._new(arguments)

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._restore_removed(learned)
        if self._arena is None:
            restore(self._arrays(), arrays)
            return
        n_trees, is_categorical = self._arena.n_trees, self._known_encoder.is_categorical
        add_missing(arrays)
        if not any(name.startswith("ridge.") for name in arrays):  # as in files of former versions
            arrays |= with_ridge(self._arena.state, arrays)
        if self._action_features.terms and not any(name.startswith("crossed.") for name in arrays):
            arrays |= with_crossed(self._arena.state, arrays)
        check_arrays(self._arena.state, arrays, is_categorical)
        self._arena = None  # frees its memory before the next is taken
        saved = {name: array for name, array in arrays.items() if name not in ("rng", "seen")}
        state = state_for(saved, n_trees, len(self.actions), is_categorical, *self._new_models(), self.max_bytes)
        restore({"rng": self._rng, "seen": self._known_encoder.seen, **arrays_of(state)}, arrays)
        self._encoder = replace(self._known_encoder)  # which columns it has seen is known only now
        self._arena = RewardForestArena(state, n_trees, self.max_bytes)

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._arena is not None:
            features, encoder = self._used_features(self._action_features), self._known_encoder
            validate(self._arena.state, self._arena.n_trees, features, encoder.is_categorical, encoder.seen)
