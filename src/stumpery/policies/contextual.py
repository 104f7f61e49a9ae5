"""Policies that look at a context: a dict, a row of an array, a frame."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema
from stumpery.encoding.encoder import Encoder
from stumpery.encoding.online import OnlineEncoder
from stumpery.frames import n_rows
from stumpery.policies.exploration.explorer_kernels import DECIDES, LEARNS
from stumpery.policies.policy import Played, Policy
from stumpery.types import Context, Floats, Integers, State

N_FIRST_ROWS = 1000  # of a frame, from which a schema is inferred
NO_REWARDS = np.zeros((0, 1))


@dataclass(kw_only=True, eq=False)
class ContextualPolicy(Policy):
    """A policy whose context is a row of columns.

    The columns are those of `schema`, or of the first rows that come. A context is a dict, in which an absent key is a
    missing value, or a one-dimensional array; many are a frame, a list of dicts or a matrix.
    """

    schema: Schema | None = None

    needs_sample: ClassVar[bool] = True  # whether one row of mixed values is too little to infer a schema from

    def __post_init__(self) -> None:
        super().__post_init__()
        self._encoder: Any = None
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise ValueError(f"schema is {self.schema!r}; it must be a Schema or None")
            self._begin(self.schema)

    # What a contextual policy brings.

    @abstractmethod
    def _encoder_of(self, schema: Schema) -> Encoder | OnlineEncoder:
        """How rows become numbers."""

    @abstractmethod
    def _allocate(self, width: int) -> None:
        """Take the memory for rows of so many numbers."""

    @abstractmethod
    def _run(
        self, rows: NDArray[Any], rewards: Floats, played: Played, available: NDArray[np.bool_], does: int
    ) -> None:
        """Go along encoded rows: decide, learn from what was played, or both, as `does` says.

        `rewards` has a column for every action where it does both, else one.
        """

    # How contexts become rows.

    def _begin(self, schema: Schema) -> None:
        before = self.schema, self._encoder
        self.__dict__["schema"] = schema
        try:
            self._encoder = self._encoder_of(schema)
            self._allocate(self._encoder.width)
        except (ValueError, MemoryError):
            self.__dict__["schema"], self._encoder = before
            raise

    def _rows(self, contexts: Any) -> NDArray[Any]:
        """Many contexts, encoded."""
        contexts = self._table(contexts)
        rows: NDArray[Any]
        if self._encoder is None:
            schema = self._infer(contexts[:N_FIRST_ROWS] if hasattr(contexts, "__getitem__") else contexts)
            encoder: Any = self._encoder_of(schema)
            rows = encoder.encode_many(contexts)  # refuses before anything changes
            self._begin(schema)
            return rows
        rows = self._encoder.encode_many(contexts)
        return rows

    def _table(self, contexts: Any) -> Any:
        """Many contexts in a form that encoders take."""
        if contexts is None:
            raise ValueError(f"{type(self).__name__} needs a context to decide on; none came")
        if not isinstance(contexts, Sequence):
            return contexts
        return _matrix(contexts) if any(isinstance(each, np.ndarray) for each in contexts) else list(contexts)

    def _row(self, context: Context) -> NDArray[Any]:
        """One context, encoded."""
        if context is None:
            raise ValueError(f"{type(self).__name__} needs a context to decide on; none came")
        if self._encoder is None:
            self._begin(self._infer(np.asarray(context)[None] if isinstance(context, np.ndarray) else [context]))
        row: NDArray[Any] = self._encoder.encode_one(context)
        return row

    def _infer(self, rows: Any) -> Schema:
        schema = Schema.infer(rows)
        if self.needs_sample and n_rows(rows) == 1 and not self._tells_all(rows):
            raise ValueError(
                f"{type(self).__name__} cannot learn its columns from one row: "
                "give it schema=stumpery.Schema.infer(first_rows)"
            )
        return schema

    def _tells_all(self, row: Any) -> bool:
        """Whether a single row is enough to know the columns: an array of numbers is."""
        return isinstance(row, np.ndarray) and row.dtype.kind in "biuf"

    # The policy's interface, by rows.

    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        played = Played.blank(1)
        self._run(self._row(context)[None], NO_REWARDS, played, available, DECIDES)
        return int(played.actions[0]), float(played.probabilities[0])

    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        played = Played(np.array([action]), np.array([probability]))
        self._run(self._row(context)[None], np.array([[reward]]), played, self._all, LEARNS)

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Played:
        played = Played.blank(n)
        self._run(self._rows(contexts), NO_REWARDS, played, available, DECIDES)
        return played

    def _learn_many(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> None:
        self._run(self._rows(contexts), rewards[:, None], Played(actions, probabilities), self._all, LEARNS)

    def _play(self, contexts: Any, rewards: Floats) -> Played:
        played = Played.blank(len(rewards))
        self._run(self._rows(contexts), rewards, played, self._all, DECIDES | LEARNS)
        return played

    # Saving: the schema's points travel with the arrays.

    def state(self) -> State:
        """The recipe and the arrays."""
        options, arrays = super().state()
        if self.schema is None:
            return State({**options, "schema": None}, arrays)
        schema, points = self.schema.state()
        return State({**options, "schema": schema}, {**arrays, **{f"schema.{k}": v for k, v in points.items()}})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        options, arrays = dict(state.options), dict(state.arrays)
        if options.get("schema") is not None:
            points = {name.removeprefix("schema."): arrays.pop(name) for name in list(arrays) if "schema." in name}
            options["schema"] = Schema.from_state(State(options["schema"], points))
        return super().from_state(State(options, arrays))


def _matrix(rows: Sequence[Any]) -> NDArray[Any]:
    """Rows that are arrays, as one."""
    shapes = {each.shape if isinstance(each, np.ndarray) else None for each in rows}
    if len(shapes) > 1:
        raise ValueError("contexts are a list of arrays and others; they must be dicts, or arrays of one length")
    return np.stack(rows)
