"""The reward forest: an incremental forest for contextual bandits that learns."""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import forest_kernels as trees
from stumpery.array_forest import rendering as tree_words
from stumpery.array_forest.workspaces import WorkspacePool
from stumpery.compiling.pointers import pinned
from stumpery.drift.reward_drop_kernels import DROP_CONCEPT_START, DROP_N_DRIFTS
from stumpery.encoding import Schema
from stumpery.encoding.chunks import chunks
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import CorruptFile
from stumpery.options import check_number, check_whole
from stumpery.policies.arguments import checked_actions
from stumpery.policies.contextual import NO_REWARDS, ContextualPolicy
from stumpery.policies.exploration import explorer_kernels, explorers
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.exploration.explorers import Explorer
from stumpery.policies.policy import ChosenActions
from stumpery.policies.reward_forest import policy_kernels as kernels
from stumpery.policies.reward_forest.action_features import ActionFeatures
from stumpery.policies.reward_forest.capacity import RewardForestCapacity, capacity_within, default_n_trees
from stumpery.policies.reward_forest.explanation import RewardForestExplainer
from stumpery.policies.reward_forest.scorers.context_memory_kernels import SHRINKAGE_FACTOR
from stumpery.policies.reward_forest.scorers.shrinkage_kernels import SharedModel
from stumpery.policies.reward_forest.state import (
    arrays_of,
    capacity_of,
    grown,
    has_shape,
    is_rebalancing_due,
    max_capacity,
    new_shared_model,
    new_state,
    new_workspace,
    plan_rebalancing,
    rebalanced,
    stored_events,
    widened,
    with_actions,
)
from stumpery.policies.reward_forest.trees import ring
from stumpery.policies.reward_forest.trees.ring import Widths, check_widths
from stumpery.policies.reward_forest.trees.ring_kernels import BYTE
from stumpery.policies.reward_forest.validation import check_shapes, validate
from stumpery.saveable import Arrays, Options, restore
from stumpery.system.allocation import provisional
from stumpery.types import Action, Context, Decision, Explanation, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SHRINKAGE = 1e9
MAX_NAMES = trees.MAX_CODES - 2  # with missing and other, a column's codes are the bits of one word


