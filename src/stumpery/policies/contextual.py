"""Contextual policies: the interface of policies that decide on a context (a dict, a row of an array, a frame)."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema
from stumpery.encoding.chunks import chunks
from stumpery.encoding.declared_columns import SchemaModel
from stumpery.errors import InvalidInput
from stumpery.policies.mode_kernels import DECIDES, LEARNS
from stumpery.policies.policy import Policy
from stumpery.policies.records import ChosenActions, LoggedPredictions
from stumpery.types import Context, Floats, Integers

NO_REWARDS = np.zeros((0, 1))


class SchemaEncoder(Protocol):
    """An encoder of rows under a schema."""

    @property
    def schema(self) -> Schema:
        """The columns of a row."""

    @property
    def width(self) -> int:
        """The length of an encoded row."""


EncoderT = TypeVar("EncoderT", bound=SchemaEncoder)


@dataclass(kw_only=True, eq=False)
class ContextualPolicy(SchemaModel, Policy, Generic[EncoderT]):
    """Contextual bandit: a policy that chooses an action for a context, a row of columns.

    A context is a dict, in which an absent key is a missing value, or a one-dimensional array; many are a frame, a list
    of dicts or a matrix. The columns are those of `schema`, or of the first rows that come.

    A subclass implements `_new_encoder`, `_allocate`, `_rows`, `_row` and `_run`: every public method becomes one
    call of `_run` over encoded rows.

    Args:
        schema: The columns; None infers them from the first contexts.
    """

    schema: Schema | None = None

    needs_sample: ClassVar[bool] = False  # whether one row of mixed values is too little to infer a schema from

    def __post_init__(self) -> None:
        super().__post_init__()
        self._encoder: EncoderT | None = None  # from `_begin` on
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise InvalidInput(f"schema is {self.schema!r}; it must be a Schema or None")
            self._begin(self.schema)

    # Hooks that a subclass implements.

    @abstractmethod
    def _new_encoder(self, schema: Schema) -> EncoderT:
        """The encoder that turns rows of this schema into numbers."""

    @abstractmethod
    def _allocate(self, width: int) -> None:
        """Allocate the model for encoded rows of this width."""

    @abstractmethod
    def _rows(self, contexts: Any) -> NDArray[Any]:
        """Many contexts, encoded; infers the schema if there is none."""

    @abstractmethod
    def _row(self, context: Context) -> NDArray[Any]:
        """One context, encoded; infers the schema if there is none."""

    @abstractmethod
    def _run(
        self, rows: NDArray[Any], rewards: Floats, chosen: ChosenActions, available: NDArray[np.bool_], mode: int
    ) -> None:
        """Go along encoded rows by `mode`: decide (writes `chosen`), learn (reads it), or both.

        `rewards` has a column per action if the mode is both, else one column.
        """

    # What contextual policies share.

    @property
    def _known_encoder(self) -> EncoderT:
        """The encoder of a policy whose columns are known."""
        if self._encoder is None:
            raise InvalidInput(f"{type(self).__name__} has had no context yet")
        return self._encoder

    def _begin(self, schema: Schema) -> None:
        """Fix the columns and allocate the model; on an error nothing changes."""
        before, encoder = self.schema, self._encoder
        try:
            self._encoder = self._new_encoder(schema)
            self._set_option("schema", self._encoder.schema)
            self._allocate(self._encoder.width)
        except (ValueError, MemoryError):
            self._set_option("schema", before)
            self._encoder = encoder
            raise

    def _table(self, contexts: Any) -> Any:
        """Many contexts in a form that encoders take."""
        if contexts is None:
            raise InvalidInput(f"{type(self).__name__} needs a context to decide on; there is none")
        if not isinstance(contexts, Sequence):
            return contexts
        return _stacked(contexts) if any(isinstance(context, np.ndarray) for context in contexts) else list(contexts)

    def _infer_columns(self, contexts: Any) -> None:
        if self._encoder is None:
            self._rows(contexts)

    def _decide(self, context: Context, available: NDArray[np.bool_]) -> tuple[int, float]:
        chosen = ChosenActions.empty(1)
        self._run(self._row(context)[None], NO_REWARDS, chosen, available, DECIDES)
        return int(chosen.actions[0]), float(chosen.probabilities[0])

    def _probabilities(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> Floats:
        if self._encoder is None:  # the first contexts fix the columns of a copy
            policy = self.clone()
            policy._infer_columns(contexts)
            return policy._probabilities(contexts, n, available)
        return self._row_probabilities(self._rows(contexts), available)

    def _row_probabilities(self, rows: Any, available: NDArray[np.bool_]) -> Floats:
        """Every action's probability for encoded rows."""

        def draw(row: NDArray[Any]) -> tuple[int, float]:
            chosen = ChosenActions.empty(1)
            self._run(row[None], NO_REWARDS, chosen, available, DECIDES)
            return int(chosen.actions[0]), float(chosen.probabilities[0])

        return np.stack([self._draw_all(partial(draw, row)) for _, chunk in chunks(rows) for row in chunk])

    def _learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        chosen = ChosenActions(np.array([action]), np.array([probability]))
        self._run(self._row(context)[None], np.array([[reward]]), chosen, self._all, LEARNS)

    def _decide_many(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        chosen = ChosenActions.empty(n)
        self._run(self._rows(contexts), NO_REWARDS, chosen, available, DECIDES)
        return chosen

    def _decide_rows(self, contexts: Any, n: int, available: NDArray[np.bool_]) -> ChosenActions:
        chosen = ChosenActions.empty(n)
        for part, chunk in chunks(self._rows(contexts)):
            for at, row in enumerate(chunk, part.start):
                one = ChosenActions(chosen.actions[at : at + 1], chosen.probabilities[at : at + 1])
                self._run(row[None], NO_REWARDS, one, available[at], DECIDES)
        return chosen

    def _learn_many(self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats) -> None:
        self._run(self._rows(contexts), rewards[:, None], ChosenActions(actions, probabilities), self._all, LEARNS)

    def _test_then_learn(
        self, contexts: Any, actions: Integers, rewards: Floats, probabilities: Floats, available: NDArray[np.bool_]
    ) -> LoggedPredictions:
        self._infer_columns(contexts)
        return super()._test_then_learn(contexts, actions, rewards, probabilities, available)

    def _play(self, contexts: Any, rewards: Floats) -> ChosenActions:
        chosen = ChosenActions.empty(len(rewards))
        self._run(self._rows(contexts), rewards, chosen, self._all, DECIDES | LEARNS)
        return chosen


def _stacked(rows: Sequence[Any]) -> NDArray[Any]:
    """Rows that are arrays, as one matrix."""
    shapes = {row.shape if isinstance(row, np.ndarray) else None for row in rows}
    if len(shapes) > 1:
        raise InvalidInput("contexts are a list of arrays and others; they must be dicts, or arrays of one length")
    return np.stack(rows)
