"""Base of the Bandit Stump, Tree and Forest: trees over bits that eliminate variables and actions."""

import logging
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import rendering
from stumpery.encoding import BitEncoder, Schema
from stumpery.encoding.columns.numerical import Numerical
from stumpery.errors import CorruptFile, InvalidInput, capacity_errors
from stumpery.options import check_number, check_one_of, check_whole
from stumpery.policies.bandit_forest import capacity
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest import state_kernels as layout
from stumpery.policies.bandit_forest import trees_kernels as kernels
from stumpery.policies.bandit_forest import votes_kernels as voting
from stumpery.policies.bandit_forest.explanation import TreeExplanation
from stumpery.policies.bandit_forest.sample_complexity import plays_until_elimination
from stumpery.policies.bandit_forest.state_kernels import BanditState
from stumpery.policies.fixed_schema import FixedSchemaPolicy
from stumpery.policies.records import ChosenActions
from stumpery.random import integer, new_generator, uniform
from stumpery.saving.saveable import Arrays, Options, restore
from stumpery.saving.validation import check
from stumpery.system.allocation import provisional
from stumpery.types import Bits, Context, Decision, Explanation, Floats, RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

logger = logging.getLogger(__name__)

LEAF_KINDS = {"elimination": layout.ELIMINATION_LEAF, "ucb": layout.UCB_LEAF, "thompson": layout.THOMPSON_LEAF}
WEIGHTINGS = {"self-normalised": layout.SELF_NORMALISED, "ips": layout.INVERSE_PROPENSITY, "none": layout.UNWEIGHTED}
CHECK_GROWTH = 0.05  # of the plays between two checks: a split comes at most this share later
TREE_STREAM = 1  # of a seed's random numbers: depths and epsilons


class ForestShape(NamedTuple):
    """How many trees, their range of depths, the share of candidate variables, and how many leaves must vote."""

    n_trees: int
    depths: tuple[int, int]
    variable_share: float
    n_votes_needed: int