@dataclass(kw_only=True, eq=False)
class RewardForest(ContextualPolicy[OnlineEncoder]):
    """Trees that learn what each action earns where, beside linear scorers, mixed as they prove themselves.

    Every tree keeps the numbers of remembered events in its leaves and splits a leaf when a cut of its own events tells
    the actions' rewards apart; a split that does not hold is undone. Beside the forest's mean stand three linear
    scorers (columns alone, in pairs, and of the latest events) and the forest corrected by learned weights; a mixture
    on the simplex weighs the five online. A context that came before is scored by what it earned then, too, as far as
    that proves right. Where rewards suddenly fall short of what was expected, the forest forgets its events and learns
    the world anew. The forest's uncertainty and the `explorer` make the choice. Missing values and new names are ordinary;
    columns are those of the `schema`, or of the first context. Without `n_trees` there are 26 trees and one more for
    every two columns, at most 72. What it has learned stays within `max_bytes`: what does not fit is forgotten, oldest
    first.

    `features` may say what actions are like, a dict of numbers and names for each: an action borrows from those with
    the same features until it has rewards of its own, as if it had `borrowing` more plays that earned what theirs did.

    >>> policy = RewardForest(actions=["news", "sport"], seed=7)
    >>> for hour in range(200):
    ...     decision = policy.decide({"hour": hour % 24, "device": "phone", "age": None})
    ...     best = "news" if hour % 24 < 12 else "sport"
    ...     policy.learn(decision, reward=1.0 if decision.action == best else 0.0)
    >>> policy.decide({"hour": 8, "device": "phone", "age": 31}).action
    'news'
    """

    n_trees: int | None = None
    explorer: Explorer = field(default_factory=lambda: explorers.inverse_gap(scale=100.0, bonus=1.0))
    max_bytes: int = 512_000_000
    features: Mapping[Any, Mapping[str, Any]] | None = None
    borrowing: float = 4.0

    needs_sample: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_trees is not None:
            check_whole("n_trees", self.n_trees, 1, 10_000)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        if not isinstance(self.explorer, Explorer):
            raise ValueError(
                f"explorer is {self.explorer!r}; it must come from stumpery.policies.exploration.explorers"
            )
        self._rule = self.explorer.rule()
        self._n_trees = self.n_trees or default_n_trees(0)
        self._models: Any = None
        self._held: Any = None, None
        self._rooms = WorkspacePool()
        check_number("borrowing", self.borrowing, 0.0, MAX_SHRINKAGE)
        self.borrowing = float(self.borrowing)  # a whole number would be compiled apart
        self._known = ActionFeatures.of(self.features, self.actions)
        self.features = deepcopy(self._known.described)  # whoever changes it changes no more than this copy
        super().__post_init__()
        self._statistics = rules.new_action_statistics(len(self.actions))

    @property
    def weights(self) -> dict[str, float]:
        """How much each scorer counts now."""
        names = ("forest", "columns", "pairs", "latest columns", "corrected forest")
        found = kernels.INITIAL_WEIGHTS if self._models is None else self._models.weights.tolist()
        return dict(zip(names, found, strict=True))

    @property
    def trust(self) -> float:
        """How far what a context earned before is trusted when it comes again, from 0 to 1."""
        return 0.0 if self._models is None else float(self._models.context_memory.trust[SHRINKAGE_FACTOR])

    @property
    def n_changes(self) -> int:
        """How often rewards fell so far short of what was expected that the forest took the world for another one."""
        return 0 if self._models is None else int(self._models.drift[DROP_N_DRIFTS])

    @property
    def n_leaves(self) -> int:
        """The leaves of all trees."""
        if self._models is None:
            return self._n_trees
        forest = self._models.forest
        return int((forest.leaves[: forest.counters[trees.COUNTER_LEAVES], trees.LEAF_NODE] != trees.NO_INDEX).sum())

    def add_action(self, action: Action, *, features: Mapping[str, Any] | None = None) -> None:
        """Offer one more action from now on; its features say from which others it borrows."""
        (name,) = checked_actions([action])
        self._set_option("features", {**self._known.described, **({} if features is None else {name: features})})
        try:
            super().add_action(name)
        finally:
            self._set_option("features", deepcopy(self._known.described))

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's score, uncertainty and probability for the decision's context, and the columns that mattered.

        Without a decision: every action's rewards among the remembered events, and how much is explored.
        """
        if self._models is None:
            rows = tuple({"action": action, "n": 0, "mean": math.nan} for action in self.actions)
            return Explanation("No context has come yet: every decision explores.", rows)
        if decision is None:
            return self._words().overall()
        chosen, probability, context = self._opened(decision)
        row = self._known_encoder.encode_one(context)  # without learning a name or a column's kind from it
        return self._words().decision(row, chosen, probability)

    def to_text(self, tree: int = 0, max_depth: int = 4) -> str:
        """One tree as an indented list of rules, with what is known below each.

        Of more than 600 plays of an action a leaf has an estimate, as `leaves` says: "about 1,234".
        """
        return tree_words.text(self._places(tree, max_depth))

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """One tree as a picture."""
        return tree_words.draw(self._places(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int = 0) -> list[dict[str, Any]]:
        """What one tree knows: a row for each leaf and action, with the leaf's rule, rewards, their mean and uncertainty.

        More than 600 rewards of an action are an estimate, off by 3 in a hundred at 5,000 and 10 at 500,000; it ends at
        about a million.
        """
        return self._words(tree).leaves(tree)

    @property
    def exploring(self) -> float:
        """The probability that a decision takes another action than the best, over the latest events; 1 before the first."""
        return 1.0 if self._models is None else self._words().exploring()

    def _places(self, tree: int, max_depth: int) -> list[tree_words.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        return self._words(tree).places(tree, max_depth)

    def _words(self, tree: int = 0) -> RewardForestExplainer:
        check_whole("tree", tree, 0, self._n_trees - 1)
        if self._models is None or self.schema is None:
            raise ValueError("this forest has seen no context yet: there is no tree to show")
        return RewardForestExplainer(self._models, self.schema, self.actions, self._reward, self._scored)

    def _scored(self, row: Floats, borrowing: float | None = None, knows: bool = True) -> Floats:
        """Action statistics of its own, filled for one row, as if another `borrowing` held, or as if it did not know the row."""
        models = self._models
        if borrowing is not None:
            self._models = models._replace(shared=models.shared_model._replace(strength=borrowing))
        if not knows:
            strange = models.context_memory._replace(trust=np.zeros_like(models.context_memory.trust))
            self._models = self._models._replace(familiar=strange)
        try:
            self._run(row[None], NO_REWARDS, ChosenActions.empty(1), self._all, 0)
        finally:
            self._models = models
        statistics = self._statistics.copy()
        explorer_kernels.fill_probabilities(
            self._rule, statistics, self._all, float(self._models.clock[kernels.CLOCK_EVENTS] + 1.0)
        )
        return statistics

    # Contexts: numbers as they are with -inf for missing, names as codes with 0 for missing; new names get a code.

    def _new_encoder(self, schema: Schema) -> OnlineEncoder:
        return OnlineEncoder.from_schema(schema, MAX_NAMES)

    def _rows(self, contexts: Any) -> Any:
        contexts = self._table(contexts)
        known, rows = (self._encoder or OnlineEncoder.from_rows(contexts, MAX_NAMES)).extend(contexts)
        self._take(known)
        return rows

    def _row(self, context: Context) -> Floats:
        if self._encoder is None or context is None:
            first: Floats = self._rows(context if context is None else [context])[0]
            return first
        encoder: OnlineEncoder = self._encoder
        known, row = encoder.extend_one(context)
        self._take(known)
        return row

    def _take(self, rows: OnlineEncoder) -> None:
        """Know more names and kinds; a column that has only been missing may turn out to hold names."""
        if rows is self._encoder:
            return
        if self._encoder is None:
            self._begin(rows.schema)
        else:
            newly = rows.is_categorical & ~self._known_encoder.is_categorical
            self._models.forest.kinds[newly] = trees.CATEGORICAL
            for index in np.flatnonzero(newly).tolist():
                ring.column(self._models.ring, index)[:] = 0
        self._encoder = rows
        self._set_option("schema", rows.schema)

    # The policy's events.

    def _allocate(self, width: int) -> None:
        self._lay_out(np.full(width, BYTE, np.uint8))

    def _lay_out(self, widths: Widths) -> None:
        """Have the first memory, for events whose columns take so many bytes."""
        n_trees, n_actions = self.n_trees or default_n_trees(len(widths)), len(self.actions)
        shared = self._new_shared()
        self._most = capacity_within(self.max_bytes, n_trees, n_actions, shared.linear.shape[2], widths)
        first = self._most.first(n_trees)
        self._models = new_state(n_trees, n_actions, self._known_encoder.is_categorical, widths, first, shared)
        self._n_trees = n_trees
        plan_rebalancing(self._models, self._most)

    def _new_shared(self) -> SharedModel:
        return new_shared_model(self._known_encoder.width, self._known.vectors(), self.borrowing)

    @property
    def _may_grow(self) -> bool:
        return capacity_of(self._models).may_grow(self._most)

    def _run(self, rows: Any, rewards: Floats, played: ChosenActions, available: NDArray[np.bool_], does: int) -> None:
        """Go along all rows."""
        for here, stretch in chunks(rows):
            along = ChosenActions(played.actions[here], played.probabilities[here])
            self._go_along(stretch, rewards[here], along, available, does)

    def _go_along(
        self, rows: Floats, rewards: Floats, played: ChosenActions, available: NDArray[np.bool_], does: int
    ) -> None:
        """Go along rows, making room where there is too little."""
        epoch = int(self._models.drift[DROP_CONCEPT_START])
        less = trees.renumber(self._models.forest, len(self._models.ring.bytes), epoch)
        self._models.drift[DROP_CONCEPT_START] = max(epoch - less, trees.NO_INDEX)
        done = 0
        while done < len(rows):
            models = self._held_models()
            room = self._rooms.take(partial(has_shape, models=self._models), self._new_work)
            rest = slice(done, None)
            done += kernels.run(
                models,
                room[1],
                np.uint64(self.seed),
                self._rng,
                self._rule,
                self._statistics,
                rows[rest],
                rewards[rest],
                played.actions[rest],
                played.probabilities[rest],
                available,
                does | (kernels.MAY_GROW if self._may_grow else 0),
            )
            self._rooms.give_back(room)
            if done < len(rows):
                self._make_room(rows[done])

    def _held_models(self) -> Any:
        """The models as kernels get them."""
        models, ready = self._held
        if models is not self._models:
            models, ready = self._held = self._models, pinned(self._models)
        return ready

    def _new_work(self) -> kernels.RewardForestWorkspace:
        return new_workspace(self._models, self._n_trees)

    def _make_room(self, row: Floats) -> None:
        """Have a place for one more event with these values."""
        models, widths = self._models, np.maximum(ring.widths_of(row[None]), self._models.ring.widths)
        is_wider = (widths > models.ring.widths).any()
        if is_wider and models.forest.counters[trees.COUNTER_TIME] == 0:
            self._lay_out(widths)
            return
        if is_wider:
            self._models = widened(models, widths, self._n_trees, self.max_bytes)
        elif is_rebalancing_due(models):
            self._models = rebalanced(models, self._n_trees)
        else:
            self._models = grown(models, self._most)
        self._most = max_capacity(self._models, self._n_trees, self.max_bytes)
        if len(self._models.ring.bytes) != len(models.ring.bytes):
            plan_rebalancing(self._models, self._most)

    # Actions that come and go, and files.

    def _grow(self) -> None:
        self._follow([*range(len(self.actions) - 1), None])

    def _shrink(self, action: int) -> None:
        known = {name: each for name, each in self._known.described.items() if name in self.actions}
        self._set_option("features", known)
        self._follow([index for index in range(len(self.actions) + 1) if index != action])

    def _follow(self, keep: list[int | None]) -> None:
        known = ActionFeatures.of(self.features, self.actions)
        if self._models is not None:
            linear = self._known.followed(self._models.shared_model.linear, known)
            models = with_actions(self._models, keep, SharedModel(known.vectors(), linear, self.borrowing))
            self._most = max_capacity(models, self._n_trees, self.max_bytes)
            self._models, self._held = models, (None, None)  # what is held would stay in memory
            if models.forest.counters[trees.COUNTER_TIME] < len(models.ring.bytes):  # others have their plan
                plan_rebalancing(models, self._most)
        self._known = known
        self._set_option("features", deepcopy(known.described))
        self._statistics = rules.new_action_statistics(len(self.actions))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        if self._models is None:
            return {"rng": self._rng}
        return {"rng": self._rng, "seen": self._known_encoder.seen, **arrays_of(self._models)}

    def _options(self) -> dict[str, Any]:
        described = self._known.described
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
        if self._models is not None:
            check_widths(arrays.get("ring.widths"), self._known_encoder.is_categorical)
            empty = arrays_of(self._models._replace(ring=ring.new_ring(1, arrays["ring.widths"])))
            if arrays["edges"].dtype == np.float32:  # as they were saved before columns could have 64 bits
                arrays["edges"] = arrays["edges"].astype(np.float64)
            check_shapes(empty, arrays)
            empty.clear()
            self._models = None  # frees their memory before the next is taken
            sizes = RewardForestCapacity.read(
                {name: arrays[name] for name in arrays.keys() - {"rng", "seen"}}, self.max_bytes
            )
            if arrays.get("sizes", np.zeros(0)).tolist() != list(sizes):
                raise CorruptFile(f"its arrays have room for {tuple(sizes)}, which is not what was saved")
            is_categorical, widths = self._known_encoder.is_categorical, arrays["ring.widths"].copy()
            shared, n_actions = self._new_shared(), len(self.actions)
            self._models = new_state(self._n_trees, n_actions, is_categorical, widths, sizes, shared)
        restore(self._arrays(), arrays)
        if self._models is not None:
            self._encoder = replace(self._known_encoder)  # which columns it has seen is known only now
            self._most = max_capacity(self._models, self._n_trees, self.max_bytes)

    def _validate_state(self) -> None:
        super()._validate_state()
        if self._models is None:
            return
        if not np.array_equal(self._models.shared_model.features, self._known.vectors()):
            raise CorruptFile("its features are not those of its actions")
        validate(self._models, self._n_trees, self._known_encoder.is_categorical)
        kept = stored_events(self._models)
        found = [
            (ring.column_values(self._models.ring, index)[kept] > -np.inf).any()
            for index in range(self._known_encoder.width)
        ]
        seen = self._known_encoder.is_categorical | np.array(found, np.bool_)
        if (seen > self._known_encoder.seen).any():
            raise CorruptFile("its columns have values that it has not seen")
