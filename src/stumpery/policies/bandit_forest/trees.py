"""What the Bandit Stump, Tree and Forest share: bits, one arena of trees, and how it is saved."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.array_forest import rendering as tree_words
from stumpery.encoding import BitEncoder, Schema
from stumpery.encoding.columns.numerical import Numerical
from stumpery.options import check_number, check_one_of, check_whole
from stumpery.policies.bandit_forest import arena_kernels as arena
from stumpery.policies.bandit_forest import capacity as bandit_rooms
from stumpery.policies.bandit_forest import explanation as bandit_words
from stumpery.policies.bandit_forest import growth_kernels as growth
from stumpery.policies.bandit_forest import trees_kernels as kernels
from stumpery.policies.bandit_forest import votes_kernels as voting
from stumpery.policies.bandit_forest.arena_kernels import Forest
from stumpery.policies.bandit_forest.sample_complexity import plays_until_elimination
from stumpery.policies.contextual import ContextualPolicy
from stumpery.policies.policy import Played
from stumpery.random import integer, new_generator, uniform
from stumpery.system.allocation import provisional
from stumpery.types import Bits, Decision, Explanation, Floats, RandomState, State
from stumpery.validation import check

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAVES = {
    "elimination": arena.ELIMINATION,
    "ucb": arena.UPPER_CONFIDENCE,
    "thompson": arena.THOMPSON,
}
WEIGHTS = {"self-normalised": arena.SELF_NORMALISED, "ips": arena.INVERSE, "none": arena.PLAIN}
CHECK_GROWTH = 0.05  # of the plays between two checks: a split comes at most so much later
TREE_STREAM = 1  # of a seed's random numbers: depths and epsilons


class Plan(NamedTuple):
    """How many trees, how deep, from which share of the variables, and how many of them must vote."""

    n_trees: int
    depths: tuple[int, int]
    share: float
    n_needed: int


@dataclass(kw_only=True, eq=False)
class BanditTrees(ContextualPolicy):
    """Trees of bits that select variables, then actions, by elimination."""

    epsilon: float | tuple[float, float] = 0.6
    delta: float = 0.05
    explore: str = "drawn"
    weights: str = "self-normalised"
    leaf: str = "elimination"
    n_bins: int = 5
    max_bytes: int = 200_000_000

    def __post_init__(self) -> None:
        ends = number_range("epsilon", self.epsilon)
        self.epsilon = ends[0] if ends[0] == ends[1] else ends
        check_number("delta", self.delta, 0.0, 1.0, above=True)
        check_one_of("explore", self.explore, ("drawn", "in turn"))
        check_one_of("weights", self.weights, WEIGHTS)
        check_one_of("leaf", self.leaf, LEAVES)
        check_whole("n_bins", self.n_bins, 2, 240)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        self.delta = float(self.delta)
        self._plan = self._planned()
        self._clock = np.zeros(voting.N_CLOCK_FIELDS)
        self._forest: Forest | None = None
        super().__post_init__()

    @abstractmethod
    def _planned(self) -> Plan:
        """Check the options of the shape, and sum them up."""

    @property
    def exploring(self) -> float:
        """The share of the last thousand decisions, fading, that explored; 1 before the first."""
        return float(self._clock[voting.EXPLORING]) if self._clock[voting.N_DECIDED] else 1.0

    @property
    def n_bytes(self) -> int:
        """The memory that the policy's arrays hold; it grows no more once the columns are known."""
        return super().n_bytes + (sum(part.nbytes for part in self._forest) if self._forest else 0)

    def to_text(self, tree: int = 0, max_depth: int = 4) -> str:
        """One tree as indented lines: the variable of each node, the state of each leaf."""
        return tree_words.text(self._places(tree, max_depth))

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """One tree as a picture."""
        return tree_words.draw(self._places(tree, max_depth), f"tree {tree}", ax)

    def leaves(self, tree: int = 0) -> list[dict[str, Any]]:
        """What one tree knows: a row for each leaf and action, with the leaf's rule, rewards, their mean and interval.

        `remains` says whether the action is still in the race there; where a leaf has decided, only the winner is.
        """
        return self._words(tree).leaves(tree)

    def _places(self, tree: int, max_depth: int) -> list[tree_words.ShownNode]:
        check_whole("max_depth", max_depth, 0, 20)
        return self._words(tree).places(tree, max_depth)

    def explain(self, decision: Decision | None = None) -> Explanation:
        """Every action's rewards and, for a decision, the rule of the tree or the votes of the forest behind it."""
        if decision is None:
            return self._words().overall(self.exploring)
        action, probability, context = self._opened(decision)
        if self._encoder is None:  # an explanation settles no columns
            return self._words().overall(self.exploring)
        row = self._row(context)
        return self._words().decision(row, action, probability)

    def _words(self, tree: int = 0) -> bandit_words.Words:
        check_whole("tree", tree, 0, self._plan.n_trees - 1)
        names = ("no bit",) if self._encoder is None else self._encoder.feature_names
        forest = self._planted(1, new_generator(self.seed)) if self._forest is None else self._forest
        return bandit_words.Words(forest, names, self.actions, self._reward, self.delta)

    def _encoder_of(self, schema: Schema) -> BitEncoder:
        return BitEncoder(schema=schema, n_bins=self.n_bins)

    def _infer(self, rows: Any) -> Schema:
        if not are_bits(rows):
            return super()._infer(rows)
        return Schema(columns=tuple(Numerical(name=f"x{place}", points=(0.0, 1.0)) for place in range(rows.shape[1])))

    def _tells_all(self, row: Any) -> bool:
        return False  # bins need more than one value

    def _begin(self, schema: Schema) -> None:
        width = self._encoder_of(schema).width
        if width == 0:
            raise ValueError("schema has no bit: no column knows a name; show rows to Schema.extend")
        self._room(width)  # refuses before anything changes
        super()._begin(schema)

    def _rows(self, contexts: Any) -> NDArray[Any]:
        if self._encoder is not None and are_bits(contexts) and self._takes_bits(contexts.shape[1]):
            return np.require(contexts, np.uint8, ["C", "W"])  # one kind of array, one compiled form
        return super()._rows(contexts)

    def _takes_bits(self, width: int) -> bool:
        """Whether rows of so many bits need no encoding."""
        columns = self._encoder.schema.columns
        return len(columns) == width and all(isinstance(each, Numerical) and each.is_bit for each in columns)

    def _allocate(self, width: int) -> None:
        self._forest = self._planted(width, self._rng)

    def _planted(self, width: int, rng: RandomState) -> Forest:
        """Trees that are all root."""
        trees, room = self._room(width)
        forest = bandit_rooms.new_forest(room, len(self.actions), width, trees, self._rule())
        growth.plant(forest, rng)
        return forest

    def _room(self, width: int) -> tuple[Floats, bandit_rooms.Room]:
        """The trees' own options, and how many leaves and blocks they may have within `max_bytes`."""
        trees = self._drawn_trees(width)
        depths = trees[:, arena.MAX_DEPTH].astype(int).tolist()
        n_used = 0 if self._forest is None else int(self._forest.pool[arena.N_LEAVES])
        return trees, bandit_rooms.room(self.max_bytes, len(self.actions), width, depths, n_used)

    def _drawn_trees(self, width: int) -> Floats:
        """Each tree's depth and epsilon, drawn, and the plays before which its checks cannot fire."""
        rng = new_generator(self.seed, TREE_STREAM)
        least, most = self._plan.depths
        low, high = number_range("epsilon", self.epsilon)
        trees = np.empty((self._plan.n_trees, arena.N_TREE_FIELDS))
        for tree in trees:
            depth, epsilon = min(least + integer(rng, most - least + 1), width), low + uniform(rng) * (high - low)
            tree[:] = depth, epsilon, *self._first_checks(width, depth, epsilon)
        return trees

    def _first_checks(self, width: int, depth: int, epsilon: float) -> tuple[int, int]:
        """No gap between estimates is above 1, unless weights are plain inverse probabilities."""
        if self.weights == "ips":
            return 1, 1
        n_paths = len(self.actions) * self._plan.n_trees
        tests = ((n_paths * width * depth, 4.0), (n_paths, 2.0))
        split, drop = (
            plays_until_elimination(gap=1.0, epsilon=epsilon, n_hypotheses=n, width=wide, delta=self.delta)
            for n, wide in tests
        )
        return split, drop

    def _rule(self) -> Floats:
        rule = np.empty(arena.N_RULE_FIELDS)
        rule[arena.DELTA] = self.delta
        rule[arena.NEEDED] = self._plan.n_needed
        rule[arena.IN_TURN] = self.explore == "in turn"
        rule[arena.LEAF_KIND] = LEAVES[self.leaf]
        rule[arena.SHARE] = self._plan.share
        rule[arena.WEIGHING] = WEIGHTS[self.weights]
        rule[arena.GROWTH] = CHECK_GROWTH
        return rule

    def _trees(self) -> Forest:
        if self._forest is None:
            raise ValueError(f"{type(self).__name__} has seen no context yet")
        return self._forest

    def _run(self, rows: Bits, rewards: Floats, played: Played, available: NDArray[np.bool_], does: int) -> None:
        kernels.run(self._rng, *self._trees(), self._clock, rows, rewards, *played, available, does)

    # Saving: of the arena only what is in use.

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"rng": self._rng, "clock": self._clock}

    def state(self) -> State:
        """The recipe and the arrays."""
        options, arrays = super().state()
        return State(options, arrays | (bandit_rooms.packed(self._forest) if self._forest else {}))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        arrays = dict(state.arrays)
        arena = {name: arrays.pop(name) for name in bandit_rooms.ARENA if name in arrays}
        policy = super().from_state(State(state.options, arrays))
        if (policy._forest is None) != (not arena):
            raise ValueError("its columns and its trees do not belong together")
        if policy._forest is not None:
            width, own = policy._forest.marks.shape[1], (policy._forest.trees, policy._forest.rule)
            policy._forest = None  # frees its memory before the next is taken
            policy._forest = bandit_rooms.unpacked(arena, len(policy.actions), width, *own, policy.max_bytes)
        return policy

    @classmethod
    def _blank(cls, options: dict[str, Any]) -> Self:
        with provisional():  # arrays of other sizes take the place of these
            return super()._blank(options)

    def _restored(self) -> None:
        super()._restored()
        exploring, n_decided, turn = self._clock.tolist()
        check(0 <= exploring <= 1, f"the share of decisions that explored is {exploring:g}")
        check(0 <= n_decided <= voting.RECENT, f"the number of recent decisions is {n_decided:g}")
        check(turn in range(len(self.actions)), f"the action whose turn it is, {turn:g}, does not exist")

    # Actions that come and go.

    def _grow(self) -> None:
        """The new action remains everywhere: finished leaves compare it with their choice, the others wait for it."""
        try:
            self._regrow([*range(len(self.actions) - 1), arena.NOTHING])
        except ValueError:
            self.__dict__["actions"] = self.actions[:-1]
            raise

    def _shrink(self, action: int) -> None:
        """The action's sums go everywhere; where it was the last one left, all the others compete again."""
        turn = self._clock[voting.TURN]
        self._clock[voting.TURN] = (turn - (action < turn)) % len(self.actions)
        self._regrow([index for index in range(len(self.actions) + 1) if index != action])

    def _regrow(self, origins: list[int]) -> None:
        if self._forest is not None:
            trees, room = self._room(self._forest.marks.shape[1])
            self._forest = bandit_rooms.regrown(self._forest, room, trees, origins)


def number_range(name: str, value: Any) -> tuple[float, float]:
    """A number from 0 to 1, or two of them, the lower one first."""
    ends = tuple(value) if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    for end in ends:
        check_number(name, end, 0.0, 1.0)
    if ends[0] > ends[1]:
        raise ValueError(f"{name} is {value!r}; the lower number must come first")
    return float(ends[0]), float(ends[1])


def are_bits(rows: Any) -> bool:
    """Whether these rows are a matrix of zeros and ones."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or not rows.size or rows.dtype.kind not in "biuf":
        return False
    if np.ma.is_masked(rows):
        return False
    if rows.dtype.kind in "bu":
        return bool(rows.max() <= 1)
    return bool(((rows == 0) | (rows == 1)).all())
