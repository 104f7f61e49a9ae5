"""Base of Hoeffding trees and forests: options, encoding of rows, learning and prediction, saving."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from stumpery import frames
from stumpery.array_forest import forest_kernels as forests
from stumpery.array_forest.binning_kernels import SINGLE
from stumpery.encoding import Schema
from stumpery.encoding.chunks import Rows
from stumpery.encoding.declared_columns import DeclaredColumns
from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.errors import InvalidInput, capacity_errors
from stumpery.labels.weights import MAX_SAMPLE_WEIGHT, MIN_SAMPLE_WEIGHT, checked_weights
from stumpery.locks import concurrent
from stumpery.options import check_whole
from stumpery.random import new_generator
from stumpery.river import register_virtual_subclass
from stumpery.saving.saveable import Arrays, Options
from stumpery.saving.validation import check, check_random_state, corrupt
from stumpery.streaming import state as states
from stumpery.streaming.arena import StreamArena
from stumpery.streaming.capacity import Capacity, StreamShape, max_capacity
from stumpery.streaming.explanation import TreeRenderer
from stumpery.streaming.options import StreamOptions
from stumpery.streaming.trees.hoeffding_kernels import LEARNS, PREDICTS
from stumpery.streaming.trees.state_kernels import StreamState
from stumpery.streaming.validation import validate
from stumpery.types import Explanation, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CATEGORIES = forests.MAX_CODES - 2  # with missing and other, a column's codes are the bits of one word
NO_NUMBERS = np.zeros(0)


class LabelledRows(NamedTuple):
    """Encoded and validated rows to learn from, and the encoder extended with their categories."""

    encoder: OnlineEncoder | None  # None where there are no rows
    rows: Rows
    labels: Floats  # numbers, or the codes of classes
    weights: Floats


@dataclass(kw_only=True, eq=False)
class StreamModel(StreamOptions, DeclaredColumns):
    """A Hoeffding tree, or a forest of them: online learning from rows and labels.

    The columns are those of `schema`, or of the first rows to learn from. A row is a dict, in which an absent key is a
    missing value, or an array; many are a frame, a list of dicts or a matrix. Several threads may share a
    model: they predict together, and wait while one learns.

    Args:
        grace_period: Events from one check of a leaf to the next, 1 to 1,000,000.
        delta: Significance level of a split, above 0 and below 1.
        tau: Tie threshold, 0 or more: below this Hoeffding bound two columns count as equally good.
        max_depth: Largest depth of a tree, 0 to 1,000; None is without a limit, since `max_bytes` bounds a tree anyway.
        leaf_prediction: How a leaf predicts: "mc", "recent", "adaptive", and for classes also "nb" and "nba".
        binary_split: Whether categories are split in two; False gives each category a leaf of its own.
        max_bytes: Memory of the model in bytes; the oldest events are forgotten first.
        schema: The columns; None infers them from the first rows to learn from.
        seed: Seed of the random state.
    """

    river_base: ClassVar[str] = "Regressor"
    _supervised: ClassVar[bool] = True  # river asks for it

    def __post_init__(self) -> None:
        super().__post_init__()
        register_virtual_subclass(type(self), self.river_base)
        self._rng = new_generator(self.seed)
        self._encoder: OnlineEncoder | None = None
        self._arena: StreamArena | None = None  # until the first row
        if self.schema is not None:
            self._start(self.schema)

    @abstractmethod
    def check_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: N803 - as river and scikit-learn name it
        """Refuse, with a ValueError, what `learn_many` would refuse; nothing is learned."""

    # Size.

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return self._n_trees if self._arena is None else self._renderer().n_leaves()

    @property
    def n_events(self) -> int:
        """The number of stored events."""
        return 0 if self._arena is None else self._arena.n_events

    # Rendering.

    def to_text(self, tree: int = 0, max_depth: int = 5) -> str:
        """A tree as an indented list of rules, with the share of events and the prediction below each."""
        return self._renderer(tree).text(tree, max_depth)

    def draw(self, tree: int = 0, max_depth: int = 3, ax: "Axes | None" = None) -> "Axes":
        """A tree as a picture: rules, shares of events, and predictions."""
        return self._renderer(tree).draw(tree, max_depth, ax)

    def to_frame(self, tree: int = 0, backend: str | None = None) -> Any:
        """A tree as a frame: a row for each leaf, with its rule, events and prediction.

        `events` is the weight of the events in the leaf's statistics. A tree of a forest counts an event as often as it
        drew it, `times` on average; events that were forgotten before a split are left out. Shares and means of
        `to_text`, `draw` and `explain_one` are by these weights.
        """
        rows = self._renderer(tree).leaves(tree)
        return frames.make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    @concurrent
    def explain_one(self, x: Any) -> Explanation:
        """Explain a row's prediction by the rules that lead to it, tree by tree."""
        if self._arena is None or self._encoder is None:
            return Explanation("Nothing has been learned yet.", ())
        return self._renderer().explanation(self._encoder.encode_one(x), self._prediction_text(x))

    def feature_importances(self) -> dict[str, float]:
        """Each column's share of the gain of all splits; all 0 before the first."""
        if self._arena is None or self.schema is None:
            return {}
        gains = self._arena.state.importances
        return dict(zip(self.schema.names, (gains / max(float(gains.sum()), 1e-300)).tolist(), strict=True))

    # Files.

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        if self._encoder is not None:
            seen = arrays["seen"]
            fits = seen.dtype == np.bool_ and seen.shape == self._encoder.seen.shape
            if not fits or (seen < self._encoder.is_categorical).any():
                raise corrupt("its columns do not match its schema")
            self._take(replace(self._encoder, seen=seen.copy()))
        if "events" in arrays:
            check(self._encoder is not None, "it has events, but no columns")
            assert self._encoder is not None  # noqa: S101 - it was checked
            arrays |= states.saved_without_doubles(arrays, len(self._encoder.seen))
            capacity = Capacity.of_arrays(arrays, self.max_bytes)
            widths = states.validated_widths(arrays["doubles.widths"], self._encoder.is_categorical)
            shape = self._shape(self._encoder, self._n_values())._replace(widths=widths)
            state = states.new_state(shape, capacity)
            self._arena = self._new_arena(shape, state)
        super()._restore(arrays, learned)

    def _validate_state(self) -> None:
        check_random_state(self._rng)
        if self._arena is not None:
            validate(self._arena.state, self._arena.shape)

    # What a model brings.

    @abstractmethod
    def _n_values(self) -> int:
        """The length of a row of a leaf's statistics; 0 before the first label."""

    @abstractmethod
    def _prediction_text(self, x: Any) -> str:
        """The prediction of a row as text."""

    @abstractmethod
    def _new_renderer(self, state: StreamState, schema: Schema) -> TreeRenderer:
        """A renderer of the trees."""

    @property
    @abstractmethod
    def _n_trees(self) -> int:
        """The number of trees."""

    def _renderer(self, tree: int = 0) -> TreeRenderer:
        """The trees as text, tables and pictures; a ValueError says that there is no such tree."""
        check_whole("tree", tree, 0, self._n_trees - 1)
        if self._arena is None or self.schema is None:
            raise InvalidInput("nothing has been learned yet: there is no tree to show")
        return self._new_renderer(self._arena.state, self.schema)

    # Encoding, learning and prediction.

    def _shape(self, encoder: OnlineEncoder, n_values: int) -> StreamShape:
        has_tables = self.leaf_prediction in ("nb", "nba")
        widths = np.full(encoder.width, SINGLE, np.uint8) if self._arena is None else self._arena.shape.widths
        return StreamShape(
            self._n_trees, encoder.is_categorical, n_values, self._mean_times, self.grace_period, has_tables, widths
        )

    def _check_memory(self, encoder: OnlineEncoder, n_values: int) -> None:
        """Refuse columns or classes that do not fit into `max_bytes`; nothing changes."""
        if self._arena is None:
            max_capacity(self.max_bytes, self._shape(encoder, n_values))
        elif encoder is not self._encoder or n_values != self._arena.shape.n_values:
            with capacity_errors():
                self._arena.check_shape(self._shape(encoder, n_values))

    def _start(self, schema: Schema) -> None:
        """Take columns before the first row; numerical ones may still turn out to be categorical."""
        encoder = OnlineEncoder.from_schema(schema, MAX_CATEGORIES)
        self._check_memory(encoder, max(self._n_values(), 1))
        self._take(encoder)

    def _take(self, encoder: OnlineEncoder) -> None:
        """Replace the encoder by one extended with categories or kinds of columns."""
        before = self._encoder
        if encoder is before:
            return
        if self._arena is not None and (encoder.is_categorical != self._arena.shape.is_categorical).any():
            self._arena.reshape(self._shape(encoder, self._arena.shape.n_values))
        self._encoder = encoder
        self._set_option("schema", encoder.schema)

    def _encode(self, rows: Any) -> tuple[OnlineEncoder, Rows]:
        """Encode rows to learn from, with an extended encoder; nothing changes yet."""
        if self._encoder is None:
            return OnlineEncoder.from_rows(rows, MAX_CATEGORIES).extend(rows)
        if isinstance(rows, list) and len(rows) == 1:
            encoder, row = self._encoder.extend_one(rows[0])
            return encoder, row.reshape(1, -1)
        return self._encoder.extend(rows)

    def _checked(self, X: Any, labels: Floats, w: Any, n_values: int) -> LabelledRows:  # noqa: N803
        """Check and encode rows to learn from; a ValueError says what is wrong, and nothing changes."""
        n = frames.n_rows(X, "X")
        if n != len(labels):
            raise InvalidInput(f"there are {n} rows and {len(labels)} labels")
        weights = checked_weights(w, n)
        if n == 0:
            return LabelledRows(None, np.zeros((0, 1)), labels, weights)
        encoder, rows = self._encode(X)
        self._check_memory(encoder, n_values)
        return LabelledRows(encoder, rows, labels, weights)

    def _learn(self, checked: LabelledRows, outputs: Floats | None = None) -> None:
        """Learn rows that were checked, and predict each first where there are `outputs`."""
        encoder, rows, labels, weights = checked
        if encoder is None:
            return
        self._take(encoder)
        n_values = self._n_values()
        if self._arena is None:
            self._arena = self._new_arena(self._shape(encoder, n_values))
        elif self._arena.shape.n_values != n_values:
            self._arena.reshape(self._shape(encoder, n_values))
        mode = LEARNS if outputs is None else LEARNS | PREDICTS
        outputs = np.zeros((1, self._arena.n_outputs)) if outputs is None else outputs
        self._arena.run_kernel(rows, labels, weights, outputs, mode)

    def _new_arena(self, shape: StreamShape, state: StreamState | None = None) -> StreamArena:
        return StreamArena(self.max_bytes, shape, self._kernel_options(shape.n_columns), self._rng, self.seed, state)

    def _learn_row(self, x: Any, label: float, w: Any) -> bool:
        """The fast path of `learn_one`: learn an ordinary row with a known label and a weight that needs no check.

        False where anything is unusual: nothing changed, and the row is to be checked thoroughly. A row is ordinary if
        `OnlineEncoder.write_plain` takes it.
        """
        arena, encoder = self._arena, self._encoder
        if arena is None or encoder is None or arena.shape.n_values != self._n_values():
            return False
        if type(w) not in (float, int) or not MIN_SAMPLE_WEIGHT <= w <= MAX_SAMPLE_WEIGHT:
            return False
        return arena.learn_row(encoder, x, label, w)

    def _predict_row(self, x: Any) -> list[float] | None:
        """The outputs of one row of any kind, or None before the first row was learned."""
        arena, encoder = self._arena, self._encoder
        return None if arena is None or encoder is None else arena.predict_row(encoder, x)

    def _predict(self, X: Any) -> Floats | None:  # noqa: N803
        """The outputs of rows, or None before the first row was learned."""
        if self._arena is None or self._encoder is None:
            return None
        rows = self._encoder.encode_many(X)
        outputs = np.zeros((len(rows), self._arena.n_outputs))
        self._arena.run_kernel(rows, NO_NUMBERS, NO_NUMBERS, outputs, PREDICTS)
        return outputs

    def _arrays(self) -> Arrays:
        arrays = {"rng": self._rng, **({} if self._encoder is None else {"seen": self._encoder.seen})}
        return arrays if self._arena is None else {**arrays, **states.arrays_of(self._arena.state)}
