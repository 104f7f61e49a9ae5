"""What all trees on a stream share: rows of mixed columns, memory that grows within bounds, words and files."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery import files, frames
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.precision import needs_double
from stumpery.array_forest.precision_kernels import DOUBLE, SINGLE
from stumpery.array_forest.workspaces import WorkspacePool
from stumpery.compiling.pointers import pinned
from stumpery.encoding import Schema
from stumpery.encoding.chunks import Rows, chunks
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online import OnlineEncoder
from stumpery.models import concurrent
from stumpery.options import check_bool, check_number, check_one_of, check_whole, shown
from stumpery.random import new_generator
from stumpery.reseeding import RiverClone
from stumpery.river import register_virtual_subclass
from stumpery.streaming import state as memory
from stumpery.streaming.capacity import Capacity, StreamShape, max_capacity
from stumpery.streaming.explanation import TreeRenderer
from stumpery.streaming.trees import hoeffding_kernels as kernels
from stumpery.streaming.trees import leaf_predictors_kernels as leaves
from stumpery.streaming.trees.hoeffding_kernels import GROWS, LEARNS, PREDICTS
from stumpery.streaming.validation import validate
from stumpery.types import Floats, State
from stumpery.validation import check, check_random_state, corrupt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMES = forests.MAX_CODES - 2  # with missing and other, a column's codes are the bits of one word
MAX_DEPTH = 1000
NO_NUMBERS = np.zeros(0)
LEAF_PREDICTORS = {
    "mc": leaves.MAJORITY,
    "recent": leaves.RECENT,
    "nb": leaves.NAIVE_BAYES,
    "adaptive": leaves.ADAPTIVE,
    "nba": leaves.ADAPTIVE,
}


@dataclass(kw_only=True, eq=False)
class StreamModel(DeclaredColumns, RiverClone):
    """Trees that learn from rows and labels as they come, and predict at any time.

    The columns are those of `schema`, or of the first rows to learn from. A row is a dict, in which an absent key is a
    missing value, or an array; many are a frame, a list of dicts or a matrix. Several threads may share a
    model: they predict together, and wait while one learns.
    """

    grace_period: int = 50
    delta: float = 0.05
    tau: float = 0.3
    max_depth: int | None = None
    leaf_prediction: str = "adaptive"
    binary_split: bool = True
    max_bytes: int = 16_000_000
    schema: Schema | None = None
    seed: int = 0

    leaf_predictors: ClassVar[tuple[str, ...]] = ("mc", "recent", "adaptive")
    river_base: ClassVar[str] = "Regressor"
    _supervised: ClassVar[bool] = True  # as river asks

    def __post_init__(self) -> None:
        check_whole("grace_period", self.grace_period, 1, 1_000_000)
        check_number("delta", self.delta, 0, 1, above=True, below=True)
        check_number("tau", self.tau, 0)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0, MAX_DEPTH)
        check_one_of("leaf_prediction", self.leaf_prediction, self.leaf_predictors)
        check_bool("binary_split", self.binary_split)
        check_whole("max_bytes", self.max_bytes, 1, 2**50)
        check_whole("seed", self.seed, 0, 2**63 - 1)
        register_virtual_subclass(type(self), self.river_base)
        self._rng = new_generator(self.seed)
        self._encoder: OnlineEncoder | None = None
        self._model: Any = None
        self._held: Any = None, None
        self._rooms = WorkspacePool()
        self._is_full = False
        self._most: Capacity | None = None  # the room there may be, once it is known
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise ValueError(f"schema is {shown(self.schema)}; it must be a Schema or None")
            self._start(self.schema)

    @abstractmethod
    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""

    # The size of it.

    @property
    def n_bytes(self) -> int:
        """The memory that the model's arrays hold."""
        return sum(array.nbytes for array in self._arrays().values())

    @property
    def n_leaves(self) -> int:
        """The leaves of all trees."""
        return self._n_trees if self._model is None else self._words().n_leaves()

    @property
    def n_events(self) -> int:
        """The events that were learned and are remembered."""
        return (
            0
            if self._model is None
            else min(int(self._model.forest.counters[forests.COUNTER_TIME]), len(self._model.events))
        )

    # The trees in words.

    def to_text(self, tree: int = 0, max_depth: int = 5) -> str:
        """One tree as an indented list of rules, with what is known below each."""
        return self._words(tree).text(tree, max_depth)

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """One tree as a picture: rules, shares of events, and what is predicted."""
        return self._words(tree).draw(tree, max_depth, ax)

    def to_frame(self, tree: int = 0, backend: str | None = None) -> Any:
        """One tree as a frame: a row for each leaf, with its rule, events and what it predicts."""
        rows = self._words(tree).leaves(tree)
        return frames.make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    @concurrent
    def explain_one(self, x: Any) -> str:
        """The rules that lead to a row's prediction, tree by tree."""
        if self._model is None or self._encoder is None:
            return "Nothing has been learned yet."
        return self._words().row(self._encoder.one(x), self._told(x))

    def feature_importances(self) -> dict[str, float]:
        """Each column's share of what all splits gained; all 0 before the first."""
        if self._model is None or self.schema is None:
            return {}
        gained = self._model.importances
        return dict(zip(self.schema.names, (gained / max(float(gained.sum()), 1e-300)).tolist(), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made through the state: some arrays are views of others, and must stay so."""
        return type(self).from_state, (self.snapshot(),)

    # Files.

    def state(self) -> State:
        """The recipe and the arrays."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        arrays = self._arrays()
        if self.schema is not None and self._encoder is not None:
            options["schema"], points = self.schema.state()
            arrays |= {"seen": self._encoder.seen, **{f"schema.{name}": array for name, array in points.items()}}
        return State({**options, **self._more_options()}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        more = {name: options.pop(name) for name in list(options) if name.startswith("_")}
        if options.get("schema") is not None:
            points = {
                name.removeprefix("schema."): arrays.pop(name) for name in list(arrays) if name.startswith("schema.")
            }
            options["schema"] = Schema.from_state(State(options["schema"], points))
        model = cls(**options)
        model._take_more(more)
        model._restore(arrays)
        return model

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        if self._encoder is not None:
            seen = arrays.pop("seen")
            if (
                seen.dtype != np.bool_
                or seen.shape != self._encoder.seen.shape
                or (seen < self._encoder.is_categorical).any()
            ):
                raise corrupt("its columns are not those of its schema")
            self._take(replace(self._encoder, seen=seen.copy()))
        if "events" in arrays:
            check(self._encoder is not None, "it has events, but no columns")
            assert self._encoder is not None  # noqa: S101 - it was checked
            arrays |= memory.saved_without_doubles(arrays, len(self._encoder.seen))
            sizes = Capacity.read(arrays, self.max_bytes)
            widths = memory.validated_widths(arrays["doubles.widths"], self._encoder.is_categorical)
            self._model = memory.new_state(self._shape_now()._replace(widths=widths), sizes)
        files.restore(self._arrays(), arrays)
        check_random_state(self._rng)
        if self._model is not None:
            validate(self._model, self._shape_now())

    # What a model brings.

    @abstractmethod
    def _n_values(self) -> int:
        """How many numbers a row of a leaf's statistics has; 0 if nothing is known yet."""

    @abstractmethod
    def _n_outputs(self) -> int:
        """How many numbers a prediction is."""

    @abstractmethod
    def _criterion(self) -> int:
        """How cuts are weighed."""

    @abstractmethod
    def _told(self, x: Any) -> str:
        """A row's prediction in words."""

    @abstractmethod
    def _words(self, tree: int = 0) -> TreeRenderer:
        """The trees in words; a ValueError says that there is no such tree."""

    @property
    def _n_trees(self) -> int:
        return 1

    def _more_rules(self) -> Mapping[int, float]:
        """What a forest adds to the rule."""
        return {}

    def _more_options(self) -> dict[str, Any]:
        return {}

    def _take_more(self, more: dict[str, Any]) -> None:
        if more:
            raise ValueError(f"it has {shown(sorted(more))}, which it should not have")

    # How rows are gone along.

    def _shape(self, rows: OnlineEncoder, n_values: int) -> StreamShape:
        has_tables = self.leaf_prediction in ("nb", "nba")
        times = self._more_rules().get(leaves.RULE_TIMES, 0.0)
        widths = np.full(len(rows.seen), SINGLE, np.uint8) if self._model is None else self._model.doubles.widths
        return StreamShape(self._n_trees, rows.is_categorical, n_values, times, self.grace_period, has_tables, widths)

    def _shape_now(self) -> StreamShape:
        assert self._encoder is not None  # noqa: S101 - rows were read with it
        return self._shape(self._encoder, self._n_values())

    def _check_room(self, rows: OnlineEncoder, n_values: int) -> None:
        """Refuse columns or classes that do not fit into `max_bytes`; nothing changes."""
        if self._model is None:
            max_capacity(self.max_bytes, self._shape(rows, n_values))
        elif not self._fits(rows, n_values):
            shape = self._shape(rows, n_values)
            max_capacity(self.max_bytes, shape)
            memory.reduced_capacity(self._model, shape, self.max_bytes)

    def _fits(self, rows: OnlineEncoder, n_values: int) -> bool:
        """Whether the arrays are made for such rows and so many classes."""
        known = self._encoder
        same_kinds = rows is known or (known is not None and bool((rows.is_categorical == known.is_categorical).all()))
        return same_kinds and self._model.forest.stats.shape[2] == n_values

    def _start(self, schema: Schema) -> None:
        """Take columns before the first row; those of numbers may still turn out to hold names."""
        rows = OnlineEncoder.under(schema, MAX_NAMES)
        self._check_room(rows, max(self._n_values(), 1))
        self._take(rows)

    def _new_rule(self) -> Floats:
        rule = np.zeros(leaves.N_RULE_FIELDS)
        n_columns = 1 if self._encoder is None else len(self._encoder.seen)
        depth = MAX_DEPTH if self.max_depth is None else self.max_depth
        predictor = LEAF_PREDICTORS[self.leaf_prediction]
        rule[:7] = self.grace_period, self.delta, self.tau, self._criterion(), predictor, depth, n_columns
        rule[leaves.RULE_MULTIWAY] = not self.binary_split
        for place, value in self._more_rules().items():
            rule[place] = value
        return rule

    def _take(self, rows: OnlineEncoder) -> None:
        """Know more names or kinds; a column that has only been missing may turn out to hold names."""
        before = self._encoder
        if rows is before:
            return
        if self._model is not None and before is not None and (rows.is_categorical != before.is_categorical).any():
            newly = rows.is_categorical & ~before.is_categorical
            self._model.forest.kinds[newly] = forests.CATEGORICAL
            self._model.events[:, :-2][:, newly] = 0.0
            self._remake(self._shape(rows, self._model.forest.stats.shape[2]))
        self._encoder = rows
        self._rule = self._new_rule()
        self.__dict__["schema"] = rows.schema

    def _read(self, rows: Any) -> tuple[OnlineEncoder, Rows]:
        """Rows to learn from, encoded, and what knows their names; nothing changes yet."""
        if self._encoder is None:
            return OnlineEncoder.of(rows, MAX_NAMES).knowing(rows)
        if isinstance(rows, list) and len(rows) == 1:
            known, row = self._encoder.knowing_one(rows[0])
            return known, row.reshape(1, -1)
        return self._encoder.knowing(rows)

    def _learn(
        self, rows: OnlineEncoder, matrix: Rows, labels: Floats, weights: Floats, outputs: Floats | None = None
    ) -> None:
        """Learn what was checked, and predict it first where there are `outputs`."""
        if not len(matrix):
            return
        self._take(rows)
        n_values = self._n_values()
        if self._model is None:
            shape = self._shape_now()
            self._model = memory.new_state(shape, memory.growth_limit(None, shape, self.max_bytes).first(shape))
        elif self._model.forest.stats.shape[2] != n_values:
            self._remake(self._shape_now())
        if outputs is None:
            self._go(matrix, labels, weights, np.zeros((1, self._n_outputs())), LEARNS)
        else:
            self._go(matrix, labels, weights, outputs, LEARNS | PREDICTS)

    def _remake(self, shape: StreamShape) -> None:
        """Make the arrays anew for more classes or other columns."""
        self._model = memory.resized(self._model, shape, memory.reduced_capacity(self._model, shape, self.max_bytes))
        self._most, self._is_full = memory.growth_limit(self._model, shape, self.max_bytes), False

    def _go(self, rows: Rows, labels: Floats, weights: Floats, outputs: Floats, does: int) -> None:
        """Go along all rows."""
        for here, stretch in chunks(rows):
            along = [array[here] if len(array) == len(rows) else array for array in (labels, weights, outputs)]
            self._go_along(stretch, along[0], along[1], along[2], does)

    def _go_along(self, rows: Floats, labels: Floats, weights: Floats, outputs: Floats, does: int) -> None:
        """Go along rows, making room where there is too little."""
        if does & LEARNS:
            memory.renumber_events(self._model)
        rule, done, n = self._rule, 0, len(rows)
        while done < n:
            grows = GROWS if does & LEARNS and self._may_grow() else 0
            along: list[Any] = [rows, labels, weights, outputs]
            if done:
                along = [array[done:] if len(array) == n else array for array in along]
            along += [does | grows]
            model, shape = self._held_model(), {"model": self._model, "n_outputs": outputs.shape[1]}
            room = self._rooms.take(partial(memory.is_workspace_for, **shape), partial(memory.new_workspace, **shape))
            done += kernels.run(model, room[1], rule, self._rng, np.uint64(self.seed), *along)
            self._rooms.give_back(room)
            if done < n:
                self._make_room(rows[done])

    def _make_room(self, row: Floats) -> None:
        """Have a place for one more event with these values."""
        shape = self._shape_now()
        is_wider = needs_double(row) & (shape.widths != DOUBLE)
        if is_wider.any():
            shape = shape._replace(widths=np.where(is_wider, DOUBLE, shape.widths).astype(np.uint8))
            self._model = memory.widened(self._model, shape, self.max_bytes)
            self._most, self._is_full = memory.growth_limit(self._model, shape, self.max_bytes), False
        else:
            sizes = memory.capacity_of(self._model).doubled(self._limits())
            self._model = memory.resized(self._model, shape, sizes)

    def _held_model(self) -> Any:
        """The model as kernels get it."""
        model, ready = self._held
        if model is not self._model:
            model, ready = self._held = self._model, pinned(self._model)
        return ready

    def _may_grow(self) -> bool:
        if self._is_full:
            return False
        sizes, most = memory.capacity_of(self._model), self._limits()
        self._is_full = not any(size < limit for size, limit in zip(sizes[:3], most[:3], strict=True))
        return not self._is_full

    def _limits(self) -> Capacity:
        if self._most is None:
            self._most = memory.growth_limit(self._model, self._shape_now(), self.max_bytes)
        return self._most

    def _predicted(self, rows: Rows, n_outputs: int) -> Floats:
        outputs = np.zeros((len(rows), n_outputs))
        self._go(rows, NO_NUMBERS, NO_NUMBERS, outputs, PREDICTS)
        return outputs

    def _known_rows(self, rows: Any) -> Rows:
        assert self._encoder is not None  # noqa: S101 - a model was made for them
        return self._encoder.many(rows)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        own = {"rng": self._rng}
        return own if self._model is None else {**own, **memory.arrays_of(self._model)}