@dataclass(kw_only=True, eq=False)
class BanditTrees(FixedSchemaPolicy[BitEncoder]):
    """Trees over bits that select variables, then actions, by successive elimination (Feraud et al. 2016)."""

    epsilon: float | tuple[float, float] = 0.6
    delta: float = 0.05
    explore: str = "drawn"
    weights: str = "self-normalised"
    leaf: str = "elimination"
    n_bins: int = 5
    max_bytes: int = 200_000_000

    learning_draws: ClassVar[bool] = True  # candidate variables of new leaves

    def __post_init__(self) -> None:
        bounds = number_range("epsilon", self.epsilon)
        self.epsilon = bounds[0] if bounds[0] == bounds[1] else bounds
        check_number("delta", self.delta, 0.0, 1.0, above=True)
        check_one_of("explore", self.explore, ("drawn", "in turn"))
        check_one_of("weights", self.weights, WEIGHTINGS)
        check_one_of("leaf", self.leaf, LEAF_KINDS)
        check_whole("n_bins", self.n_bins, 2, 240)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        self.delta = float(self.delta)
        self._shape = self._new_shape()
        self._clock = np.zeros(voting.N_CLOCK_FIELDS)
        self._state: BanditState | None = None
        super().__post_init__()

    @abstractmethod
    def _new_shape(self) -> ForestShape:
        """Check the options of the forest's shape and return it."""

    @property
    def exploring(self) -> float:
        """The share of decisions that explored, an exponential average over about 1,000; 1 before the first."""
        return float(self._clock[voting.CLOCK_EXPLORING]) if self._clock[voting.CLOCK_N_DECISIONS] else 1.0

    def to_text(self, tree: int = 0, max_depth: int = 4) -> str:
        """One tree as indented lines: the variable of each node, the state of each leaf."""
        return rendering.text(self._shown_nodes(tree, max_depth))

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """One tree as a picture."""
        return rendering.draw(self._shown_nodes(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int = 0) -> list[dict[str, Any]]:
        """One tree as rows, one for each leaf and action: the leaf's rule, the rewards, their mean and its interval.

        `remains` says whether the action is not eliminated there; in a leaf that has chosen, only its choice remains.
        """
        return self._explanation(tree).leaves(tree)

    def _shown_nodes(self, tree: int, max_depth: int) -> list[rendering.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        return self._explanation(tree).nodes(tree, max_depth)

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's rewards and, for a decision, the rule of the tree or the votes of the forest behind it."""
        if decision is None:
            return self._explanation().overall(self.exploring)
        action, probability, context = self._checked_decision(decision)
        if self._encoder is None:  # an explanation infers no schema
            return self._explanation().overall(self.exploring)
        row = self._row(context)
        return self._explanation().decision(row, action, probability)

    def _explanation(self, tree: int = 0) -> TreeExplanation:
        check_whole("tree", tree, 0, self._shape.n_trees - 1)
        names = ("no bit",) if self._encoder is None else self._encoder.feature_names
        state = self._new_trees(1, new_generator(self.seed)) if self._state is None else self._state
        return TreeExplanation(state, names, self.actions, self._reward, self.delta)

    def _new_encoder(self, schema: Schema) -> BitEncoder:
        return BitEncoder(schema=schema, n_bins=self.n_bins)

    def _infer(self, rows: Any) -> Schema:
        if not are_bits(rows):
            return super()._infer(rows)
        return Schema(columns=tuple(Numerical(name=f"x{column}", points=(0.0, 1.0)) for column in range(rows.shape[1])))

    def _determines_schema(self, row: Any) -> bool:
        return False  # bins need more than one value

    def _begin(self, schema: Schema) -> None:
        width = self._new_encoder(schema).width
        if width == 0:
            raise InvalidInput("schema has no bit: its columns have no names yet; give rows to Schema.extend")
        self._plan_capacity(width)  # refuses before anything changes
        super()._begin(schema)

    def _rows(self, contexts: Any) -> NDArray[Any]:
        if self._encoder is not None and are_bits(contexts) and self._needs_no_encoding(contexts.shape[1]):
            return np.require(contexts, np.uint8, ["C", "W"])  # one type to the compiler
        return super()._rows(contexts)

    def _needs_no_encoding(self, width: int) -> bool:
        """Whether rows of this many bits are the encoded rows."""
        columns = self.schema.columns if self.schema else ()
        return len(columns) == width and all(isinstance(column, Numerical) and column.is_bit for column in columns)

    def _allocate(self, width: int) -> None:
        self._state = self._new_trees(width, self._rng)

    def _new_trees(self, width: int, rng: RandomState) -> BanditState:
        """Trees of one leaf each."""
        trees, plan = self._plan_capacity(width)
        state = capacity.new_state(plan, len(self.actions), width, trees, self._kernel_options())
        growth.begin_trees(state, rng)
        logger.debug("%s has memory for %d leaves and %d blocks", type(self).__name__, plan.n_leaves, plan.n_blocks)
        return state

    def _plan_capacity(self, width: int) -> tuple[Floats, capacity.CapacityPlan]:
        """The options of every tree, and how many leaves and blocks `max_bytes` allows."""
        trees = self._draw_trees(width)
        depths = trees[:, layout.TREE_MAX_DEPTH].astype(int).tolist()
        n_used = 0 if self._state is None else int(self._state.pool[layout.POOL_N_LEAVES])
        return trees, capacity.plan_capacity(self.max_bytes, len(self.actions), width, depths, n_used)

    def _draw_trees(self, width: int) -> Floats:
        """Every tree's depth and epsilon, drawn, and the plays before which it can eliminate nothing."""
        rng = new_generator(self.seed, TREE_STREAM)
        min_depth, max_depth = self._shape.depths
        low, high = number_range("epsilon", self.epsilon)
        trees = np.empty((self._shape.n_trees, layout.N_TREE_FIELDS))
        for tree in trees:
            depth, epsilon = (
                min(min_depth + integer(rng, max_depth - min_depth + 1), width),
                low + uniform(rng) * (high - low),
            )
            tree[:] = depth, epsilon, *self._first_checks(width, depth, epsilon)
        return trees

    def _first_checks(self, width: int, depth: int, epsilon: float) -> tuple[int, int]:
        """The fewest plays after which a gap of 1 eliminates; inverse propensity weights allow larger gaps."""
        if self.weights == "ips":
            return 1, 1
        n_arms = len(self.actions) * self._shape.n_trees
        tests = ((n_arms * width * depth, 4.0), (n_arms, 2.0))
        first_split, first_drop = (
            plays_until_elimination(gap=1.0, epsilon=epsilon, n_hypotheses=n, width=bound, delta=self.delta)
            for n, bound in tests
        )
        return first_split, first_drop

    def _kernel_options(self) -> Floats:
        options = np.empty(layout.N_OPTIONS)
        options[layout.OPTION_DELTA] = self.delta
        options[layout.OPTION_VOTES_NEEDED] = self._shape.n_votes_needed
        options[layout.OPTION_IN_TURN] = self.explore == "in turn"
        options[layout.OPTION_LEAF_KIND] = LEAF_KINDS[self.leaf]
        options[layout.OPTION_VARIABLE_SHARE] = self._shape.variable_share
        options[layout.OPTION_WEIGHTING] = WEIGHTINGS[self.weights]
        options[layout.OPTION_CHECK_GROWTH] = CHECK_GROWTH
        return options

    def _grown(self) -> BanditState:
        if self._state is None:
            raise InvalidInput(f"{type(self).__name__} has had no context yet")
        return self._state

    def _run(self, rows: Bits, rewards: Floats, chosen: ChosenActions, available: NDArray[np.bool_], mode: int) -> None:
        kernels.run(self._rng, *self._grown(), self._clock, rows, rewards, *chosen, available, mode)

    # Saving: only those parts of the state that are in use.

    def _own_arrays(self) -> Arrays:
        return {"rng": self._rng, "clock": self._clock}

    def _arrays(self) -> Arrays:
        return self._own_arrays() | (self._state._asdict() if self._state else {})

    def _saved_arrays(self) -> Arrays:
        return self._own_arrays() | (capacity.saved_arrays(self._state) if self._state else {})

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        self._restore_removed(learned)
        state = {name: arrays.pop(name) for name in capacity.SAVED_ARRAYS if name in arrays}
        restore(self._own_arrays(), arrays)
        if (self._state is None) != (not state):
            raise CorruptFile("its columns have no trees, or its trees no columns")
        if self._state is not None:
            width, own = self._state.marks.shape[1], (self._state.trees, self._state.options)
            self._state = None  # frees its memory before the next is taken
            self._state = capacity.load_state(state, len(self.actions), width, *own, self.max_bytes)

    @classmethod
    def _new(cls, arguments: Options) -> Self:
        with provisional():  # arrays of other sizes take the place of these
            return super()._new(arguments)

    def _validate_state(self) -> None:
        super()._validate_state()
        exploring, n_decided, turn = self._clock.tolist()
        check(0 <= exploring <= 1, f"the share of decisions that explored is {exploring:g}")
        check(0 <= n_decided <= voting.MAX_RECENT_DECISIONS, f"the number of recent decisions is {n_decided:g}")
        check(turn in range(len(self.actions)), f"the action whose turn it is, {turn:g}, does not exist")

    # Actions that are added and removed.

    def _scores(self, context: Context, available: NDArray[np.bool_]) -> Floats:
        """Ranks, as `explain` sorts actions: by votes, or by the mean in the leaf of a single tree."""
        rows = self._explanation().decision(self._row(context), 0, 1.0).rows
        order = [self._position(row["action"]) for row in rows]
        scores = np.empty(len(order))
        scores[order] = -np.arange(len(order), dtype=np.float64)
        return scores

    def _grow(self, n: int) -> None:
        """New actions remain in every leaf: leaves that had chosen compare them with their choice."""
        with capacity_errors():
            self._replace_actions([*range(len(self.actions) - n), *[layout.NO_INDEX] * n])

    def _shrink(self, keep: Sequence[int]) -> None:
        """The actions' sums are removed; in leaves where they were the last, all others remain again."""
        n_before_turn = sum(index < self._clock[voting.CLOCK_TURN] for index in keep)
        self._clock[voting.CLOCK_TURN] = n_before_turn % len(keep)
        self._replace_actions(list(keep))

    def _replace_actions(self, origins: list[int]) -> None:
        if self._state is not None:
            trees, plan = self._plan_capacity(self._state.marks.shape[1])
            self._state = capacity.with_actions(self._state, plan, trees, origins)


def number_range(name: str, value: Any) -> tuple[float, float]:
    """A number from 0 to 1, or two of them, the lower one first."""
    bounds = tuple(value) if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    for bound in bounds:
        check_number(name, bound, 0.0, 1.0)
    if bounds[0] > bounds[1]:
        raise InvalidInput(f"{name} is {value!r}; the lower number must come first")
    return float(bounds[0]), float(bounds[1])


def are_bits(rows: Any) -> bool:
    """Whether rows are a matrix of zeros and ones."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or not rows.size or rows.dtype.kind not in "biuf":
        return False
    if np.ma.is_masked(rows):
        return False
    if rows.dtype.kind in "bu":
        return bool(rows.max() <= 1)
    return bool(((rows == 0) | (rows == 1)).all())
